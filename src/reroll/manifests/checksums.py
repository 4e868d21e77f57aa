"""The checksum of what a workload uses of the sources in the stream.

The engine's rules: data only, only the keys that are used, length-prefixed and fully qualified. One
thing differs: more people read a manifest than a cluster, and there may be no key. Without one, all
that a workload uses of Secrets goes through one memory-hard function, so that a guess costs what a
login costs, and has to be right about every value at once.
"""

import hashlib
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from reroll.core.model.content import Content
from reroll.core.model.digest import reference_digest, stamp
from reroll.core.model.reference import Reference
from reroll.core.tables.kinds import SOURCE_KINDS

NO_DATA = "no-config-data"
"""The checksum where no source has data that is used."""

_KEYED = frozenset(row.name for row in SOURCE_KINDS if row.keyed)
_SALT = b"reroll render 1"
_COST = {"n": 2**10, "r": 8, "p": 1, "maxmem": 2**22, "dklen": 16}
_HARDENED = "secrets"


class Used(NamedTuple):
    """A reference and the content that it refers to."""

    reference: Reference
    content: Content

    @property
    def has_data(self) -> bool:
        used, there = self.reference.keys, self.content.keys
        return bool((there if used is None else used & there) - self.reference.without)


class Checksums:
    """Checksums of many workloads; those that cost time are computed together, once each.

    `add` all that is needed, then `harden`, then ask for each.
    """

    def __init__(self, *, keyed: bool) -> None:
        self._keyed = keyed
        self._hard: dict[str, str] = {}

    def add(self, home: str, used: Iterable[Used]) -> None:
        if (soft := self._soft(home, used)) is not None:
            self._hard[soft] = ""

    def harden(self) -> None:
        """Compute what was added. The hash function releases the GIL: use every core."""
        waiting = sorted(soft for soft, hard in self._hard.items() if not hard)
        with ThreadPoolExecutor() as pool:
            self._hard.update(zip(waiting, pool.map(_harden, waiting), strict=True))

    def of(self, home: str, used: Iterable[Used]) -> str:
        """The checksum of all this together."""
        used = [each for each in used if each.has_data]
        if not used:
            return NO_DATA
        soft = self._soft(home, used)
        if soft is None:
            return stamp(_digests(home, used))
        digests = _digests(home, (u for u in used if u.reference.source.kind not in _KEYED))
        return stamp({**digests, _HARDENED: self._hard[soft]})

    def _soft(self, home: str, used: Iterable[Used]) -> str | None:
        """What has to be hardened before it may be written."""
        if self._keyed:
            return None
        secret = [u for u in used if u.has_data and u.reference.source.kind in _KEYED]
        return stamp(_digests(home, secret)) if secret else None


def _digests(home: str, used: Iterable[Used]) -> Mapping[str, str]:
    return {
        each.reference.entry(home): reference_digest(each.reference, each.content, "") or ""
        for each in used
    }


def _harden(soft: str) -> str:
    return hashlib.scrypt(soft.encode(), salt=_SALT, **_COST).hex()
