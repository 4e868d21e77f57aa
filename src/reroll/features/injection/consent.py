"""What owners of objects let Injections of a namespace do, read from metadata and nothing else.

To read a source and to write to a target are two consents, each an annotation of the object
concerned, and neither follows from the other or from the consent to be named by workloads.
"""

from collections.abc import Iterable

from reroll.core.dialects.reroll import consents
from reroll.core.model.injection import Injection
from reroll.core.model.key import Key
from reroll.core.model.metadata import Metadata
from reroll.core.tables.annotations import INJECTION_READERS, INJECTION_WRITERS
from reroll.core.tables.reasons import Reason
from reroll.core.tables.source_kinds import SOURCE_KINDS
from reroll.engine.ports import EnginePort
from reroll.features.injection.decide import BlockedError, Consent, Target
from reroll.kube import api, resources, wire
from reroll.kube.client import Client
from reroll.kube.errors import Forbidden
from reroll.kube.objects import Stub

_RESOURCES = {row.name: resources.of(row) for row in SOURCE_KINDS}
_VERBS = {INJECTION_READERS: "read it", INJECTION_WRITERS: "write to it"}


class Consents:
    def __init__(self, client: Client, engine: EnginePort) -> None:
        self._client, self._engine = client, engine

    def is_needed(self, target: Target, home: str) -> bool:
        """Whether a target must let Injections of a namespace write to it.

        The controller may write to sources and to what it rolls for reasons of its own.
        """
        is_ours = target.is_source or self._engine.rolls(target.group, target.kind)
        return is_ours or target.namespace != home

    async def metadata(self, resource: wire.Resource, target: Target) -> Metadata | None:
        """The metadata of an object; `None` if it does not exist.

        A list, because no count of its answers tells whether the object exists.
        """
        namespace, name = target.namespace or None, target.name
        try:
            found = await api.every(
                self._client, resource, namespace, Stub, field_selector=f"metadata.name={name}"
            )
        except Forbidden:
            stub = await api.find(self._client, resource, namespace, name, Stub)
            return stub.metadata if stub else None
        return found[0].metadata if found else None

    async def check_sources(self, injection: Injection) -> None:
        """`BlockedError` if a source of another namespace does not let the Injection read it."""
        home = injection.key.namespace
        for source in sorted(injection.sources):
            if source.namespace != home:
                consent = Consent(source, home, INJECTION_READERS)
                if not await self.is_given(consent):
                    raise not_allowed(source, home, INJECTION_READERS)

    async def is_given(self, consent: Consent) -> bool:
        """Whether a source gives a consent."""
        kind, namespace, name = consent.of
        target = Target("", kind, namespace, name)
        found = await self.metadata(_RESOURCES[kind], target)
        return found is not None and consents(
            found.annotations, consent.namespace, consent.annotation
        )

    async def first_refused(self, needed: Iterable[Consent], given: set[Consent]) -> Consent | None:
        """The first consent that is not given; those that are become part of `given`."""
        for consent in needed:
            if consent not in given:
                if not await self.is_given(consent):
                    return consent
                given.add(consent)
        return None


def not_allowed(what: Key | Target, home: str, annotation: str) -> BlockedError:
    """In another namespace the same whether it exists: its author may not know that."""
    missing = "" if what.namespace == home else "does not exist, or "
    return BlockedError(
        Reason.NOT_ALLOWED,
        f"{what} {missing}does not let Injections of namespace {home} {_VERBS[annotation]}; its "
        f"owner must annotate it with {annotation}: {home!r}",
    )
