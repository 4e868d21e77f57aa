"""The canaries that there are, as watches tell of them: which workload each is of, how it goes.

A canary is known by its label, its name and its owner; it is never a workload itself. What is here
follows from the objects, so every replica knows the same after every restart.
"""

from collections.abc import Callable, Iterator
from datetime import datetime

import msgspec

from reroll.clock import Clock
from reroll.core.model.canary import canary_name
from reroll.core.model.key import Key
from reroll.core.model.metadata import Manifest
from reroll.core.observe.diagnosis import Diagnosis
from reroll.core.observe.snapshot import CanaryFacts, RolloutFacts
from reroll.core.observe.workload import Workload, latest, owner_of
from reroll.core.policy.policy import Policy
from reroll.core.revisions.pins import write_pins
from reroll.core.revisions.templates import template_pins
from reroll.core.tables.annotations import CANARY, CANARY_OF
from reroll.core.tables.catalog import Tables
from reroll.core.tables.kinds import Canary as By
from reroll.core.tables.kinds import Kind
from reroll.engine.health import HealthIndex


def is_within(kind: Kind, workload: Workload, policy: Policy) -> bool:
    """Whether a canary is, was or may be within the workload itself, so its own health matters."""
    if kind.canary is not By.PARTITION:
        return False
    record = latest(workload)
    return policy.canary.is_asked or (record is not None and record.canary is not None)


def staged_facts(
    workload: Workload, rollout: RolloutFacts | None, diagnosis: Diagnosis | None
) -> CanaryFacts | None:
    """The canary within a workload, whose rollout is that of the workload."""
    record = latest(workload)
    canary = record.canary if record else None
    if canary is None or canary.within is None:
        return None
    return CanaryFacts(
        canary.of, canary.at, canary.within.new, rollout=rollout, diagnosis=diagnosis
    )


class Canary(msgspec.Struct, frozen=True, gc=False):
    """One canary, as it was last seen."""

    key: Key
    uid: str
    version: int
    labels: dict[str, str]
    facts: CanaryFacts
    read_at: datetime | None = None
    diagnosis: Diagnosis | None = None


class Canaries:
    """`wake(workload)`: something about its canary changed."""

    def __init__(
        self, clock: Clock, tables: Tables, health: HealthIndex, wake: Callable[[Key], None]
    ) -> None:
        self._clock, self._tables, self._health, self._wake = clock, tables, health, wake
        self._known: dict[Key, Canary] = {}
        """By workload."""
        self._owners: dict[Key, Key] = {}

    def observe(self, kind: Kind, manifest: Manifest) -> bool:
        """Whether it is a canary, and so no workload."""
        metadata = manifest.metadata
        labels = metadata.labels or {}
        if CANARY not in labels or kind.canary is not By.BESIDE:
            return False
        key = Key(kind.name, metadata.namespace, metadata.name)
        owner = owner_of(metadata, self._tables)
        if owner is None or key.name != canary_name(owner.name):
            return True  # Nobody's any more: it is left to whoever made it so.
        known = self._known.get(owner)
        if known and known.uid == metadata.uid and 0 < metadata.version < known.version:
            return True
        if known is None or known.uid != metadata.uid:
            known = None
            self._health.forget(key)
        pins = template_pins(kind, manifest)
        facts = CanaryFacts(
            of=(metadata.annotations or {}).get(CANARY_OF, ""),
            made=metadata.creation_timestamp or self._clock.now(),
            pins=write_pins(pins.pins) if pins else "",
            is_going=metadata.deletion_timestamp is not None,
        )
        is_news = self._health.fold(kind, key, manifest, judged=True)
        is_news = is_news or known is None or known.facts != facts
        fresh = Canary(key, metadata.uid, metadata.version, labels, facts)
        if known:
            fresh = msgspec.structs.replace(fresh, read_at=known.read_at, diagnosis=known.diagnosis)
        self._known[owner], self._owners[key] = fresh, owner
        if is_news:
            self._wake(owner)
        return True

    def gone(self, key: Key) -> None:
        """A Deployment is gone: it may have been a canary."""
        owner = self._owners.pop(key, None)
        if owner is not None:
            self._health.forget(key)
            self._known.pop(owner, None)
            self._wake(owner)

    def keys(self) -> Iterator[Key]:
        return iter(tuple(self._owners))

    def of(self, workload: Key) -> Canary | None:
        return self._known.get(workload)

    def was_read(self, workload: Key, diagnosis: Diagnosis | None) -> None:
        """Its pods were read; `None`: they may not be."""
        if known := self._known.get(workload):
            now = self._clock.now()
            self._known[workload] = msgspec.structs.replace(known, read_at=now, diagnosis=diagnosis)

    def facts(self, workload: Key) -> CanaryFacts | None:
        known = self._known.get(workload)
        if known is None:
            return None
        watched = self._health.watched(known.key)
        if watched is None:
            return known.facts
        rollout = RolloutFacts(
            watched.health,
            watched.done_since,
            watched.failed_since,
            watched.progressed_at,
            read_at=known.read_at,
            grew_at=watched.grew_at,
        )
        diagnosis = known.diagnosis if rollout.is_read else None
        return msgspec.structs.replace(known.facts, rollout=rollout, diagnosis=diagnosis)
