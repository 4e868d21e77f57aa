"""The digest keys of a listing: read only where something in it is digested with one.

A workload that uses ConfigMaps of its own namespace needs none, and neither does who looks at it:
the key protects Secrets, so as few people as possible should have to read it.
"""

from collections.abc import Iterable

from reroll.core.model.key import Key
from reroll.core.model.record import Record
from reroll.core.observe.snapshot import Keys
from reroll.core.tables.catalog import Tables
from reroll.engine import keyring
from reroll.engine.tracked import Tracked
from reroll.engine.world import World
from reroll.kube.client import Client
from reroll.kube.errors import Forbidden, Malformed

ELSEWHERE = "say where the controller runs with --controller-namespace, or give its --config"


class KeyMissingError(Exception):
    """Digests of Secrets cannot be made, or not compared with those of the records."""


def needs_key(tracked: Tracked, tables: Tables, *, all_keyed: bool = False) -> bool:
    """Whether something that the workload refers to is digested with a key.

    `all_keyed`: the marks of other tools are, whatever they are made of.
    """
    home = tracked.workload.key.namespace
    places = [(one.source.kind, one.source.namespace) for one in tracked.references]
    places += [(one.kind, one.namespace or home) for one in tracked.policy.named]
    if all_keyed and places:
        return True
    return any(tables.sources_by_name[kind].keyed or place != home for kind, place in places)


class Unlocking:
    """Gives a world the keys that its records and its Secrets need.

    `make`: the Secret is made if there is none, and what is missing raises a `KeyMissingError`;
    without it, that is a sentence of `gaps`.
    """

    def __init__(self, client: Client, place: Key, gaps: list[str], *, make: bool) -> None:
        self._client, self._place, self._gaps, self._make = client, place, gaps, make

    async def unlock(self, world: World, keyed: Iterable[Tracked]) -> None:
        """`keyed`: the workloads that need a key; if there are none, nothing is read."""
        needed = {one.workload.key for one in keyed}
        used = {key: k for key, one in world.workloads.items() if (k := _key_id(one))}
        # Records without keyed digests can be compared, whatever key they name.
        rest = frozenset(k for key, k in used.items() if key not in needed) | {""}
        ring, ids = None, None
        if needed:
            ring, ids = await self._read({k for key, k in used.items() if key in needed})
        world.rekey(ring or {}, Keys(ids.current, ids.known | rest) if ids else Keys("", rest))

    async def _read(self, used: set[str]) -> keyring.Keyring | tuple[None, None]:
        place = self._place
        try:
            keys = await keyring.find(self._client, place.namespace, place.name)
        except Forbidden:
            self._locked(f"{place} may not be read; grant `get` on it")
            return None, None
        except Malformed as error:
            self._locked(str(error))
            return None, None
        if keys is None and used:
            self._locked(f"{place}, the digest key of the records here, does not exist")
            return None, None
        if keys is None and self._make:
            keys = await keyring.load(self._client, place.namespace, place.name)
        ring, ids = keys or keyring.throwaway()
        if unknown := used - ids.known:
            names = ", ".join(sorted(unknown))
            why = f"{place} does not hold the digest key {names} of the records: it was lost, or"
            self._locked(
                f"{why} is that of another installation",
                then="Secrets of these are compared by version alone",
            )
        return ring, ids

    def _locked(self, why: str, then: str = "nothing is known of Secrets") -> None:
        sentence = f"{why}; {ELSEWHERE}"
        if self._make:
            raise KeyMissingError(sentence)
        self._gaps.append(f"{sentence}; until then {then}")


def _key_id(tracked: Tracked) -> str:
    record = tracked.workload.record
    return record.k if isinstance(record, Record) else ""
