"""A person's word on a canary: written into the record of its workload, as the user.

It holds for what the canary tries, and no longer.
"""

from typing import NamedTuple

from reroll.clock import Clock
from reroll.core.model.canary import canary_name
from reroll.core.model.key import Key
from reroll.core.model.record import (
    ABORTED,
    PROMOTED,
    CanaryVerdict,
    Record,
    read,
    successor,
    write,
)
from reroll.core.tables.annotations import CANARY_OF, STATE
from reroll.core.tables.kinds import Kind
from reroll.core.write.patches import Operation, pointer
from reroll.engine.content import Stub
from reroll.kube import api, resources
from reroll.kube.errors import Conflict, Invalid, NotFound
from reroll.kube.identity import own_name
from reroll.kube.view import View
from reroll.pipeline.refused import RefusedError

WORDS = (PROMOTED, ABORTED)


class OnTrial(NamedTuple):
    """A workload with its record, and what its canary tries; empty: it has none now."""

    record: Record
    text: str
    tried: str
    known: CanaryVerdict | None
    """What the record says of the last one, which may be under way within the workload."""

    def can_be(self, word: str) -> str:
        """What that word would be said of; empty: of nothing."""
        known = self.known
        if not self.tried and known and (known.within or word == PROMOTED):
            return known.of
        return self.tried


async def on_trial(view: View, kind: Kind, key: Key) -> OnTrial:
    place = resources.of(kind), key.namespace
    try:
        stub = await api.get(view.client, *place, key.name, Stub)
    except NotFound:
        raise RefusedError(f"there is no {key}") from None
    text = (stub.metadata.annotations or {}).get(STATE, "")
    record = read(text)
    if not isinstance(record, Record):
        raise RefusedError(f"{key} has no record, so it has no canary either")
    canary = await api.find(view.client, *place, canary_name(key.name), Stub)
    tried = (canary.metadata.annotations or {}).get(CANARY_OF) if canary else None
    return OnTrial(record, text, tried or "", record.canary)


async def decide(
    view: View, clock: Clock, kind: Kind, key: Key, word: str, *, dry_run: bool = False
) -> CanaryVerdict:
    """Say this word of the canary of a workload."""
    trial = await on_trial(view, kind, key)
    tried = trial.can_be(word)
    if not tried:
        raise RefusedError(f"{key} has no canary now")
    now, me = clock.now(), await own_name(view.client)
    why, within = f"by {me}" if me else "by hand", trial.known.within if trial.known else None
    verdict = CanaryVerdict(tried, word, now, why, within)
    if not dry_run:
        after = successor(trial.record, int(now.timestamp()), canary=verdict)
        await _write(view, kind, key, trial.text, after)
    return verdict


async def _write(view: View, kind: Kind, key: Key, before: str, after: Record) -> None:
    path = pointer("metadata", "annotations", STATE)
    operations: list[Operation] = [
        {"op": "test", "path": path, "value": before},
        {"op": "add", "path": path, "value": write(after)},
    ]
    try:
        await api.patch(view.client, resources.of(kind), key.namespace, key.name, operations, Stub)
    except Invalid:
        raise Conflict(f"{key} is being rolled at this moment; try again") from None
