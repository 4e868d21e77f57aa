"""The world, what keeps it current, and what follows from it. It reads, and writes nothing.

The controller fills it from watches, a command from lists; decisions are the same.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import NamedTuple

import msgspec

from reroll.clock import Clock
from reroll.core.decide.actions import ReadHistory
from reroll.core.decide.chains import decide
from reroll.core.decide.plan import Plan, without_action
from reroll.core.model.key import Key
from reroll.core.model.record import Record
from reroll.core.observe.compare import compare
from reroll.core.observe.snapshot import Snapshot
from reroll.core.tables.reasons import Reason
from reroll.engine import keyring
from reroll.engine.feeds import Feeds
from reroll.engine.reader import Reader
from reroll.engine.scope import scope
from reroll.engine.wants import Want
from reroll.engine.world import World
from reroll.kube.client import Client
from reroll.settings.table import Settings


class Decision(NamedTuple):
    key: Key
    plan: Plan
    snapshot: Snapshot | None = None
    """What the decision looked at; `None` for a workload that is not managed, or gone."""


class Observer:
    """`wake(key, urgent)`: something about a workload changed; without it, nothing waits for quiet.

    `problem(what, sentence)`: something cannot be read. `home` is the namespace of the controller,
    where the digest keys are.
    """

    def __init__(
        self,
        client: Client,
        clock: Clock,
        settings: Settings,
        home: str,
        *,
        problem: Callable[[str, str], None],
        wake: Callable[[Key, bool], None] | None = None,
    ) -> None:
        self._client, self._clock = client, clock
        excluded = {name.lower() for name in settings.exclude_kinds}
        rows = settings.tables.kinds
        self.kinds = {kind.name: kind for kind in rows if kind.name.lower() not in excluded}
        self.digest_keys = Key("Secret", home, settings.digest_key)
        self.feeds = Feeds(self.kinds)
        self.world = World(
            clock,
            scope(settings, at_once=wake is None),
            self.digest_keys,
            wake=wake or (lambda *_: None),
            want=self._want,
        )
        self.reader = Reader(client, clock, self.world, self.kinds, self.feeds, problem)

    def _want(self, want: Want) -> None:
        if not self.feeds.will_bring(want):
            self.reader.want(want)

    async def load_keys(self) -> None:
        """Read the digest keys, or make them; nothing can be digested before."""
        place = self.digest_keys
        self.world.rekey(*await keyring.load(self._client, place.namespace, place.name))

    def snapshot(self, key: Key) -> Snapshot | None:
        return self.world.snapshot(key, self.kinds[key.kind])

    async def decide(self, key: Key) -> Decision:
        """What should happen to a workload now, with whatever that needs to be read."""
        snapshot = self.snapshot(key)
        if snapshot is None:
            return Decision(key, without_action(Reason.NOT_ENABLED))
        plan = self._plan(snapshot)
        needs_history = plan.has(ReadHistory)
        if (plan.record or needs_history) and (old := self._outdated(snapshot, plan)):
            await self.reader.confirm(old)
            snapshot = self.snapshot(key) or snapshot
            plan = self._plan(snapshot)
            needs_history = plan.has(ReadHistory)
        if needs_history:
            history = await self.reader.history(snapshot.kind, snapshot.workload)
            fresh = self.snapshot(key)
            if fresh is None:
                return Decision(key, without_action(Reason.NOT_ENABLED))
            snapshot = msgspec.structs.replace(fresh, history=history)
            plan = self._plan(snapshot)
        return Decision(key, plan, snapshot)

    def paced(self, snapshot: Snapshot, seconds: float) -> Plan:
        """The plan for a workload whose turn comes in so many seconds."""
        turn_at = self._clock.now() + timedelta(seconds=seconds)
        return self._plan(msgspec.structs.replace(snapshot, turn_at=turn_at))

    def _plan(self, snapshot: Snapshot) -> Plan:
        return decide(snapshot, self._clock.now(), self.world.dialects)

    def _outdated(self, snapshot: Snapshot, plan: Plan) -> list[Key]:
        """Sources that changed as far as we know, but not necessarily as far as the record knows.

        Another leader may have seen more than a watch of ours that is dead, and written a record.
        """
        record = snapshot.workload.record
        if isinstance(record, Record) and record.k not in snapshot.keys:
            # Its digests of Secrets say nothing here: any of them may be newer than ours.
            changed = (reference.source for reference in snapshot.references)
        else:
            changes = plan.changes or compare(snapshot).changes
            changed = (change.reference.source for change in changes)
        return self.world.may_be_old(snapshot.workload.key, changed)
