"""Holds a value in its target: compares, writes what is missing, and gives back what is not wanted.

What stands in the way is a verdict, with no value in it.
"""

import hashlib
import hmac

import msgspec

from reroll.core.dialects.reroll import consents
from reroll.core.model.fieldpaths import PathError, text
from reroll.core.model.fieldpaths import find as find_place
from reroll.core.model.injection import FINALIZER, KIND, Injection
from reroll.core.tables.annotations import ALLOW_FROM
from reroll.core.tables.reasons import Reason
from reroll.engine.world import World
from reroll.features.injection.decide import TRIES, Target, Verdict, described, holds, turn
from reroll.features.injection.status import Objects
from reroll.features.injection.targets import Targets, looks
from reroll.features.injection.values import Made
from reroll.features.injection.writer import Found, RefusedError, Writer
from reroll.kube import wire
from reroll.kube.client import Client
from reroll.kube.errors import ApiError, Conflict, Forbidden, NotFound, Throttled, Unavailable


class Keeper:
    def __init__(self, client: Client, world: World, targets: Targets, objects: Objects) -> None:
        self._writer, self._world = Writer(client), world
        self._targets, self._objects = targets, objects

    async def keep(
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
        if self._needs_consent(target, home) and not consents(found.metadata.annotations, home):
            return _not_allowed(target, home)
        try:
            return await self._compared(one, found, made)
        except PathError as error:
            return Verdict(Reason.INVALID_INJECTION, f"spec.to.path: in {target}, {error}")
        except RefusedError as error:
            return _refused(error, found)

    def _needs_consent(self, target: Target, home: str) -> bool:
        """What is not its own, or what the controller may write to for other reasons."""
        rolls = ((row.group, row.kind) for row in self._world.tables.kinds)
        is_ours = target.is_source or (target.group, target.kind) in rolls
        return is_ours or target.namespace != home

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
        if lacking := await self._mark(one):
            return lacking
        if found_turn.write:
            before = one.status.target
            if before and one.removes and not before.is_the_place_of(written):
                await self.let_go(one)
                found = await self._writer.read(found.resource, found.target)
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

    async def _mark(self, one: Injection) -> Verdict | None:
        """A value that has to be removed some day holds its Injection until it is."""
        if one.removes is (FINALIZER in one.finalizers):
            return None
        try:
            await self._objects.finalize(one, hold=one.removes)
        except Forbidden:
            return Verdict(
                Reason.FORBIDDEN,
                "deletionPolicy: Remove needs a finalizer: grant `patch` on injections.reroll.dev",
            )
        return None

    async def let_go(self, one: Injection) -> bool:
        """Give back the field that was written last; whether there was something to give."""
        before = one.status.target
        if before is None:
            return False
        resource = await self._targets.served(before)
        return resource is not None and await self._writer.release(one, resource, before)


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
    if passes(cause):
        return Verdict(Reason.FAILED, f"{found.target} could not be written to yet: {said}")
    return Verdict(Reason.REJECTED, f"the API server refused the value for {found.target}: {said}")


def passes(cause: ApiError) -> bool:
    """Whether the API server may well say something else in a while."""
    # A value that does not fit the schema is a 500 of server-side apply.
    return isinstance(cause, Throttled) or (isinstance(cause, Unavailable) and cause.status != 500)


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
