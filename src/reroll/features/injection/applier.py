"""Carries out one Injection: checks it, reads its sources, and keeps the value in its target.

Each call decides from the cluster alone, so a failed one needs no memory but the status. What
stands in the way is a `BlockedError`, with no value in it.
"""

from typing import Any

import msgspec

from reroll.core.dialects.reroll import consents
from reroll.core.model.fieldpaths import PathError, text
from reroll.core.model.injection import FINALIZER, KIND, MANAGER, Injection, Written
from reroll.core.model.metadata import Metadata
from reroll.core.tables.annotations import INJECTION_WRITERS
from reroll.core.tables.reasons import Reason
from reroll.engine.ports import EnginePort
from reroll.features.injection import decide
from reroll.features.injection.conflicts import Conflicts
from reroll.features.injection.consent import Consents, not_allowed
from reroll.features.injection.decide import TRIES, Attempt, BlockedError, Target, Verdict
from reroll.features.injection.registry import Registry
from reroll.features.injection.sources import SourceReader
from reroll.features.injection.status import StatusWriter
from reroll.features.injection.targets import TargetApis, TargetWatches, writers_of
from reroll.features.injection.values import Value, make
from reroll.features.injection.writer import FieldWriter, RefusedError, TargetObject
from reroll.kube import wire
from reroll.kube.client import Client
from reroll.kube.errors import Forbidden, NotFound
from reroll.settings.table import Settings


class Applier:
    def __init__(
        self,
        client: Client,
        settings: Settings,
        engine: EnginePort,
        registry: Registry,
        watches: TargetWatches,
        status: StatusWriter,
    ) -> None:
        self._engine, self._registry, self._watches = engine, registry, watches
        self._status, self._apis = status, TargetApis(client)
        self._sources, self._writer = SourceReader(client, engine, settings), FieldWriter(client)
        self._consents = Consents(client, engine)
        self._conflicts = Conflicts(registry, self._consents)

    async def apply(self, injection: Injection) -> Verdict:
        """Write the value if it is not in place."""
        if injection.problem:
            raise BlockedError(Reason.INVALID_INJECTION, injection.problem)
        resource = await self._apis.resource(injection.spec.to)
        target = decide.target_of(injection, namespaced=resource.namespaced)
        await self._check(injection, resource, target)
        value = make(injection, await self._sources.read(injection))
        observed = await self._observe(injection, resource, target)
        # Since that was asked, the target may have let others write to it that came first.
        self._conflicts.check_claims(injection, target, observed.metadata)
        try:
            if injection.spec.dry_run:
                return await self._try(injection, observed, value)
            return await self._keep(injection, observed, value)
        except PathError as error:
            problem = f"spec.to.path: in {target}, {error}"
            raise BlockedError(Reason.INVALID_INJECTION, problem) from None
        except NotFound:
            raise _missing(target) from None
        except RefusedError as error:
            raise _refused(error, resource, target) from None

    async def release(self, injection: Injection) -> bool:
        """Give back the field that was written last; whether it held a value of ours."""
        before = injection.status.target
        resource = await self._apis.resource_of(before) if before else None
        if before is None or resource is None:
            return False
        # The status may be anybody's: nothing is written without consent, nor removed.
        target = Target(resource.group, resource.kind, before.namespace, before.name)
        if self._consents.is_needed(target, injection.key.namespace):
            observed = await self._consents.metadata(resource, target)
            if observed is None or not _may_write(injection, observed):
                return False
        return await self._writer.release(injection, resource, before, self._was_written)

    def _was_written(self, injection: Injection, value: Any) -> bool:
        digest = injection.status.digest
        return self._engine.is_digest(digest, msgspec.json.encode(value, order="sorted"))

    # Whether it may be done

    async def _check(self, injection: Injection, resource: wire.Resource, target: Target) -> None:
        """Consent first, then who else is in the way: who may not write is in nobody's."""
        home, observed = injection.key.namespace, None
        if injection.spec.to.namespace and not resource.namespaced:
            problem = f"spec.to: a {target.kind} has no namespace; remove spec.to.namespace"
            raise BlockedError(Reason.INVALID_INJECTION, problem)
        if self._consents.is_needed(target, home):
            observed = await self._consents.metadata(resource, target)
            if observed is None and target.namespace == home:
                self._watches.leave(injection.key)
                raise _missing(target)
            if observed is None or not _may_write(injection, observed):
                self._watches.leave(injection.key)
                raise not_allowed(target, home, INJECTION_WRITERS)
        self._sources.check(injection)
        try:
            await self._consents.check_sources(injection)
        except BlockedError:
            self._registry.refuse(injection.key, refused=True)
            raise
        self._registry.refuse(injection.key, refused=False)
        await self._conflicts.check(injection, resource, target, observed)

    async def _observe(
        self, injection: Injection, resource: wire.Resource, target: Target
    ) -> TargetObject:
        """The target as it is, if it exists and still lets the Injection write to it."""
        home = injection.key.namespace
        needed = self._consents.is_needed(target, home)
        try:
            observed = await self._writer.read(resource, target)
        except NotFound:
            self._apis.forget(resource)
            if not needed:
                self._watches.follow(injection.key, resource, target, None)
                raise _missing(target) from None
            raise not_allowed(target, home, INJECTION_WRITERS) from None
        except Forbidden:
            raise BlockedError(Reason.FORBIDDEN, _grant("get", resource, target)) from None
        if needed and not _may_write(injection, observed.metadata):
            self._watches.leave(injection.key)
            raise not_allowed(target, home, INJECTION_WRITERS)
        self._watches.follow(injection.key, resource, target, observed.metadata)
        return observed

    # The value in the target

    async def _try(self, injection: Injection, observed: TargetObject, value: Value) -> Verdict:
        in_place = observed.holds(injection.path, value)
        after = await self._writer.write(injection, observed, value, dry_run=True)
        _check_written(injection, after, value)
        outcome = "is already there" if in_place else "would be written"
        return Verdict(Reason.DRY_RUN, f"{_described(injection, observed, value)} {outcome}")

    async def _keep(self, injection: Injection, observed: TargetObject, value: Value) -> Verdict:
        written = observed.written(injection.path)
        digest = self._engine.digest(msgspec.json.encode(value.desired, order="sorted"))
        field = observed.state(injection, value)
        attempt = decide.attempt(injection.status, written, digest, injection.generation, field)
        if not attempt.write and not field.in_place:
            raise _taken_back(injection, observed, attempt)
        await self._update_finalizer(injection)
        if attempt.write:
            await self._write(injection, observed, value, written)
        return Verdict(
            Reason.INJECTED,
            _described(injection, observed, value) + self._consequence(injection, observed.target),
            target=written,
            digest=digest,
            taken_back=attempt.taken_back,
            wrote=attempt.write,
        )

    async def _write(
        self, injection: Injection, observed: TargetObject, value: Value, written: Written
    ) -> None:
        before, resource, target = injection.status.target, observed.resource, observed.target
        if before and injection.removes and not before.is_same_field(written):
            await self.release(injection)
            observed = await self._writer.read(resource, target)
        after = await self._writer.write(injection, observed, value)
        _check_written(injection, after, value)
        if writers_of(after.metadata) == writers_of(observed.metadata):
            self._watches.follow(injection.key, resource, target, after.metadata)

    async def _update_finalizer(self, injection: Injection) -> None:
        """A value that must be removed some day holds its Injection until then."""
        if injection.removes is (FINALIZER in injection.finalizers):
            return
        try:
            await self._status.set_finalizer(injection, hold=injection.removes)
        except Forbidden:
            raise BlockedError(
                Reason.FORBIDDEN,
                "deletionPolicy: Remove needs a finalizer: grant `patch` on injections.reroll.dev",
            ) from None

    def _consequence(self, injection: Injection, target: Target) -> str:
        """The workloads that roll because of what is written; those of its namespace by name."""
        users = self._engine.users(target.key) if target.is_source else []
        workloads = [key for key in users if key.kind != KIND]
        named = [str(key) for key in workloads if key.namespace == injection.key.namespace]
        words = named[:5] or ["workloads of another namespace"]
        return f", which is a source of {', '.join(words)}" if workloads else ""


def _described(injection: Injection, observed: TargetObject, value: Value) -> str:
    return f"{decide.describe(value.desired)} at {text(injection.path)} of {observed.target}"


def _check_written(injection: Injection, after: TargetObject, value: Value) -> None:
    """The API server drops fields that a schema does not know without an error."""
    if not after.holds(injection.path, value):
        raise BlockedError(
            Reason.REJECTED,
            f"the API server dropped or changed what was written to {text(injection.path)} of "
            f"{after.target}; its schema has no such field, or an admission plugin changed it",
        )


def _taken_back(injection: Injection, observed: TargetObject, attempt: Attempt) -> BlockedError:
    owners = observed.head.owners(injection.path)
    home = injection.key.namespace
    names = ", ".join(_manager(owner.manager, home) for owner in owners) or "no field manager"
    return BlockedError(
        Reason.TAKEN_BACK,
        f"{text(injection.path)} of {observed.target} was taken back {TRIES + 1} times and is now "
        f"owned by {names}; stop writing it there, then change this Injection or its source",
        attempt.taken_back,
    )


def _grant(verb: str, resource: wire.Resource, target: Target) -> str:
    where = f" in namespace {target.namespace}" if target.namespace else ""
    action = "read" if verb == "get" else "written"
    verbs = "`get`, `list`, `watch` and `patch`"  # All at once: each is asked for sooner or later.
    return f"{target} may not be {action}: grant {verbs} on {resource.full_name}{where}"


def _manager(name: str, home: str) -> str:
    """A field manager as people of one namespace may see it."""
    is_theirs = name.startswith(MANAGER) and not name.startswith(f"{MANAGER}{home}/")
    return "an Injection of another namespace" if is_theirs else name


def _missing(target: Target) -> BlockedError:
    return BlockedError(Reason.TARGET_MISSING, f"{target} does not exist")


def _may_write(injection: Injection, observed: Metadata) -> bool:
    return consents(observed.annotations, injection.key.namespace, INJECTION_WRITERS)


def _refused(error: RefusedError, resource: wire.Resource, target: Target) -> BlockedError:
    words = error.words
    sentences = {
        Reason.FORBIDDEN: f"{_grant('patch', resource, target)} ({words})",
        Reason.FAILED: f"{target} could not be written yet: {words}",
        Reason.REJECTED: f"the API server refused the value for {target}: {words}",
    }
    return BlockedError(error.reason, sentences[error.reason])
