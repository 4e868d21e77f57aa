"""One workload at a time: look, plan, do, tell. The only code that writes workloads.

Each try decides anew from the state of the world, so a failed one needs no memory: it is tried
again, for ever, with growing delays. What to do after an error is a table.
"""

from collections.abc import Awaitable, Callable, Mapping
from enum import Enum
from typing import NamedTuple, Protocol

import msgspec

from reroll.clock import Clock
from reroll.controller.logs import Log
from reroll.controller.pace import Backoff, Pacer
from reroll.controller.queue import Queue
from reroll.controller.report import Report, Result, Teller
from reroll.core.decide.chains import plan
from reroll.core.decide.plan import Plan
from reroll.core.model.key import Key
from reroll.core.model.metadata import Manifest
from reroll.core.model.record import Record, successor, write
from reroll.core.observe.compare import compare
from reroll.core.observe.snapshot import Snapshot
from reroll.core.observe.workload import Workload, workload
from reroll.core.tables.kinds import Kind, Strategy
from reroll.core.tables.reasons import Reason
from reroll.core.write.patches import Operation, patch, writes_template
from reroll.engine.reader import Reader, resource
from reroll.engine.strategies.repair import Repairs
from reroll.engine.value_marks import with_marks_of_values
from reroll.engine.world import World
from reroll.kube import wire
from reroll.kube.client import Client
from reroll.kube.errors import (
    AlreadyExists,
    ApiError,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    Rejected,
    Unavailable,
)

log = Log("reroll")
_manifest = msgspec.json.Decoder(Manifest)

SLOWLY = 30.0
"""Seconds to wait at least before asking again for what a person has to allow."""


class Step(Enum):
    """How a part of a strategy ended that is not the patch."""

    DONE = "the record can be written"
    TAKEN = "somebody else writes it, and tells"


class Held(NamedTuple):
    """Something that people should know stands in the way."""

    reason: Reason
    message: str
    seconds: float


Outcome = Step | Held | float
"""A step's end, or the seconds until it is worth looking again."""
Part = Callable[[Kind, Workload, Plan], Awaitable[Outcome]]


class Preparing(Protocol):
    """What a template with pins needs besides its patch."""

    async def prepare(self, seen: Snapshot, decided: Plan) -> Plan | Held: ...

    async def tidy(self, seen: Snapshot) -> float | None: ...


class Roller:
    def __init__(
        self,
        client: Client,
        clock: Clock,
        world: World,
        reader: Reader,
        telemetry: Teller,
        pacer: Pacer,
        kinds: Mapping[str, Kind],
    ) -> None:
        self._client, self._clock, self._world = client, clock, world
        self._reader, self._telemetry, self._pacer, self._kinds = reader, telemetry, pacer, kinds
        self._backoff = Backoff(clock)
        self._repairs = Repairs(client)
        self.queue: Queue[Key] = Queue(clock)
        self.pinning: Preparing | None = None
        """What has to happen before a template is pinned, and after."""
        self.before: dict[Strategy, Part] = {}
        """What has to happen before the record is written."""
        self.after: dict[str, Part] = {}
        """What goes on after it, until it is done."""
        self._unanswered: dict[Key, tuple[Snapshot, Plan]] = {}
        """Patches that the API server may have done or not."""

    async def run(self) -> None:
        """Work on one key after the other, until cancelled."""
        while True:
            key = await self.queue.get()
            try:
                delay = await self.look(key)
            except ApiError as error:
                delay = self.failed(key, error)
            except Exception as error:  # one workload's trouble is not another's
                log.exception("bug", workload=str(key))
                delay = self.failed(key, error)
            finally:
                self.queue.done(key)
            if delay is not None:
                self.queue.add(key, delay)

    async def look(self, key: Key) -> float | None:
        """Do what a workload needs now; the seconds until it is worth looking again, if it is."""
        found = await self.decide(key)
        if found is None:
            self._telemetry.forget(key)
            self._backoff.succeeded(key)
            self._unanswered.pop(key, None)
            return None
        seen, decided = found
        delay = await self._do(seen, decided)
        if self.pinning is not None and (decided.record is None or decided.pins is not None):
            later = await self.pinning.tidy(self._world.snapshot(key, seen.kind) or seen)
            delay = later if delay is None else delay
        self._backoff.succeeded(key)
        if decided.look_at is None:
            return delay
        latest = max(0.0, (decided.look_at - self._clock.now()).total_seconds())
        return latest if delay is None else min(delay, latest)

    async def decide(self, key: Key) -> tuple[Snapshot, Plan] | None:
        """What should happen to a workload now; `None` if it is gone, or not in."""
        kind = self._kinds[key.kind]
        seen = self._world.snapshot(key, kind)
        if seen is None:
            return None
        self._tell_unanswered(seen)
        decided = self._plan(seen)
        if (decided.record or decided.look_back) and (old := self._may_be_old(seen, decided)):
            await self._reader.confirm(old)
            seen = self._world.snapshot(key, kind) or seen
            decided = self._plan(seen)
        if decided.look_back:
            history = await self._reader.history(kind, seen.workload)
            fresh = self._world.snapshot(key, kind)
            if fresh is None:
                return None
            seen = msgspec.structs.replace(fresh, history=history)
            decided = self._plan(seen)
        return seen, decided

    def _plan(self, seen: Snapshot) -> Plan:
        return plan(seen, self._clock.now(), self._world.dialects)

    def _may_be_old(self, seen: Snapshot, decided: Plan) -> list[Key]:
        """Sources that changed as far as we know, but not necessarily as far as the record knows.

        Another leader may have seen more than a watch of ours that is dead, and written a record.
        """
        changes = decided.changes or compare(seen).changes
        changed = (change.reference.source for change in changes)
        return self._world.may_be_old(seen.workload.key, changed)

    async def _do(self, seen: Snapshot, decided: Plan) -> float | None:
        if decided.resume is not None:
            return await self._go_on(seen, decided)
        if decided.repair is not None:
            return await self._repair(seen, decided)
        if decided.record is None and decided.pause is None and not decided.copies:
            return self._hold(seen, decided)
        if decided.roll is not None and (wait := self._pacer.wait()):
            return wait
        if self.pinning is not None and (decided.copies or decided.pins is not None):
            prepared = await self.pinning.prepare(seen, decided)
            if not isinstance(prepared, Plan):
                return self._wait(seen, decided, prepared)
            decided = prepared
        if decided.record is None and decided.pause is None:
            self._tell(seen, decided, Result.DONE)
            return 0.0
        part = self.before.get(decided.roll) if decided.roll else None
        outcome = await part(seen.kind, seen.workload, decided) if part else Step.DONE
        if not isinstance(outcome, Step):
            return self._wait(seen, decided, outcome)
        if outcome is Step.TAKEN:
            return None
        if decided.stamp:
            decided = await with_marks_of_values(self._client, self._world, seen, decided)
        await self._write(seen, decided)
        self._tell(seen, decided, Result.DONE)
        self._world.settled(seen.workload.key)
        # A record of what is there may be the first of two steps: pins come after it.
        more = decided.roll is None and seen.policy.revisions
        return 0.0 if more or (decided.record and decided.record.todo) else None

    async def carry_out(self, seen: Snapshot, decided: Plan) -> None:
        """Write a plan that somebody made by hand."""
        await self._write(seen, decided)
        self._tell(seen, decided, Result.DONE)
        self._world.settled(seen.workload.key)

    async def _repair(self, seen: Snapshot, decided: Plan) -> float | None:
        """One step of what undoes the work of another tool, until nothing is left of it."""
        step = await self._repairs.step(seen, decided)
        if step.told:
            self._tell(seen, decided, Result.DONE)
        if step.manifest is not None:
            self._world.workload_seen(seen.kind, step.manifest, watched=step.told)
        return step.seconds

    def _hold(self, seen: Snapshot, decided: Plan) -> float | None:
        held = decided.revisit_at is not None or decided.reason in _HOLDS
        if decided.reason is Reason.UP_TO_DATE:
            self._world.settled(seen.workload.key)
        elif decided.reason is Reason.DEBOUNCING:
            self._world.waits(seen.workload.key)
        self._tell(seen, decided, Result.HELD if held else Result.NOTHING)
        if decided.revisit_at is None:
            return None
        return max(0.0, (decided.revisit_at - self._clock.now()).total_seconds())

    async def _go_on(self, seen: Snapshot, decided: Plan) -> float | None:
        """Work that a roll left: when it is done, the record says so."""
        todo = decided.resume
        part = self.after.get(todo.do) if todo else None
        outcome = await part(seen.kind, seen.workload, decided) if part else Step.DONE
        if not isinstance(outcome, Step):
            return self._wait(seen, decided, outcome)
        record = seen.workload.record
        if isinstance(record, Record):
            finished = successor(record, record.n, todo=None)
            done = Plan(Reason.FINISHED, Reason.FINISHED.sentence, record=finished)
            await self._write(seen, done)
            self._tell(seen, done, Result.DONE)
        return None

    def _wait(self, seen: Snapshot, decided: Plan, outcome: Held | float) -> float:
        if not isinstance(outcome, Held):
            return outcome
        told = Plan(outcome.reason, outcome.message, problems=decided.problems)
        self._tell(seen, told, Result.HELD)
        return outcome.seconds

    async def _write(self, seen: Snapshot, decided: Plan) -> None:
        """The one patch; its answer is put into the world before anybody looks again."""
        key = seen.workload.key
        operations = patch(seen.workload, seen.kind, decided, seen.policy.pause)
        request = wire.json_patch(resource(seen.kind), key.namespace, key.name, operations)
        try:
            raw = await self._client.send(request)
        except Invalid:
            if await self._is_stale(seen, decided, operations):
                raise Conflict(f"{key} is another than it was") from None
            raise
        except Unavailable:
            self._unanswered[key] = (seen, decided)
            raise
        self._unanswered.pop(key, None)
        # What the answer shows beside our own change may be older than it.
        ours = writes_template(seen.kind, operations) or decided.pause is False
        expected = None
        if decided.record and decided.pause is None:
            expected = (seen.workload.generation + ours, write(decided.record))
        self._world.workload_seen(seen.kind, _manifest.decode(raw), watched=ours, expected=expected)

    def _tell_unanswered(self, seen: Snapshot) -> None:
        """A patch whose answer was lost, and whose record is there, was done."""
        sent = self._unanswered.get(seen.workload.key)
        if sent is not None and seen.workload.record == sent[1].record:
            del self._unanswered[seen.workload.key]
            self._tell(*sent, Result.DONE)

    def _tell(self, seen: Snapshot, decided: Plan, result: Result) -> None:
        told = report(seen.kind, seen.workload, decided, result)
        if seen.waiting_since and told.rolled:
            seconds = (self._clock.now() - seen.waiting_since).total_seconds()
            told = msgspec.structs.replace(told, seconds=seconds)
        self._telemetry.tell(told)

    def failed(self, key: Key, error: Exception) -> float | None:
        """What an error means for the key: the delay until the next try, or `None` for never."""
        if isinstance(error, NotFound):
            self._world.workload_gone(key)
            return None
        if isinstance(error, Conflict | AlreadyExists):
            return self._backoff.failed(key)
        reason, at_least = next(
            (row[1:] for row in _AFTER if isinstance(error, row[0])), (Reason.FAILED, 0.0)
        )
        tracked = self._world.workloads.get(key)
        if tracked is not None:
            self._telemetry.tell(
                Report(
                    key=key,
                    uid=tracked.workload.uid,
                    api_version=resource(self._kinds[key.kind]).api_version,
                    reason=reason,
                    message=f"{reason.sentence}: {error}",
                    result=Result.FAILED,
                    problems=tracked.policy.problems,
                )
            )
        retry_after = error.retry_after if isinstance(error, ApiError) else None
        return self._backoff.failed(key, max(at_least, retry_after or 0.0))

    async def _is_stale(self, seen: Snapshot, decided: Plan, sent: list[Operation]) -> bool:
        """Whether a patch was refused because the workload is another one than we thought."""
        before = seen.workload
        manifest = await self._reader.workload(seen.kind, before.key)
        if manifest is None or manifest.metadata.generation != before.generation:
            return True
        now = workload(seen.kind, manifest, before, words=self._world.dialects.words)
        return patch(now, seen.kind, decided, seen.policy.pause) != sent


def report(kind: Kind, seen: Workload, decided: Plan, result: Result) -> Report:
    """What to tell about a plan that came to this."""
    return Report(
        key=seen.key,
        uid=seen.uid,
        api_version=resource(kind).api_version,
        reason=decided.reason,
        message=decided.message,
        result=result,
        strategy=decided.roll.value if decided.roll else "",
        sources=tuple(change.reference.source for change in decided.changes),
        stamp=decided.stamp,
        problems=decided.problems,
    )


_HOLDS = frozenset(
    {
        Reason.SOURCE_MISSING,
        Reason.TOO_MANY_SOURCES,
        Reason.HELD,
        Reason.HELD_AT,
        Reason.REVISION_MISSING,
        Reason.PAUSED,
        Reason.WAITING,
        Reason.DEBOUNCING,
        Reason.LOOKING_BACK,
    }
)

# What an error means, and how long to wait at least.
_AFTER: tuple[tuple[type[ApiError], Reason, float], ...] = (
    (Forbidden, Reason.FORBIDDEN, SLOWLY),
    (Invalid, Reason.REJECTED, SLOWLY),
    (Rejected, Reason.REJECTED, SLOWLY),
)
