"""What stands in the way of a release; a dry run only mentions it."""

import re
import subprocess
from pathlib import Path

from deploy.release import notes, versions


def obstacles(root: Path, version: str, tag: str) -> list[str]:
    """Sentences. Without a tag, the one that this version will get is supposed."""
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    said = notes.state(changelog, version)
    found = versions.disagreements(root, version)
    if tag and tag != f"v{version}":
        found.append(f"the tag is {tag} and the version {version}: the tag should be v{version}")
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", said):
        found.append(
            f"CHANGELOG.md says of {version} {said!r}; write the day: ## [{version}] - YYYY-MM-DD"
        )
    if changes := _changes(root):
        found.append(f"the checkout is not what was committed: {changes}")
    return found


def _changes(root: Path) -> str:
    """What git says of files that are not as they were committed, on one line."""
    command = ["git", "-C", str(root), "status", "--porcelain"]
    done = subprocess.run(command, text=True, capture_output=True, check=False)
    if done.returncode:
        return "it is no git checkout"
    lines = done.stdout.splitlines()
    more = f" and {len(lines) - 3} more" if len(lines) > 3 else ""
    return ", ".join(line[3:] for line in lines[:3]) + more
