"""SHA256SUMS, as `sha256sum --check` reads it: every file of the release."""

import hashlib
from pathlib import Path

NAME = "SHA256SUMS"


def write(folder: Path) -> None:
    lines = [f"{digest(path)}  {path.name}\n" for path in sorted(folder.iterdir())]
    (folder / NAME).write_text("".join(lines), encoding="utf-8")


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
