"""What a release is made with: a value that every step takes."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from reroll import __version__

ROOT = Path(__file__).resolve().parents[2]
CHANGELOG = ROOT / "CHANGELOG.md"


@dataclass(frozen=True, slots=True)
class Release:
    folder: Path
    """Where everything goes that is published."""
    image: str
    """The name of the image, without a tag: registry.example/reroll."""
    repository: str
    """Where the project lives: https://example.com/reroll."""
    moment: int
    """The time that archives say they were made at."""
    base: Path | None = None
    """An image that brings Python, with as many architectures as it has."""
    builder: str = "own"
    """Who builds the image: `own` or `buildx`."""
    installed: bool = False
    """Fetch nothing: take the packages of this Python, for this machine alone."""

    @property
    def version(self) -> str:
        return __version__

    @property
    def tag(self) -> str:
        return f"v{self.version}"

    @property
    def downloads(self) -> str:
        return f"{self.repository}/releases/download/{self.tag}"

    @property
    def environment(self) -> dict[str, str]:
        """For programs that write archives."""
        return {**os.environ, "SOURCE_DATE_EPOCH": str(self.moment), "UV_COMPILE_BYTECODE": "0"}


def run(command: list[str | Path], *, env: dict[str, str]) -> str:
    """What the program printed; ends with what it complained of."""
    done = subprocess.run(command, cwd=ROOT, env=env, text=True, capture_output=True, check=False)
    if done.returncode:
        line = " ".join(map(str, command))
        raise SystemExit(f"`{line}` ended with {done.returncode}:\n{done.stderr or done.stdout}")
    return done.stdout
