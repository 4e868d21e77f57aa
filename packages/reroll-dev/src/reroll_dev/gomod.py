"""A Go module of ours as its files describe it: the Go it needs, the versions it pins, its sources.

Reads go.mod, go.sum and the Go files, and starts nothing. A version stands in go.mod alone;
everything that shows or compares one asks here.
"""

import hashlib
import platform
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from reroll_dev.errors import DevClusterError

GoVersion = tuple[int, int, int]

_GO_VERSION = re.compile(r"(\d+)\.(\d+)(?:\.(\d+)|(rc|beta))?")
_GO_ARCHITECTURES = {
    "x86_64": "amd64",
    "aarch64": "arm64",
    "i686": "386",
    "armv7l": "arm",
    "loongarch64": "loong64",
}


@dataclass(frozen=True, slots=True)
class Version:
    """A dependency's version, `v1.36.3`; the parts are what build stamps and comparisons need."""

    text: str
    major: int
    minor: int

    @property
    def bare(self) -> str:
        return self.text.removeprefix("v")

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Module:
    """A folder with a go.mod, and the name under which people see it."""

    name: str
    folder: Path
    trims: str = ""
    """A dependency that is built with some files of ours in place of its own."""

    def go_version(self) -> GoVersion:
        """The oldest Go that may build it."""
        if found := re.search(r"^go (\S+)", self._go_mod(), re.MULTILINE):
            return parse_go_version(found[1])
        raise DevClusterError(f"{self.folder}/go.mod has no `go` line; restore the file")

    def version_of(self, dependency: str) -> Version:
        line = rf"^(?:require)?\s*{re.escape(dependency)}\s+(v(\d+)\.(\d+)\S*)(?!.*=>)"
        if found := re.search(line, self._go_mod(), re.MULTILINE):
            return Version(found[1], int(found[2]), int(found[3]))
        raise DevClusterError(
            f"{self.folder}/go.mod does not require {dependency}; restore the file"
        )

    def key(self) -> str:
        """Equal for equal sources on equal platforms, and otherwise different."""
        digest = hashlib.sha256(":".join(go_platform()).encode())
        for path in sorted(self._sources()):
            content = path.read_bytes()
            digest.update(f"\0{path.relative_to(self.folder)}\0{len(content)}\0".encode())
            digest.update(content)
        return digest.hexdigest()[:16]

    def _go_mod(self) -> str:
        try:
            return (self.folder / "go.mod").read_text(encoding="utf-8")
        except OSError as error:
            raise DevClusterError(
                f"cannot read {self.folder}/go.mod ({error.strerror}), which says how the control "
                "plane is built; reinstall reroll-dev, or work in a complete checkout"
            ) from error

    def _sources(self) -> Iterator[Path]:
        yield from (path for name in ("go.mod", "go.sum") if (path := self.folder / name).is_file())
        nested = {path.parent for path in self.folder.glob("*/**/go.mod")}
        for path in self.folder.rglob("*.go"):
            if nested.isdisjoint(path.parents):
                yield path


def parse_go_version(text: str) -> GoVersion:
    """Read `1.26.1`, `go1.26.8 X:boringcrypto`, `go1.27rc1` (older than its release)."""
    found = _GO_VERSION.search(text)
    if not found:
        return (0, 0, 0)
    patch = -1 if found[4] else int(found[3] or 0)
    return (int(found[1]), int(found[2]), patch)


def go_platform() -> tuple[str, str]:
    """GOOS and GOARCH of this machine, without asking a Go that may not be there yet."""
    machine = platform.machine()
    return sys.platform, _GO_ARCHITECTURES.get(machine, machine)
