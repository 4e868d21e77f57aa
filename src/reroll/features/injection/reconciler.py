"""One Injection at a time: look, make the value, write it, tell.

Each look decides anew from what is in the cluster, so a failed one needs no memory but the status.
"""

from reroll.clock import Clock
from reroll.controller.logs import Log
from reroll.controller.pace import Backoff
from reroll.controller.queue import Queue
from reroll.controller.report import Report, Result, Teller
from reroll.core.model.fieldpaths import text
from reroll.core.model.injection import FINALIZER, Injection
from reroll.core.model.key import Key
from reroll.core.tables.reasons import Reason
from reroll.engine.world import World
from reroll.features.injection.applier import Keeper, passes
from reroll.features.injection.decide import Target, Verdict, first_claim, loop, status_of
from reroll.features.injection.registry import Book
from reroll.features.injection.sources import Reader
from reroll.features.injection.status import INJECTIONS, Objects
from reroll.features.injection.targets import Targets
from reroll.features.injection.values import UnusableError, make
from reroll.features.injection.writer import RefusedError
from reroll.kube import wire
from reroll.kube.client import Client
from reroll.kube.errors import ApiError, Conflict, Forbidden

RESYNC = 300.0
"""Seconds after which an Injection is looked at, though nothing told to."""
log = Log("reroll")

_WAITS: frozenset[Reason] = frozenset(
    {
        Reason.FORBIDDEN,
        Reason.SOURCE_FORBIDDEN,
        Reason.REJECTED,
        Reason.FAILED,
        Reason.TARGET_MISSING,
        Reason.NOT_ALLOWED,
    }
)
"""What may end without anything that is watched telling so."""


class Injector:
    def __init__(
        self,
        client: Client,
        clock: Clock,
        world: World,
        book: Book,
        targets: Targets,
        reader: Reader,
        telemetry: Teller,
    ) -> None:
        self._clock, self._world = clock, world
        self._book, self._targets, self._reader = book, targets, reader
        self._objects, self._telemetry = Objects(client, book), telemetry
        self._keeper = Keeper(client, world, targets, self._objects)
        self._backoff = Backoff(clock, first=1.0, most=30.0)
        self.queue: Queue[Key] = Queue(clock)

    async def run(self) -> None:
        """Work on one key after the other, until cancelled."""
        while True:
            key = await self.queue.get()
            try:
                delay = await self.look(key)
            except Conflict:
                delay = self._backoff.failed(key)
            except ApiError as error:
                log.warning("injection", injection=str(key), problem=str(error))
                delay = self._backoff.failed(key, error.retry_after or 0.0)
            except Exception:  # one Injection's trouble is not another's
                log.exception("bug", injection=str(key))
                delay = self._backoff.failed(key, at_least=5.0)
            finally:
                self.queue.done(key)
            if delay is not None:
                self.queue.add(key, delay, urgent=False)

    async def look(self, key: Key) -> float | None:
        """Do what an Injection needs now; the seconds until it is worth looking again."""
        one = self._book.get(key)
        if one is None:
            self._forget(key)
            return None
        if self._world.namespaces.that_counts(key.namespace) is None:
            self._forget(key)
            return self._clock.jitter(RESYNC)
        if one.deleting:
            return await self._end(one)
        self._book.attend(key, one.sources)
        with self._targets.looking(key):
            verdict = await self._judge(one)
        await self._tell(one, verdict)
        if verdict.reason in _WAITS:
            return self._backoff.failed(key)
        self._backoff.succeeded(key)
        return self._clock.jitter(RESYNC)

    def _forget(self, key: Key) -> None:
        self._targets.leave(key)
        self._book.attend(key, frozenset())
        self._objects.forget(key)
        self._telemetry.forget(key)
        self._backoff.succeeded(key)

    # What should be

    async def _judge(self, one: Injection) -> Verdict:
        if one.problem:
            return Verdict(Reason.INVALID_INJECTION, one.problem)
        resource = await self._targets.resource(one.spec.to)
        if isinstance(resource, str):
            return Verdict(Reason.TARGET_MISSING, resource)
        target = _target(one, resource)
        if barred := self._barred(one, resource, target):
            return barred
        contents = await self._reader.read(one)
        if isinstance(contents, Verdict):
            return contents
        try:
            made = make(one, contents)
        except UnusableError as error:
            return Verdict(Reason.INVALID_VALUE, str(error))
        return await self._keeper.keep(one, resource, target, made)

    def _barred(self, one: Injection, resource: wire.Resource, target: Target) -> Verdict | None:
        if one.spec.to.namespace and not resource.namespaced:
            problem = f"spec.to: a {target.kind} is in no namespace; leave spec.to.namespace out"
            return Verdict(Reason.INVALID_INJECTION, problem)
        if target.is_source and (way := loop(target, one.sources, self._book.feeds())):
            steps = " to ".join(map(str, way))
            return Verdict(
                Reason.LOOP,
                f"it reads {way[-1]}, and what it writes would come back there: {steps}",
            )
        rivals = [
            other
            for other in self._book.rivals(one)
            if _target(other, resource) == target
            and self._world.namespaces.that_counts(other.key.namespace)
        ]
        if first := first_claim(one, rivals):
            return Verdict(
                Reason.CLAIMED,
                f"{first.key} writes to {text(first.path)} of {target} already; it came first",
            )
        return None

    # The end

    async def _end(self, one: Injection) -> float | None:
        """It is being deleted, and waits for us if its value has to go first."""
        if FINALIZER in one.finalizers:
            try:
                removed = one.removes and await self._keeper.let_go(one)
            except RefusedError as error:
                await self._tell(one, _kept(one, error))
                return self._backoff.failed(one.key)
            if removed:
                self._report(one, Verdict(Reason.REMOVED, Reason.REMOVED.sentence, wrote=True))
            await self._objects.finalize(one, hold=False)
        self._forget(one.key)
        return None

    # What is told

    async def _tell(self, one: Injection, verdict: Verdict) -> None:
        self._report(one, verdict)
        status = status_of(one, verdict, self._targets.blind(one.key), self._clock.now())
        try:
            await self._objects.show(one, status)
        except Forbidden:
            problem = "its status may not be written; grant `patch` on injections/status.reroll.dev"
            self._report(one, Verdict(Reason.FORBIDDEN, problem))
            self.queue.add(one.key, 30.0)

    def _report(self, one: Injection, verdict: Verdict) -> None:
        if verdict.reason is Reason.INJECTED and not verdict.wrote:
            if self._objects.is_shown(one.key):
                self._telemetry.forget(one.key)
            return
        self._telemetry.tell(
            Report(
                key=one.key,
                uid=one.uid,
                api_version=INJECTIONS.api_version,
                reason=verdict.reason,
                message=verdict.message,
                result=Result.DONE if verdict.wrote else Result.HELD,
            )
        )


def _target(one: Injection, resource: wire.Resource) -> Target:
    to = one.spec.to
    namespace = (to.namespace or one.key.namespace) if resource.namespaced else ""
    return Target(to.group, to.kind, namespace, to.name)


def _kept(one: Injection, error: RefusedError) -> Verdict:
    to = one.status.target or one.spec.to
    where = f"{to.kind} {to.name}"
    if isinstance(error.error, Conflict):
        raise Conflict(f"{where} changed while a value was removed from it")
    if passes(error.error):
        return Verdict(
            Reason.FAILED, f"its value could not be removed from {where} yet: {error.words}"
        )
    return Verdict(
        Reason.FORBIDDEN if isinstance(error.error, Forbidden) else Reason.REJECTED,
        f"its value cannot be removed from {where}: {error.words}; allow it, or set "
        "deletionPolicy: Keep",
    )
