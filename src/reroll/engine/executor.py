"""Carries plans out: the one place that writes to workloads, as a table from action to function.

Every attempt decides again from the state of the world, so a failed one leaves nothing to remember:
it is tried again, for ever, with growing delays. What happened comes back as a value.
"""

from collections.abc import Awaitable, Callable, Collection
from functools import partial

import msgspec

from reroll.clock import Clock
from reroll.controller.pace import Backoff
from reroll.controller.report import Report, Result
from reroll.core.decide.actions import Action, NamePins, Patch, Pause, Resume, records
from reroll.core.decide.plan import Plan
from reroll.core.model.key import Key, Problem
from reroll.core.model.metadata import Manifest, pods_there
from reroll.core.model.record import Record, write
from reroll.core.observe.health import State
from reroll.core.observe.snapshot import Snapshot
from reroll.core.observe.workload import workload
from reroll.core.tables.reasons import Reason
from reroll.core.tables.rights import EVERYTHING, Feature
from reroll.core.write.patches import Operation, patch, writes_template
from reroll.engine.effort import is_usual
from reroll.engine.observer import Observer
from reroll.engine.outcome import Amended, Blocked, Done, Later, Outcome, Step, Turn, words_of
from reroll.engine.reports import Reports, after
from reroll.engine.slow_lane import SlowLane
from reroll.engine.strategies.ownerless import Ownerless
from reroll.engine.strategies.owners import Owners
from reroll.engine.strategies.table import SLOW, Function, Strategies
from reroll.engine.writes import OTHERS, Paces, Write, is_slow, write_of
from reroll.kube import api, resources
from reroll.kube.client import Client
from reroll.kube.errors import AlreadyExists, ApiError, Conflict, Invalid, NotFound, Unavailable


async def _nobody(_: Key) -> None:
    """There are no others."""


class Executor:
    """`wake(key)`: look at a workload; with it, what waits for pods is left to the slow lane.

    `others_first(key)`: what is left to do for a workload that rolls can wait.
    """

    def __init__(
        self,
        client: Client,
        clock: Clock,
        observer: Observer,
        pacer: Paces,
        wake: Callable[[Key], None] | None = None,
        features: Collection[str] = EVERYTHING,
        others_first: Callable[[Key], Awaitable[None]] = _nobody,
    ) -> None:
        self._others_first = others_first
        self._client, self._clock, self._observer, self._pacer = client, clock, observer, pacer
        self._world, self._backoff = observer.world, Backoff(clock)
        self._reports = Reports(clock, observer)
        self._unanswered: dict[Key, tuple[Turn, Record | None]] = {}
        """Patches that the API server may have applied or not."""
        self.ownerless = Ownerless(client, clock, self._world, observer.kinds)
        self.owners = Owners(client, clock, self._world, self.ownerless.left)
        self.strategies = table = Strategies(
            client,
            clock,
            observer,
            stays=wake is not None,
            may_recreate=Feature.RECREATE in features,
        )
        slow: dict[type[Action], Function] = dict.fromkeys(SLOW, table.carry_out)
        self.slow_lane = SlowLane(clock, pacer, slow, wake, table.forget) if wake else None
        if self.slow_lane:
            slow = dict.fromkeys(SLOW, self.slow_lane.carry_out)
        self._functions: dict[type[Action], Function] = {Patch: self._patch, **slow}

    async def reconcile(self, key: Key) -> Outcome:
        """Do what a workload needs now."""
        answered: tuple[Report, ...] = ()
        try:
            answered = await self._answered(key)
            self._world.propagation.release(key)
            outcome = await self._reconcile(key)
        except ApiError as error:
            outcome = self.failed(key, error)
        else:
            self._backoff.succeeded(key)
        return outcome._replace(reports=(*answered, *outcome.reports))

    async def _reconcile(self, key: Key) -> Outcome:
        decision = await self._observer.decide(key)
        snapshot, plan = decision.snapshot, decision.plan
        if self.slow_lane is not None and not is_slow(plan):
            self.slow_lane.drop(key)
        if snapshot is None:
            self._unanswered.pop(key, None)
            self._pacer.leave(key, Write.ROLL, Write.RECORD)
            await self.strategies.tidy(key, plan)
            return Outcome(gone=True)
        wait = self._turn(key, plan)
        if wait:
            plan = self._observer.paced(snapshot, wait)
        begins = plan.strategy is not None
        self._world.propagation.take_note(key, plan.reason, begins=begins)
        self._world.propagation.gates.take_note(snapshot, plan)
        outcome = await self.execute(snapshot, plan)
        await self.strategies.tidy(key, plan)
        delay = outcome.delay
        if plan.record is None or plan.has(NamePins) or plan.reason is Reason.CONTINUED:
            fresh = self._observer.snapshot(key) if plan.actions else snapshot
            later = await self.owners.tidy(fresh or snapshot)
            delay = later if delay is None else delay
        if plan.look_at is not None:
            latest = (plan.look_at - self._clock.now()).total_seconds()
            latest = min(max(0.0, latest), LONGEST_SLEEP)
            if plan.reason is not Reason.PACED or latest < wait - SOON:
                delay = latest if delay is None else min(delay, latest)
        if plan.late_at is not None:
            late = (plan.late_at - self._clock.now()).total_seconds()
            outcome = outcome._replace(late=min(max(0.0, late), LONGEST_SLEEP))
        return outcome._replace(delay=delay)

    def _turn(self, key: Key, plan: Plan) -> float:
        """The seconds until a plan may be carried out; the pacer wakes the workload then."""
        if plan.reason is Reason.DEBOUNCING:
            return 0.0  # The turn that it was given when its source changed stays its own.
        write = write_of(plan)
        self._pacer.leave(key, *OTHERS[write])
        return self._pacer.wait(key, write) if write else 0.0

    async def execute(self, snapshot: Snapshot, plan: Plan) -> Outcome:
        """Carry out a plan, as far as that is possible now."""
        turn, actions = Turn(snapshot, plan), plan.actions
        if not actions:
            return self._without_action(turn)
        if write := write_of(plan):
            self._pacer.take(turn.key, write)
        propagation = self._world.propagation
        if plan.strategy is not None:
            propagation.reserve(turn.key)
        try:
            return await self._carry_out(turn, actions)
        finally:
            if turn.key not in self._unanswered:  # Else it is not known whether it rolls.
                propagation.release(turn.key)

    async def _carry_out(self, turn: Turn, actions: tuple[Action, ...]) -> Outcome:
        step: Step = Done()
        while actions:
            function = self._functions.get(type(actions[0]), self.strategies.carry_out)
            step = await function(turn, actions[0])
            actions = actions[1:]
            if isinstance(step, Amended):
                actions, turn = step.amend(actions), _with_problems(turn, step.problems)
            elif not isinstance(step, Done):
                return self._interrupted(turn, step)
        return self._finished(turn, step)

    def _without_action(self, turn: Turn) -> Outcome:
        reason = turn.plan.reason
        if reason is Reason.UP_TO_DATE:
            self._world.settled(turn.key, turn.snapshot.quiet_since)
        elif reason is Reason.DEBOUNCING:
            self._world.waits(turn.key)
        return Outcome((self._reports.of(turn, Result.HELD if reason.held else Result.NOTHING),))

    def _interrupted(self, turn: Turn, step: Step) -> Outcome:
        if isinstance(step, Later):
            return Outcome(delay=step.seconds)
        if not isinstance(step, Blocked):
            return Outcome()
        plan = Plan(step.reason, step.message, problems=turn.plan.problems)
        report = self._reports.of(Turn(turn.snapshot, plan), Result.HELD)
        return Outcome((report,), step.seconds)

    def _ended(self, key: Key) -> tuple[Report, ...]:
        """That pods were replaced one by one is the end of it, if the last one is ready too."""
        health = self._world.health.get(key)
        is_over = health is not None and health.state is State.DONE
        is_judged = self._world.propagation.governs(key)
        return self.completed(key).reports if is_over and not is_judged else ()

    def _finished(self, turn: Turn, step: Step) -> Outcome:
        plan, record, delay = turn.plan, turn.plan.record, None
        if isinstance(step, Done):
            turn, delay = turn._replace(pods=step.pods, answered=step.answered), step.again
        if plan.reason is Reason.CONTINUED:
            done = Plan(Reason.FINISHED, Reason.FINISHED.sentence)
            report = self._reports.of(Turn(turn.snapshot, done), Result.DONE)
            return Outcome((report, *self._ended(turn.key)))
        reports = self._reports.of_roll(turn)
        if not plan.has(Patch) or plan.reason.held:
            return Outcome(reports, 0.0 if delay is None else delay)
        self._world.settled(turn.key, turn.snapshot.quiet_since)
        # A record of what is there may be the first of two writes: pins come after it.
        more = plan.strategy is None and turn.snapshot.policy.revisions
        return Outcome(reports, 0.0 if more or (record and record.todo) else delay)

    # The patch

    async def _patch(self, turn: Turn, action: Patch) -> Step:
        """Its answer is put into the world before the workload is looked at again."""
        snapshot, key, record = turn.snapshot, turn.key, records(action)
        kind, before = snapshot.kind, snapshot.workload
        operations = patch(before, kind, action.edits)
        place = resources.of(kind), key.namespace, key.name
        since = self._clock.monotonic()
        try:
            answer = await api.patch(self._client, *place, operations, Manifest)
        except Invalid:
            if await self._is_stale(snapshot, action, operations):
                raise Conflict(f"{key} changed since it was decided on") from None
            raise
        except Unavailable:
            self._unanswered[key] = turn, record
            raise
        self._pacer.answered(key, self._clock.monotonic() - since)
        self._unanswered.pop(key, None)
        answered = self._clock.now()
        pauses = [edit for edit in action.edits if isinstance(edit, Pause | Resume)]
        # What the answer shows beside our own change may be older than it.
        ours = writes_template(kind, operations) or any(isinstance(e, Resume) for e in pauses)
        expected = (before.generation + ours, write(record)) if record and not pauses else None
        take_in = partial(self._world.workload_seen, kind, answer, watched=ours, expected=expected)
        await self._take_in(turn, answer, take_in)
        is_runner = self._world.lenders.runner(key) == key
        return Done(pods=pods_there(kind, answer) if is_runner else None, answered=answered)

    async def _take_in(self, turn: Turn, answer: Manifest, take_in: Callable[[], None]) -> None:
        if not self._can_wait(turn, answer):
            take_in()
            return
        put_by = self._world.put_by
        put_by.add(turn.key, answer.metadata.version, take_in)
        try:
            await self._others_first(turn.key)
        finally:
            put_by.take_in(turn.key)

    def _can_wait(self, turn: Turn, answer: Manifest) -> bool:
        """Whether nobody waits for the world to learn of a roll, and its answer is not large."""
        plan, policy = turn.plan, turn.snapshot.policy
        is_roll = plan.strategy is not None and len(plan.actions) == 1 and not policy.revisions
        return is_roll and not self._world.propagation.governs(turn.key) and is_usual(answer)

    async def _is_stale(self, snapshot: Snapshot, action: Patch, sent: list[Operation]) -> bool:
        """Whether a patch was refused because the workload is another one than we thought."""
        before = snapshot.workload
        manifest = await self._observer.reader.workload(snapshot.kind, before.key)
        if manifest is None or manifest.metadata.generation != before.generation:
            return True
        now = workload(snapshot.kind, manifest, before, words=self._world.dialects.words)
        return patch(now, snapshot.kind, action.edits) != sent

    async def _answered(self, key: Key) -> tuple[Report, ...]:
        """A patch whose answer was lost, and whose record is there, was applied.

        Until that is known, the workload counts as under way: so it is read, not guessed.
        """
        turn, record = self._unanswered.get(key, (None, None))
        if turn is None:
            return ()
        tracked = self._world.workloads.get(key)
        if tracked is not None and tracked.workload.record != record:
            await self._observer.reader.workload(turn.snapshot.kind, key)
            tracked = self._world.workloads.get(key)
        self._unanswered.pop(key, None)
        if tracked is None or tracked.workload.record != record:
            return ()
        return self._reports.of_roll(turn)

    # Reports

    def forgive(self, key: Key) -> None:
        self._backoff.succeeded(key)

    def failed(self, key: Key, error: Exception) -> Outcome:
        """What an error means for a workload."""
        api_error = error if isinstance(error, ApiError) else None
        if isinstance(error, NotFound):
            self._world.workload_gone(key)
            return Outcome(error=error)
        if isinstance(error, Conflict | AlreadyExists):
            return Outcome(delay=self._backoff.failed(key), error=error)
        reason, at_least = after(error)
        # What only passes keeps its place: those that come after it still do.
        self._world.propagation.take_note(key, reason, failed=reason is not Reason.FAILED)
        retry_after = (api_error and api_error.retry_after) or 0.0
        delay = self._backoff.failed(key, max(at_least, retry_after))
        why = f": {words_of(error)}"
        reports = self._reports.without_look(key, reason, Result.FAILED, why)
        return Outcome(reports, delay, api_error)

    def completed(self, key: Key) -> Outcome:
        """A workload whose rollout is complete, and that nobody judges."""
        return Outcome(self._reports.without_look(key, Reason.COMPLETE, Result.NOTHING))

    def waits(self, key: Key) -> Outcome:
        """A workload that is not looked at before its turn comes."""
        return Outcome(self._reports.without_look(key, Reason.PACED, Result.HELD))


def _with_problems(turn: Turn, problems: tuple[Problem, ...]) -> Turn:
    if not problems:
        return turn
    plan = msgspec.structs.replace(turn.plan, problems=(*turn.plan.problems, *problems))
    return turn._replace(plan=plan)


LONGEST_SLEEP = 3600.0
"""Whatever it waits for, it is looked at so often: clocks are set, and machines sleep."""
SOON = 1.0
"""What is due so shortly before a turn can wait for it."""
