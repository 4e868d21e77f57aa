"""Golden files: each manifest of the folder `golden`, and what becomes of it.

`python -m tests.manifests.golden` writes the outcomes again; look at the difference before you
commit it.
"""

from collections.abc import Iterator
from pathlib import Path

from tests.support.command import reroll

FOLDER = Path(__file__).parent / "golden"
UPDATE = "python -m tests.manifests.golden"
KEY = FOLDER / "key"

MODES = {
    "checksums": (),
    "per-source": ("--per-source", "--annotation", "example.com/sum"),
    "names": ("--names", "--namespace", "default"),
}


def cases() -> Iterator[tuple[Path, str]]:
    for path in sorted((*FOLDER.glob("*.yaml"), *FOLDER.glob("*.json"))):
        for mode in MODES:
            yield path, mode


def outcome(path: Path, mode: str) -> Path:
    return FOLDER / mode / path.name


def made(path: Path, mode: str) -> bytes:
    end = reroll("render", "--key-file", KEY, *MODES[mode], path)
    assert end.code == 0, end.err
    return end.out.encode()


def main() -> None:
    for path, mode in cases():
        outcome(path, mode).parent.mkdir(exist_ok=True)
        outcome(path, mode).write_bytes(made(path, mode))


if __name__ == "__main__":
    main()
