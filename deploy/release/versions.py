"""Every place that says a version, and whether they agree."""

import re
from collections.abc import Iterator
from pathlib import Path

NUMBER = r"(\d+\.\d+\.\d+)"
# Path or glob -> the places in it. Each has to be there, and to say the version.
PLACES: dict[str, tuple[str, ...]] = {
    "src/reroll/__init__.py": (rf'__version__ = "{NUMBER}"',),
    "pyproject.toml": (rf'(?m)^version = "{NUMBER}"', rf"reroll-dev=={NUMBER}"),
    "packages/reroll-dev/pyproject.toml": (rf'(?m)^version = "{NUMBER}"', rf'"reroll=={NUMBER}"'),
    "charts/reroll/Chart.yaml": (rf"(?m)^version: {NUMBER}", rf'(?m)^appVersion: "{NUMBER}"'),
    "integrations/helm/plugin.yaml": (rf"(?m)^version: {NUMBER}",),
    "Dockerfile": (rf"VERSION={NUMBER}", rf"reroll:{NUMBER}"),
    "README.md": (rf"[Vv]ersion (?:is )?{NUMBER}",),
    "docs/install.md": (rf"reroll:{NUMBER}",),
    "docs/upgrade.md": (rf"\A[\s\S]*?\n## To {NUMBER}",),
    "CHANGELOG.md": (rf"\A[\s\S]*?\n## \[{NUMBER}\]",),
    "deploy/reroll*.yaml": (
        rf'app\.kubernetes\.io/version: "?{NUMBER}',
        rf'image: "[^"]*reroll:{NUMBER}"',
    ),
}


def disagreements(root: Path, version: str) -> list[str]:
    """Sentences, one for each place that says another version or none."""
    return [sentence for glob in PLACES for sentence in _of(root, glob, version)]


def _of(root: Path, glob: str, version: str) -> Iterator[str]:
    paths = sorted(root.glob(glob))
    if not paths:
        yield f"{glob} is missing, and should say {version}"
    for path in paths:
        text, name = path.read_text(encoding="utf-8"), path.relative_to(root)
        for pattern in PLACES[glob]:
            said = set(re.findall(pattern, text))
            if not said:
                yield f"{name} should say {version}, as in {pattern}"
            yield from (f"{name} says {other}, not {version}" for other in sorted(said - {version}))
