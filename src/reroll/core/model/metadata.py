"""Kubernetes objects as a watch line is decoded: metadata typed, spec and status left as bytes."""

from typing import TypeVar

import msgspec

from reroll.core.model.record import Time
from reroll.core.model.unreadable import UNREADABLE
from reroll.core.tables.kinds import Kind, Path


class Owner(msgspec.Struct, gc=False, rename="camel"):
    kind: str
    name: str = ""
    uid: str = ""
    controller: bool | None = None
    api_version: str = ""

    @property
    def group_and_kind(self) -> tuple[str, str]:
        return self.api_version.rpartition("/")[0], self.kind


LONGEST_VERSION = 40
"""Digits of a resource version; etcd counts with 64 bits."""


def version_number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) <= LONGEST_VERSION else 0


class Metadata(msgspec.Struct, gc=False, rename="camel"):
    name: str
    namespace: str = ""
    uid: str = ""
    resource_version: str = "0"
    generation: int = 0
    annotations: dict[str, str] | None = None
    labels: dict[str, str] | None = None
    creation_timestamp: Time | None = None
    deletion_timestamp: Time | None = None
    owner_references: list[Owner] | None = None
    finalizers: list[str] | None = None

    @property
    def version(self) -> int:
        """The resource version as a number; 0 where a server's versions are not numbers."""
        return version_number(self.resource_version)


class Manifest(msgspec.Struct, gc=False):
    metadata: Metadata
    spec: msgspec.Raw = msgspec.Raw()
    status: msgspec.Raw = msgspec.Raw()


T = TypeVar("T")


# Made once: to make one from its type takes longer than to decode a value with it.
_BRANCHES = msgspec.json.Decoder(dict[str, msgspec.Raw])
_NUMBER = msgspec.json.Decoder(int)
_TEXT = msgspec.json.Decoder(str)


def pick(manifest: Manifest, path: Path) -> msgspec.Raw | None:
    """The bytes at `path`, without decoding what lies beside it."""
    if not path:
        return None
    here: msgspec.Raw | None = {"spec": manifest.spec, "status": manifest.status}[path[0]]
    for step in path[1:]:
        branches = _decoded(here, _BRANCHES)
        here = branches.get(step) if branches else None
    return here or None


class Fields:
    """The values of a manifest by their path; each level is decoded once."""

    __slots__ = ("_levels", "manifest")

    def __init__(self, manifest: Manifest) -> None:
        self.manifest = manifest
        self._levels: dict[Path, dict[str, msgspec.Raw]] = {}

    def number(self, path: Path) -> int:
        return _decoded(self._at(path), _NUMBER) or 0

    def text(self, path: Path) -> str:
        return _decoded(self._at(path), _TEXT) or ""

    def _at(self, path: Path) -> msgspec.Raw | None:
        if len(path) < 2:
            return None
        level = self._levels.get(path[:-1])
        if level is None:
            level = self._levels[path[:-1]] = (
                _decoded(pick(self.manifest, path[:-1]), _BRANCHES) or {}
            )
        return level.get(path[-1])


def replicas(kind: Kind, manifest: Manifest) -> int:
    """How many pods it should have; 0 where that is not known."""
    return number_at(manifest, kind.replicas)


def pods_there(kind: Kind, manifest: Manifest) -> int | None:
    """How many pods it has, by its status; `None` where that does not count them."""
    return number_at(manifest, kind.counts.there) if kind.counts else None


def number_at(manifest: Manifest, path: Path) -> int:
    """A number in its spec or status; 0 where none is."""
    return value_in(pick(manifest, path), int) or 0


def text_at(manifest: Manifest, path: Path) -> str:
    return value_in(pick(manifest, path), str) or ""


def _decoded(raw: msgspec.Raw | None, decoder: msgspec.json.Decoder[T]) -> T | None:
    if not raw:
        return None
    try:
        return decoder.decode(raw)
    except UNREADABLE:
        return None


def value_in(raw: msgspec.Raw | None, type_: type[T]) -> T | None:
    if not raw:
        return None
    try:
        return msgspec.json.decode(raw, type=type_)
    except UNREADABLE:
        return None
