"""The release notes: a version's section of the changelog, with links that lead somewhere."""

import re

_HEADING = r"(?m)^## \[{version}\](.*)$"


def state(changelog: str, version: str) -> str:
    """What its heading says beside the version: a date, or that it is not released."""
    found = re.search(_HEADING.format(version=re.escape(version)), changelog)
    if not found:
        raise SystemExit(f"CHANGELOG.md has no section [{version}]; write one")
    return found[1].strip(" ,-")


def cut(changelog: str, version: str, repository: str) -> str:
    """The section without its heading; links into the repository become whole."""
    found = re.search(_HEADING.format(version=re.escape(version)), changelog)
    if not found:
        raise SystemExit(f"CHANGELOG.md has no section [{version}]; write one")
    body = re.split(r"(?m)^## \[", changelog[found.end() :])[0].strip()
    if not body:
        raise SystemExit(f"CHANGELOG.md says nothing of {version}; write what users will notice")
    place = f"{repository}/blob/v{version}/"
    return re.sub(r"\]\((?![a-z]+:|#)([^)]+)\)", rf"]({place}\1)", body) + "\n"
