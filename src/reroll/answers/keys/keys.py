"""Which records need which digest key, and what a rotation writes.

Pure. A record names the key that its Secrets were digested with. Rotating adds a key and names it
as the one in use; the controller checks old records with the old key, rewrites them with the new
one and rolls nothing. A key that no record needs can go.
"""

import base64
from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

from reroll.core.model.digest import ABSENT, AWAITED
from reroll.core.model.key import Key
from reroll.core.model.record import Record
from reroll.core.tables.source_kinds import SOURCE_KINDS, SourceKind
from reroll.engine.keyring import CURRENT

_NOTHING = frozenset((ABSENT, AWAITED))


class Ring(NamedTuple):
    """The keys as people may know them: ids only."""

    current: str
    ids: frozenset[str]
    version: str
    """The resource version, so that two who change it at once do not undo each other's work."""


class Usage(NamedTuple):
    """The workloads whose records need each key, by its id; also keys that are gone."""

    by_key: dict[str, list[Key]]

    def needing(self, key_ids: Collection[str]) -> list[Key]:
        return sorted(key for one in key_ids for key in self.by_key.get(one, ()))


def usage(
    records: Iterable[tuple[Key, Record]], sources: Iterable[SourceKind] = SOURCE_KINDS
) -> Usage:
    keyed = {row.name.lower() for row in sources if row.keyed}
    found: dict[str, list[Key]] = {}
    for key, record in records:
        if record.k and any(_needs(entry, digest, keyed) for entry, digest in record.s.items()):
            found.setdefault(record.k, []).append(key)
    return Usage(found)


def _needs(entry: str, digest: str, keyed: Collection[str]) -> bool:
    """A glob, and a source that was not there, were digested with no key."""
    return entry.partition("/")[0] in keyed and digest not in _NOTHING and digest != "*"


def old(ring: Ring) -> frozenset[str]:
    return ring.ids - {ring.current}


def rotation(ring: Ring, key_id: str, key: bytes) -> dict[str, Any]:
    """A merge patch of the Secret: one more key, which is in use from now on."""
    return {
        "metadata": {"resourceVersion": ring.version, "annotations": {CURRENT: key_id}},
        "data": {key_id: base64.b64encode(key).decode()},
    }


def pruning(ring: Ring, key_ids: Iterable[str]) -> dict[str, Any]:
    """A merge patch of the Secret without these keys."""
    return {
        "metadata": {"resourceVersion": ring.version, "annotations": {CURRENT: ring.current}},
        "data": dict.fromkeys(sorted(key_ids)),
    }
