"""One Injection at a time: look, make the value, write it, tell.

Each look decides anew from what is in the cluster, so a failed one needs no memory but the status.
"""

import hashlib
import hmac
from typing import Any

import msgspec

from reroll.clock import Clock
from reroll.controller.logs import Log
from reroll.controller.pace import Backoff
from reroll.controller.queue import Queue
from reroll.controller.report import Report, Result, Teller
from reroll.core.fieldpaths import PathError, text
from reroll.core.fieldpaths import find as find_place
from reroll.core.injecting import (
    TRIES,
    Target,
    Verdict,
    described,
    first_claim,
    holds,
    loop,
    status_of,
    turn,
)
from reroll.core.injections import (
    FINALIZER,
    GROUP,
    KIND,
    PLURAL,
    VERSION,
    Injection,
    Manifest,
    Status,
)
from reroll.core.objects import Key
from reroll.core.policy import ALLOW_FROM
from reroll.core.reasons import Reason
from reroll.features.injection.book import Book
from reroll.features.injection.contents import Reader, consents
from reroll.features.injection.targets import Targets, looks
from reroll.features.injection.values import Made, UnusableError, make
from reroll.features.injection.writer import Found, RefusedError, Writer
from reroll.features.rollout.world import World
from reroll.kube import wire
from reroll.kube.client import Client
from reroll.kube.errors import ApiError, Conflict, Forbidden, NotFound, Throttled, Unavailable

INJECTIONS = wire.Resource(GROUP, VERSION, PLURAL, KIND)
RESYNC = 300.0
"""Seconds after which an Injection is looked at, though nothing told to."""
log = Log("reroll")
_manifest = msgspec.json.Decoder(Manifest)

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
        self._client, self._clock, self._world = client, clock, world
        self._book, self._targets, self._reader = book, targets, reader
        self._writer, self._telemetry = Writer(client), telemetry
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
        return await self._keep(one, resource, target, made)

    def _barred(self, one: Injection, resource: wire.Resource, target: Target) -> Verdict | None:
        if one.spec.to.namespace and not resource.namespaced:
            problem = f"spec.to: a {target.kind} is in no namespace; leave spec.to.namespace out"
            return Verdict(Reason.INVALID_INJECTION, problem)
        if way := loop(target, one.sources, self._book.feeds()):
            steps = " to ".join(map(str, way))
            return Verdict(
                Reason.LOOP,
                f"it reads {way[-1]}, and what it writes would come back there: {steps}",
            )
        rivals = [other for other in self._book.rivals(one) if _target(other, resource) == target]
        if first := first_claim(one, rivals):
            return Verdict(
                Reason.CLAIMED,
                f"{first.key} writes to {text(first.path)} of {target} already; it came first",
            )
        return None

    async def _keep(
        self, one: Injection, resource: wire.Resource, target: Target, made: Made
    ) -> Verdict:
        """Compare with the target, and write what is missing."""
        home = one.key.namespace
        try:
            found = await self._writer.read(resource, target)
        except NotFound:
            self._targets.forget(resource)
            self._targets.follow(one.key, resource, target, None)
            if target.namespace != home:
                return _not_allowed(target, home)
            return Verdict(Reason.TARGET_MISSING, f"{target} does not exist")
        except Forbidden:
            return Verdict(Reason.FORBIDDEN, _grant("get", resource, target))
        self._targets.follow(one.key, resource, target, looks(found.metadata))
        is_foreign = target.is_source or target.namespace != home
        if is_foreign and not consents(found.metadata.annotations, home):
            return _not_allowed(target, home)
        try:
            return await self._compared(one, found, made)
        except PathError as error:
            return Verdict(Reason.INVALID_INJECTION, f"spec.to.path: in {target}, {error}")
        except RefusedError as error:
            return _refused(error, found)

    async def _compared(self, one: Injection, found: Found, made: Made) -> Verdict:
        seen = self._writer.seen(one, found, made)
        written, digest = found.written(one.path), self._digest(made)
        what = f"{described(made.value)} at {text(one.path)} of {found.target}"
        if one.spec.dry_run:
            after = await self._writer.write(one, found, made, dry_run=True)
            if dropped := _dropped(one, after, made):
                return dropped
            change = "is there already" if seen.there else "would be written"
            return Verdict(Reason.DRY_RUN, f"{what} {change}")
        found_turn = turn(one.status, written, digest, one.generation, seen)
        if not found_turn.write and not seen.there:
            names = ", ".join(owner.manager for owner in found.owners(one.path)) or "nobody"
            return Verdict(
                Reason.TAKEN_BACK,
                f"{text(one.path)} of {found.target} was taken back {TRIES + 1} times, and {names} "
                "has it now; let go of it there, then change this Injection or its source",
                taken_back=found_turn.taken_back,
            )
        if found_turn.write:
            await self._prepare(one, found)
            found = await self._writer.write(one, found, made)
            if dropped := _dropped(one, found, made):
                return dropped
            self._targets.follow(one.key, found.resource, found.target, looks(found.metadata))
        return Verdict(
            Reason.INJECTED,
            what + self._consequence(found.target),
            target=written,
            digest=digest,
            taken_back=found_turn.taken_back,
            wrote=found_turn.write,
        )

    def _consequence(self, target: Target) -> str:
        """Who rolls because of what is written."""
        users = sorted(self._world.sources.users(target.key)) if target.is_source else []
        workloads = [str(key) for key in users if key.kind != KIND]
        return f", which is a source of {', '.join(workloads[:5])}" if workloads else ""

    def _digest(self, made: Made) -> str:
        current = self._world.keys.current
        key = self._world.sources.keyring.get(current, b"")
        value = msgspec.json.encode(made.value, order="sorted")
        return f"{current}:{hmac.new(key, value, hashlib.sha256).hexdigest()[:32]}"

    # What it leaves behind

    async def _prepare(self, one: Injection, found: Found) -> None:
        """Before a value is written that has to be removed some day."""
        if one.removes and FINALIZER not in one.finalizers:
            await self._finalize(one, (*one.finalizers, FINALIZER))
        elif not one.removes and FINALIZER in one.finalizers:
            await self._finalize(one, _without(one.finalizers))
        before = one.status.target
        if before and one.removes and before != found.written(one.path):
            await self._release(one)

    async def _end(self, one: Injection) -> float | None:
        """It is being deleted, and waits for us if its value has to go first."""
        if FINALIZER not in one.finalizers:
            self._forget(one.key)
            return None
        try:
            removed = one.removes and await self._release(one)
        except RefusedError as error:
            to = one.status.target or one.spec.to
            problem = (
                f"its value cannot be removed from {to.kind} {to.name}: {error.words}; allow it, "
                "or set deletionPolicy: Keep"
            )
            is_right = isinstance(error.error, Forbidden)
            reason = Reason.FORBIDDEN if is_right else Reason.REJECTED
            await self._tell(one, Verdict(reason, problem))
            return self._backoff.failed(one.key)
        if removed:
            self._report(one, Verdict(Reason.REMOVED, Reason.REMOVED.sentence, wrote=True))
        await self._finalize(one, _without(one.finalizers))
        self._forget(one.key)
        return None

    async def _release(self, one: Injection) -> bool:
        before = one.status.target
        if before is None:
            return False
        resource = await self._targets.served(before)
        return resource is not None and await self._writer.release(one, resource, before)

    async def _finalize(self, one: Injection, finalizers: tuple[str, ...]) -> None:
        metadata = {"resourceVersion": one.version, "finalizers": list(finalizers)}
        request = wire.merge_patch(
            INJECTIONS, one.key.namespace, one.key.name, {"metadata": metadata}
        )
        try:
            self._book.seen(_manifest.decode(await self._client.send(request)))
        except NotFound:
            return

    # What is told

    async def _tell(self, one: Injection, verdict: Verdict) -> None:
        status = status_of(one, verdict, self._targets.blind(one.key), self._clock.now())
        self._report(one, verdict)
        now = self._book.get(one.key)
        if now is None or now.status == status:
            return
        self._book.told(one.key, status)
        body = {"status": _as_patch(now.status, status)}
        request = wire.merge_patch(
            INJECTIONS, one.key.namespace, one.key.name, body, subresource="status"
        )
        try:
            self._book.seen(_manifest.decode(await self._client.send(request)))
        except NotFound:
            return
        except Forbidden:
            problem = "its status may not be written; grant `patch` on injections/status.reroll.dev"
            self._report(one, Verdict(Reason.FORBIDDEN, problem))
            self.queue.add(one.key, 30.0)

    def _report(self, one: Injection, verdict: Verdict) -> None:
        if verdict.reason is Reason.INJECTED and not verdict.wrote:
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


def _without(finalizers: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in finalizers if name != FINALIZER)


def _as_patch(before: Status, after: Status) -> dict[str, Any]:
    """The status as a merge patch: a field that is at its default again goes away."""
    old: dict[str, Any] = msgspec.to_builtins(before)
    new: dict[str, Any] = msgspec.to_builtins(after)
    return {**dict.fromkeys(old.keys() - new.keys()), **new}


def _grant(verb: str, resource: wire.Resource, target: Target) -> str:
    where = f" in namespace {target.namespace}" if target.namespace else ""
    return f"{target} may not be written: grant `{verb}` on {resource.full_name}{where}"


def _not_allowed(target: Target, home: str) -> Verdict:
    """The same whether it exists, where who asks may not know that."""
    missing = "" if target.namespace == home else "does not exist, or "
    return Verdict(
        Reason.NOT_ALLOWED,
        f"{target} {missing}does not let Injections of namespace {home} write to it; its owner "
        f"annotates it with {ALLOW_FROM}: {home!r}",
    )


def _refused(error: RefusedError, found: Found) -> Verdict:
    cause = error.error
    said = error.words or "its words may hold the value, so they are not shown"
    if isinstance(cause, Forbidden):
        grant = _grant("patch", found.resource, found.target)
        return Verdict(Reason.FORBIDDEN, f"{grant} ({said})")
    if isinstance(cause, Conflict):
        raise Conflict(f"{found.target} changed while it was written to")
    if isinstance(cause, Throttled) or (isinstance(cause, Unavailable) and cause.status != 500):
        return Verdict(Reason.FAILED, f"{found.target} could not be written to yet: {said}")
    # A value that does not fit the schema is a 500 of server-side apply.
    return Verdict(Reason.REJECTED, f"the API server refused the value for {found.target}: {said}")


def _dropped(one: Injection, after: Found, made: Made) -> Verdict | None:
    """Fields that a schema does not know are dropped without a word."""
    place = find_place(after.document, one.path)
    if place.is_there and holds(place.value, made.value):
        return None
    return Verdict(
        Reason.REJECTED,
        f"the API server dropped or changed what was written to {text(one.path)} of "
        f"{after.target}; its schema has no such field, or an admission plugin changed it",
    )
