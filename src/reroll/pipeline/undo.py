"""Going back when a run fails: with what it rolled, and what others rolled for the same change.

A controller that is faster than the run rolls for the same change of a source. So it does not
matter which process rolled: a workload goes back if the last thing that was done to it was a roll
for what its sources hold now, and one that failed only if its rollout was never complete. A rollout
that anything else began (a deploy of another image, say) is told, and left alone.
"""

from collections.abc import Sequence
from datetime import datetime

from reroll.clock import Clock
from reroll.core.decide.rollback import declined, go_back
from reroll.core.model.key import Key
from reroll.core.model.metadata import pick
from reroll.core.model.names import several
from reroll.core.model.record import Record
from reroll.core.observe.compare import compare
from reroll.core.observe.snapshot import Snapshot
from reroll.core.tables.reasons import Reason
from reroll.engine.executor import Executor
from reroll.engine.observer import Observer
from reroll.engine.outcome import Outcome
from reroll.engine.strategies.go_back import NoWayBackError
from reroll.engine.strategies.stuck_pods import unstick
from reroll.kube.client import Client
from reroll.kube.errors import ApiError
from reroll.pipeline.follow import PASSING, POLL, Follow, Hooks
from reroll.pipeline.work import Stage, Work

_ROLLS = frozenset((Reason.CONFIG_CHANGED.word, Reason.RELEASED.word))
FAILED = "a rollout failed, so it was taken back to the revision before"
NOT_OURS = "no change of its configuration began this rollout; `kubectl rollout undo` goes back"
COMPLETE_SINCE = "its last roll was complete before, so that roll is not what failed"


class Undo:
    def __init__(
        self,
        client: Client,
        clock: Clock,
        observer: Observer,
        executor: Executor,
        follow: Follow,
        hooks: Hooks,
    ) -> None:
        self._client, self._clock, self._observer = client, clock, observer
        self._executor, self._follow, self._hooks = executor, follow, hooks

    # Which

    def concerned(self, works: Sequence[Work]) -> list[Work]:
        """Those to go back with, if any of them failed for the change that they rolled for."""
        failed = [work for work in works if work.has_failed and self.is_to_blame(work)]
        if not failed:
            return []
        causes = frozenset[Key]().union(*map(self._causes, failed))
        return [work for work in works if work.began or causes & self._causes(work)]

    def is_to_blame(self, work: Work) -> bool:
        """Whether its roll for what its sources hold is what fails, of this run or another's."""
        is_new = work.health is None or not work.health.complete_once
        return work.began is not None or (is_new and bool(self._causes(work)))

    def _causes(self, work: Work) -> frozenset[Key]:
        """The sources that it last rolled for, if they still hold that."""
        snapshot = self._observer.snapshot(work.key)
        record = snapshot.record if snapshot else None
        if snapshot is None or record is None or record.why not in _ROLLS:
            return frozenset()
        seen = compare(snapshot)
        if seen.changes or seen.unread:
            return frozenset()
        home, by = work.key.namespace, record.by or ()
        return frozenset(ref.source for ref in snapshot.references if ref.entry(home) in by)

    def left_alone(self, work: Work) -> None:
        """Say why a workload that failed does not go back."""
        why = COMPLETE_SINCE if self._causes(work) else NOT_OURS
        self._follow.change(work, work.stage, _joined(work.detail, f"not rolled back: {why}"))

    # How

    async def undo(self, work: Work, deadline: datetime) -> None:
        """To the template before the roll, and until its pods are there again."""
        failed, detail = work.stage, work.detail
        try:
            outcome = await self._write(work, deadline)
            if outcome is None:
                return
        except NoWayBackError as error:
            self._follow.change(work, failed, _joined(detail, f"not rolled back: {error}"))
            return
        except ApiError as error:
            self._follow.change(work, Stage.FAILED, f"not rolled back: {error}")
            return
        work.failed_as = failed if failed in {Stage.FAILED, Stage.TIMED_OUT} else None
        snapshot = self._observer.snapshot(work.key)
        work.reads = _reads(work, snapshot.record if snapshot else None)
        self._follow.change(work, Stage.UNDONE, detail)
        for report in outcome.reports:
            self._hooks.publish(report)
        try:
            await self._recover(work, deadline)
        except ApiError as error:
            self._follow.change(work, work.stage, _joined(detail, str(error)))

    async def _write(self, work: Work, deadline: datetime) -> Outcome | None:
        """Put its template back; what may pass is tried again. `None` if the workload is gone.

        The template before is known of what this run rolled; else Kubernetes has kept it.
        """
        failed = work.stage
        template = pick(work.before, work.kind.template) if work.began else None
        while (there := await self._follow.fetch(work, deadline)) is not None:
            rolled = work.rolled or pick(there, work.kind.template)
            snapshot = self._observer.snapshot(work.key) or self._bare(work)
            reads = _reads(work, declined(snapshot, self._clock.now()))
            why = _joined(FAILED, work.detail, reads)
            plan = go_back(snapshot, self._clock.now(), why, template=template, rolled=rolled)
            try:
                return await self._executor.execute(snapshot, plan)
            except PASSING as error:
                problem = error
            self._follow.change(work, failed, f"not rolled back yet: {problem}")
            if not await self._follow.sleep(max(POLL, problem.retry_after or 0.0), deadline):
                raise problem
        return None

    def _bare(self, work: Work) -> Snapshot:
        """A workload that is not opted in: nothing is known but itself."""
        policy = self._observer.world.policy_of(work.kind, work.before)
        return Snapshot(self._follow.workload(work), work.kind, policy, (), {})

    async def _recover(self, work: Work, deadline: datetime) -> None:
        """Until its pods are there again; what is in their way is shown with the workload."""
        detail = work.detail
        while (health := await self._follow.health(work, deadline)) is not None:
            work.health = health
            self._follow.change(work, work.stage, detail if health.is_over else work.detail)
            if health.is_over:
                return
            if work.kind.sticks and (manifest := await self._follow.fetch(work, deadline)):
                stays = await unstick(self._client, self._follow.workload(work), manifest)
                self._follow.change(work, work.stage, _joined(detail, stays))
            ill = await self._follow.crash_loop(work) if health.updated else ""
            if ill or not await self._follow.news(work, deadline):
                why = f": {ill}" if ill else ""
                self._hooks.note(
                    f"{work.key} was rolled back, and its pods are not all ready yet{why}"
                )
                return


def _reads(work: Work, record: Record | None) -> str:
    """What its pods read that start once it has been taken back, by the record of that."""
    if record is None:
        return ""
    if record.held:
        return (
            f"pods of {work.key} still use the copies of the revision before; it rolls when a "
            "source changes, or after `reroll release`"
        )
    if not record.declined:
        return ""
    return (
        f"{several(record.declined)} still holds what failed, and pods of {work.key} that "
        "start from now on read it; change it back, or use revisions"
    )


def _joined(*parts: str) -> str:
    return "; ".join(filter(None, parts))
