"""Reconciles Injections: each from its creation to its deletion, with its status and reports."""

from operator import attrgetter

from reroll.clock import Clock
from reroll.controller.bus import Bus
from reroll.controller.logs import Log
from reroll.controller.pace import Backoff
from reroll.controller.queue import Queue
from reroll.controller.report import Report, Result
from reroll.controller.worker import Worker, delay_after
from reroll.core.model.injection import FINALIZER, Injection
from reroll.core.model.key import Key
from reroll.core.tables.reasons import Reason
from reroll.features.injection.applier import Applier
from reroll.features.injection.decide import BlockedError, Verdict, status_of
from reroll.features.injection.registry import Registry
from reroll.features.injection.status import StatusWriter
from reroll.features.injection.targets import TargetWatches
from reroll.features.injection.writer import RefusedError
from reroll.kube.errors import ApiError, Conflict, Forbidden
from reroll.kube.resources import INJECTIONS

RESYNC = 300.0
"""Seconds after which an Injection is reconciled though nothing changed."""
POLL = 60.0
"""Seconds after which a target is looked at that is not watched."""
STATUS_RETRY = 30.0
log = Log("reroll")

OF_ONE_NAMESPACE = 2
"""So many Injections of one namespace are carried out at once: targets may be slow to answer."""


class Reconciler:
    def __init__(
        self,
        clock: Clock,
        registry: Registry,
        watches: TargetWatches,
        applier: Applier,
        status: StatusWriter,
        bus: Bus,
    ) -> None:
        self._clock, self._registry, self._watches = clock, registry, watches
        self._applier, self._status, self._bus = applier, status, bus
        self._backoff = Backoff(clock, first=1.0, most=30.0)
        self.queue: Queue[Key] = Queue(clock, share=attrgetter("namespace"), most=OF_ONE_NAMESPACE)
        self.worker = Worker(
            self.queue,
            self.reconcile,
            Backoff(clock),
            on_error=self._failed,
            urgent=False,
            noun="injection",
        )

    async def reconcile(self, key: Key) -> float | None:
        """Do what an Injection needs now; the seconds until the next reconciliation."""
        injection = self._registry.get(key)
        if injection is None:
            self._forget(key)
            return None
        if not self._registry.counts(injection):
            self._forget(key)
            return self._clock.jitter(RESYNC)
        if injection.deleting:
            return await self._finish(injection)
        self._registry.link_sources(key, injection.sources)
        with self._watches.reconciling(key):
            try:
                verdict, blockers = await self._applier.apply(injection), frozenset[Key]()
            except BlockedError as error:
                verdict, blockers = error.verdict, error.by
        self._registry.block(key, blockers)
        unwatched = self._watches.problem(key)
        await self._show(injection, verdict)
        if verdict.reason.polled:
            return self._backoff.failed(key)
        self._backoff.succeeded(key)
        is_polled = unwatched is not None and unwatched.reason is Reason.TOO_MANY_TARGETS
        return self._clock.jitter(POLL if is_polled else RESYNC)

    def _failed(self, key: Key, error: Exception) -> float:
        if isinstance(error, ApiError) and not isinstance(error, Conflict):
            log.warning("injection", injection=str(key), problem=str(error))
        return delay_after(self._backoff, key, error)

    def _forget(self, key: Key) -> None:
        self._watches.leave(key)
        self._registry.link_sources(key, frozenset())
        self._registry.block(key, ())
        self._status.forget(key)
        self._bus.forget(key)
        self._backoff.succeeded(key)

    async def _finish(self, injection: Injection) -> float | None:
        """It is being deleted; our finalizer holds it while its value must still be removed."""
        if FINALIZER in injection.finalizers:
            try:
                removed = injection.removes and await self._applier.release(injection)
            except RefusedError as error:
                await self._show(injection, _not_removed(injection, error))
                return self._backoff.failed(injection.key)
            if removed:
                verdict = Verdict(Reason.REMOVED, Reason.REMOVED.sentence, wrote=True)
                self._publish(injection, verdict)
            await self._status.set_finalizer(injection, hold=False)
        self._forget(injection.key)
        return None

    async def _show(self, injection: Injection, verdict: Verdict) -> None:
        """Publish a verdict, and write it to the status."""
        key = injection.key
        self._publish(injection, verdict)
        status = status_of(injection, verdict, self._watches.problem(key), self._clock.now())
        try:
            await self._status.write(key, status)
        except Forbidden:
            problem = "its status may not be written; grant `patch` on injections/status.reroll.dev"
            self._publish(injection, Verdict(Reason.FORBIDDEN, problem))
            self.queue.add(key, STATUS_RETRY)

    def _publish(self, injection: Injection, verdict: Verdict) -> None:
        if verdict.reason is Reason.INJECTED and not verdict.wrote:
            if self._status.is_saved(injection.key):
                self._bus.forget(injection.key)
            return
        self._bus.publish(
            Report(
                key=injection.key,
                uid=injection.uid,
                api_version=INJECTIONS.api_version,
                reason=verdict.reason,
                message=verdict.message,
                result=Result.DONE if verdict.wrote else Result.HELD,
            )
        )


def _not_removed(injection: Injection, error: RefusedError) -> Verdict:
    to = injection.status.target or injection.spec.to
    if error.reason is Reason.FAILED:
        problem = f"its value could not be removed from {to.kind} {to.name} yet: {error.words}"
    else:
        problem = (
            f"its value cannot be removed from {to.kind} {to.name}: {error.words}; allow it, or "
            "set deletionPolicy: Keep"
        )
    return Verdict(error.reason, problem)
