"""The checksum of what a workload uses of the sources in the stream.

The engine's rules: data only, only the keys that are used, length-prefixed and fully qualified. One
thing differs: more people read a manifest than a cluster, and there may be no key. Without one, all
that a workload uses of Secrets goes through one memory-hard function, so that a guess costs what a
login costs, and has to be right about every value at once.
"""

import hashlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from reroll.core.model.content import Content
from reroll.core.model.digest import reference_digest, stamp
from reroll.core.model.reference import Reference
from reroll.core.tables.source_kinds import SOURCE_KINDS

NO_DATA = "no-config-data"
"""The checksum where sources are used and none has data that is used."""

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


def checksums(wanted: Sequence[tuple[str, list[Used]]], *, keyed: bool) -> list[str]:
    """The checksum of each list: what a workload in this namespace uses.

    Those that cost time are computed once each, on every core: the hash function releases the GIL.
    """
    soft = [_soft(home, used) if not keyed else "" for home, used in wanted]
    waiting = sorted(set(soft) - {""})
    hard = dict(zip(waiting, _all_hardened(waiting), strict=True))
    return [
        _checksum(home, used, hard.get(key)) for (home, used), key in zip(wanted, soft, strict=True)
    ]


def _soft(home: str, used: list[Used]) -> str:
    """What has to be hardened before it may be written; empty if nothing has to."""
    secret = [u for u in used if u.has_data and u.reference.source.kind in _KEYED]
    return stamp(_digests(home, secret)) if secret else ""


def _checksum(home: str, used: list[Used], hard: str | None) -> str:
    used = [each for each in used if each.has_data]
    if not used:
        return NO_DATA
    if hard is None:
        return stamp(_digests(home, used))
    digests = _digests(home, (u for u in used if u.reference.source.kind not in _KEYED))
    return stamp({**digests, _HARDENED: hard})


def _digests(home: str, used: Iterable[Used]) -> dict[str, str]:
    return {
        each.reference.entry(home): reference_digest(each.reference, each.content, "") or ""
        for each in used
    }


def _all_hardened(waiting: list[str]) -> list[str]:
    if len(waiting) < 2:
        return [_harden(each) for each in waiting]
    # Slow to import, and most streams have little to wait for.
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor() as pool:
        return list(pool.map(_harden, waiting))


def _harden(soft: str) -> str:
    return hashlib.scrypt(soft.encode(), salt=_SALT, **_COST).hex()
