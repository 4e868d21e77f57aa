"""The world, what keeps it current, and what follows from it. It reads, and writes nothing.

The controller fills it from watches, a command from lists; decisions are the same.
"""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import msgspec

from reroll.clock import Clock
from reroll.core.decide.actions import (
    READS,
    Action,
    ReadCanaryPods,
    ReadHistory,
    ReadPods,
    ReadTemplateWriters,
    ReadWriters,
)
from reroll.core.decide.chains import decide
from reroll.core.decide.plan import Plan, without_action
from reroll.core.model.key import Key
from reroll.core.model.names import ordinal
from reroll.core.model.record import Record
from reroll.core.observe.compare import compare
from reroll.core.observe.diagnosis import diagnose
from reroll.core.observe.snapshot import Snapshot
from reroll.core.tables.kinds import Strategy
from reroll.core.tables.reasons import Reason
from reroll.engine import keyring
from reroll.engine.feeds import Feeds
from reroll.engine.reader import Reader
from reroll.engine.rollout_pods import rollout_pods
from reroll.engine.scope import scope
from reroll.engine.tracked import TemplateOf
from reroll.engine.wants import Want
from reroll.engine.world import World
from reroll.engine.writers import Writers, template_writer_of
from reroll.kube.client import Client
from reroll.settings.table import Settings

Reading = Callable[[Snapshot, Action], Awaitable[Snapshot | None]]
"""The snapshot with what was read for it; `None`: the workload is gone."""


MOST_READINGS = 8
"""For one decision: what keeps changing meanwhile wakes the workload anyway."""


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
        self._writers = Writers(client, clock, self.world.sources.rows)
        self._readings: dict[type[Action], Reading] = {
            ReadTemplateWriters: self._with_template_writer,
            ReadPods: self._with_pods,
            ReadHistory: self._with_history,
            ReadWriters: self._with_writers,
            ReadCanaryPods: self._with_canary_pods,
        }

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
        for _ in range(MOST_READINGS):
            reading = next((one for one in plan.actions if isinstance(one, READS)), None)
            if reading is None:
                return Decision(key, plan, snapshot)
            found = await self._readings[type(reading)](snapshot, reading)
            if found is None:
                return Decision(key, without_action(Reason.NOT_ENABLED))
            snapshot, plan = found, self._plan(found)
        return Decision(key, msgspec.structs.replace(plan, actions=()), snapshot)

    async def _with_history(self, snapshot: Snapshot, _: Action) -> Snapshot | None:
        history = await self.reader.history(snapshot.kind, snapshot.workload)
        return self._afresh(msgspec.structs.replace(snapshot, history=history))

    async def _with_writers(self, snapshot: Snapshot, reading: Action) -> Snapshot | None:
        sources = reading.sources if isinstance(reading, ReadWriters) else ()
        writers = await self._writers.of(sources)
        return msgspec.structs.replace(snapshot, writers=writers)

    def _afresh(self, snapshot: Snapshot) -> Snapshot | None:
        """As it is by now, with what was read for it."""
        fresh = self.snapshot(snapshot.workload.key)
        if fresh is None:
            return None
        return msgspec.structs.replace(fresh, history=snapshot.history, writers=snapshot.writers)

    async def _with_template_writer(self, snapshot: Snapshot, _: Action) -> Snapshot | None:
        """Whether another writer changed its template while nobody watched it."""
        key = snapshot.workload.key
        by = await template_writer_of(self._client, snapshot.kind, key)
        tracked = self.world.workloads.get(key)
        if tracked is None:
            return None
        tracked.template_of = TemplateOf.FOREIGN if by else TemplateOf.OURS
        self.world.propagation.refresh(key)
        return self._afresh(snapshot)

    async def _with_pods(self, snapshot: Snapshot, _: Action) -> Snapshot | None:
        """What the pods of a rollout tell that is late or sick."""
        key, record = snapshot.workload.key, snapshot.record
        tracked = self.world.workloads.get(key)
        trial = record.trial if record else None
        if tracked is None or record is None:
            return None
        since = (trial.back if trial else None) or record.rolled or record.at
        since = record.canary.at if snapshot.staged and record.canary else since
        if record.how == Strategy.RELOAD.value:
            since = datetime.min.replace(tzinfo=UTC)  # All of its pods have the change.
        runner = self.world.lenders.runner(key)
        kind = self.kinds.get(runner.kind, snapshot.kind)
        pods = await rollout_pods(self._client, kind, snapshot.workload, runner)
        tracked.read_at = now = self._clock.now()
        unmade = snapshot.rollout.health.unmade if snapshot.rollout else ""
        tracked.diagnosis = None
        if pods is not None and snapshot.staged:
            pods = tuple(p for p in pods if ordinal(p.metadata.name) >= snapshot.staged.to)
        if pods is not None:
            tracked.diagnosis = diagnose(pods, unmade, since=since, now=now)
        return self._afresh(snapshot)

    async def _with_canary_pods(self, snapshot: Snapshot, _: Action) -> Snapshot | None:
        """What the pods of its canary tell."""
        key, canaries = snapshot.workload.key, self.world.canaries
        known, facts = canaries.of(key), snapshot.canary
        if snapshot.staged:
            return await self._with_pods(snapshot, _)
        if known is None or facts is None:
            return snapshot
        pods = await rollout_pods(self._client, snapshot.kind, snapshot.workload, known.key)
        unmade = facts.rollout.health.unmade if facts.rollout else ""
        now = self._clock.now()
        found = None if pods is None else diagnose(pods, unmade, since=facts.made, now=now)
        canaries.was_read(key, found)
        return msgspec.structs.replace(snapshot, canary=canaries.facts(key))

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
