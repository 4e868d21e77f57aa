"""The state of the cluster, as much of it as matters: opted-in workloads and what they refer to.

Watch events are folded in here, and each says only which workloads to look at again (`wake`). Of a
workload that did not opt in, or a source that nobody refers to, nothing is kept. No method waits.
"""

from collections.abc import Callable, Iterable
from datetime import datetime

import msgspec

from reroll.clock import Clock
from reroll.core.model.key import Key
from reroll.core.model.metadata import Manifest, Metadata
from reroll.core.model.record import Record
from reroll.core.model.timing import Hold
from reroll.core.observe.health import Health, State
from reroll.core.observe.snapshot import Keys, Snapshot
from reroll.core.observe.workload import belongs_to_workload, has_spec_of, workload
from reroll.core.policy.policy import Policy
from reroll.core.tables.annotations import STATE
from reroll.core.tables.kinds import Kind
from reroll.engine.canaries import Canaries, is_within
from reroll.engine.copies import Copies
from reroll.engine.effort import Effort, of_links, of_spec
from reroll.engine.health import HealthIndex
from reroll.engine.lenders import Lenders
from reroll.engine.overlap import Overlap
from reroll.engine.policies import Policies
from reroll.engine.propagation import Propagation, with_propagation
from reroll.engine.put_by import PutBy
from reroll.engine.references import References
from reroll.engine.scope import NOWHERE, Namespaces, Scope
from reroll.engine.snapshots import standing
from reroll.engine.tracked import Arrival, Tracked, copies_of, has_leftovers, is_news
from reroll.engine.wants import DigestKeys, NamespaceWorkloads, Want, WorkloadState


class World:
    """`wake(key, urgent)`: look at a workload. `want(…)`: read what no watch brings."""

    def __init__(
        self,
        clock: Clock,
        scope: Scope,
        digest_keys: Key,
        *,
        wake: Callable[[Key, bool], None],
        want: Callable[[Want], None],
    ) -> None:
        self.workloads: dict[Key, Tracked] = {}
        self.namespaces = Namespaces(scope, lambda name: want(NamespaceWorkloads(name)))
        self.keys = Keys()
        self.records_known = False
        """Records that other writers removed are known, see `engine.record_backup`."""
        self.unrecorded: set[Key] = set()
        """Except for these: they may have had one."""
        self.latest = 0
        """The highest version of any workload that was seen."""
        self.one_store = True
        """Whether versions of different kinds can be compared, see `stores`."""
        self.hold: Hold | None = None
        """Somebody holds everything, see `engine.cluster_hold`."""
        self._subscribers: dict[str, Callable[[Key], None]] = {}
        self._clock, self.scope = clock, scope
        self.dialects, self.tables = scope.dialects, scope.tables
        self._wake, self._changed = wake, wake
        self._completed: Callable[[Key], None] = lambda _: None
        self.lenders = Lenders(self.dialects.words, want)
        self.policies = Policies(scope, self.lenders)
        self.health, at_once = HealthIndex(clock), lambda key: wake(key, True)
        self.canaries = Canaries(clock, self.tables, self.health, at_once)
        self.effort = Effort(lambda key: want(WorkloadState(key)))
        self.overlap = Overlap(lambda: want(DigestKeys()))
        self.copies, self.put_by = Copies(at_once, want), PutBy()
        self.references = References(
            scope,
            self.workloads,
            digest_keys,
            want=want,
            notice=self._notice,
            wake=self._relinked,
        )
        self.sources = self.references.sources
        self.propagation = Propagation(self, scope, at_once)

    # Workloads

    def workload_seen(
        self,
        kind: Kind,
        manifest: Manifest,
        *,
        urgent: bool = True,
        watched: bool = False,
        expected: tuple[int, str] | None = None,
    ) -> None:
        """`watched`: it is the very next version after the one seen before.

        `expected`: the generation and the record that are no news to whoever tells.
        """
        metadata = manifest.metadata
        self.latest = max(self.latest, metadata.version)
        if not metadata.namespace:
            return  # A configured kind that is in no namespace, which is told when it is watched.
        key = Key(kind.name, metadata.namespace, metadata.name)
        if self.put_by.covers(key, metadata.version):
            return
        if self.health.is_followed(key):
            self.health.fold(kind, key, manifest)
        tracked = self.workloads.get(key)
        if tracked is not None and 0 < metadata.version < tracked.workload.version + watched:
            return  # Older, or the echo of a patch of ours, which brings nothing new.
        if self.lends(kind, manifest):
            self._untrack(key)
            self._lent(kind, key, manifest)
            return
        if not self.may_be_in(key, manifest):
            self._untrack(key)
            return
        if tracked is None and belongs_to_workload(metadata, self.tables):
            return
        self._track(kind, key, manifest, tracked, Arrival(urgent, watched, expected))

    def may_be_in(self, key: Key, manifest: Manifest) -> bool:
        """Whether a workload is to be looked at more closely."""
        info = self.namespaces.that_counts(key.namespace)
        return self.policies.may_be_in(key, info, manifest, self._has_pins)

    def workload_gone(self, key: Key) -> None:
        self.put_by.forget(key)
        self.health.forget(key)
        self.lenders.forget(key)
        self.effort.forget(key)
        self._untrack(key)

    def _untrack(self, key: Key) -> None:
        tracked = self.workloads.pop(key, None)
        if tracked is not None:
            self.references.forget(key, tracked)
            self.health.forget(key)
            self.overlap.forget(key)
            self.copies.use(key, copies_of(tracked.workload), {})
            self.propagation.drop(key)
            self._wake(key, False)  # Whoever remembers something about it can forget that.

    def _has_pins(self, metadata: Metadata) -> bool:
        """Whether copies are left of it to look after, though it may not be in any more."""
        record = (metadata.annotations or {}).get(STATE, "")
        return '"pins":' in record or bool(self.copies.owned_by(metadata.uid))

    def _track(
        self, kind: Kind, key: Key, manifest: Manifest, tracked: Tracked | None, arrival: Arrival
    ) -> None:
        before, words = tracked.workload if tracked else None, self.dialects.words
        was_out = self.references.room.is_out(key)
        known = msgspec.structs.replace(before, generation=0) if before and was_out else before
        now = workload(kind, manifest, known, words=words, watched=arrival.watched)
        if not has_spec_of(known, manifest):
            self.effort.spend(key.namespace, of_spec(now, manifest))
        info = self.namespaces.that_counts(key.namespace) or NOWHERE
        told = self.policies.input(kind, now, info, manifest)
        judged = self.policies.judged(told)
        same = tracked is not None and tracked.judged == judged
        policy = tracked.policy if tracked and same else self.policies.policy(told)
        is_left = has_leftovers(policy) or self._has_pins(manifest.metadata)
        if policy.enabled is not True and not is_left and key not in self.policies.supposed:
            self._untrack(key)
            return
        is_linked = before is not None and same and now.uses == before.uses
        refs = tracked.references if tracked else ()
        if not is_linked:
            now, refs = self.references.fit(now, policy)
        if tracked is None:
            # One that is opted in by another object is adopted as of when that object said so.
            since = max(now.seen, info.since, self.lenders.since(key))
            now = msgspec.structs.replace(now, seen=since)
            tracked = self.workloads[key] = Tracked(now, policy)
        news = before is None or is_news(before, now, arrival.expected)
        news = news or tracked.policy != policy or tracked.references != refs
        news = news or was_out != self.references.room.is_out(key)
        if not is_linked:  # Without references too: a glob that matches nothing yet is one.
            self.references.use(key, tracked, policy, refs)
        if before is None or before.pins != now.pins:
            self.copies.use(key, copies_of(before), copies_of(now))
        tracked.workload, tracked.policy = now, policy
        tracked.judged = None if self.references.room.is_out(key) else judged
        if before is None or before.record_text != now.record_text:
            tracked.record_changed(before, self._clock.now(), watched=arrival.watched)
            if before is not None:
                tracked.handovers += self.overlap.record_changed(before, now, self.keys)
        news |= self._fold(kind, key, manifest, tracked)
        self.effort.spend(
            key.namespace, of_links(tracked, is_linked, self.propagation.governs(key))
        )
        if news:
            self._wake(key, arrival.urgent)

    def _fold(self, kind: Kind, key: Key, manifest: Manifest, tracked: Tracked) -> bool:
        """How its rollout goes, and what follows from that; whether a verdict may depend on it."""
        is_judged, record = self._is_judged(kind, tracked), tracked.workload.record
        rolled = isinstance(record, Record) and record.rolled is not None
        is_left = getattr(record, "todo", None) is not None  # Such a roll is no new generation.
        before = self.health.get(key)
        news = self.health.fold(kind, key, manifest, rolled=rolled, judged=is_judged or is_left)
        self.propagation.refresh(key)
        if not is_judged and self.propagation.governs(key):
            news = self.health.fold(kind, key, manifest, judged=True)
            self.propagation.refresh(key)
        return news and (self._is_judged(kind, tracked) or self._is_over(key, before, is_left))

    def _is_judged(self, kind: Kind, tracked: Tracked) -> bool:
        one = tracked.workload
        return self.propagation.governs(one.key) or is_within(kind, one, tracked.policy)

    def _is_over(self, key: Key, before: Health | None, is_left: bool) -> bool:
        """Whether a rollout that nobody judges failed, or recovered; that one succeeded is told."""
        now = self.health.get(key)
        if now is None or before is None or now.state is before.state:
            return False
        if now.state is State.DONE and not before.is_over and not is_left:
            self._completed(key)
        return State.FAILED in {now.state, before.state}

    def _relinked(self, key: Key) -> None:
        self.propagation.refresh(key)
        self._wake(key, True)

    def policy_of(self, kind: Kind, manifest: Manifest) -> Policy:
        """What annotations and settings say of any workload, kept here or not."""
        seen = workload(kind, manifest, None, words=self.dialects.words)
        info = self.namespaces.that_counts(seen.key.namespace)
        return self.policies.of(kind, seen, info, manifest)

    def lends(self, kind: Kind, manifest: Manifest) -> bool:
        """Whether it runs the template of another workload, which is told."""
        metadata = manifest.metadata
        counts = kind.borrows_template and self.namespaces.that_counts(metadata.namespace)
        key = Key(kind.name, metadata.namespace, metadata.name)
        return bool(counts) and self.lenders.lend(kind, key, manifest)

    def _lent(self, kind: Kind, key: Key, manifest: Manifest) -> None:
        """How the rollout of a Deployment goes whose template another workload runs."""
        borrower = self.lenders.borrower(key)
        if borrower is None or not self.propagation.governs(borrower):
            return
        if self.health.fold(kind, key, manifest, judged=True):
            self.propagation.refresh(borrower)
            self._wake(borrower, True)

    # Sources

    def rekey(self, keyring: dict[str, bytes], keys: Keys) -> None:
        """Digest Secrets with these keys from now on."""
        for key in self.overlap.confirm(keys):
            self._wake(key, False)
        if keyring == self.sources.keyring and keys == self.keys:
            return
        self.keys = keys
        self.sources.rekey(keyring)
        for key, tracked in self.workloads.items():
            tracked.handovers = 0
            self._wake(key, False)

    def may_be_old(self, key: Key, sources: Iterable[Key]) -> list[Key]:
        """Of these, the sources that whoever wrote the workload's record may have seen newer."""
        tracked = self.workloads.get(key)
        if not self.one_store:
            return list(sources)
        return self.sources.older_than(tracked.recorded, sources) if tracked else []

    def subscribe(self, kind: str, wake: Callable[[Key], None]) -> None:
        """Have `wake(user)` called when a source changes that an object of this kind uses."""
        self._subscribers[kind] = wake

    def on_complete(self, completed: Callable[[Key], None]) -> None:
        """Call `completed(key)` when a rollout is complete that nobody judges."""
        self._completed = completed

    def on_change(self, changed: Callable[[Key, bool], None]) -> None:
        """Call `changed(key, urgent)` instead of `wake` when what a workload uses changes."""
        self._changed = changed

    def _notice(self, key: Key, changed: bool) -> None:
        tracked = self.workloads.get(key)
        if tracked is None:
            if wake := self._subscribers.get(key.kind):
                wake(key)
            return
        if changed:
            tracked.source_changed(self._clock.now())
        self.propagation.refresh(key)
        (self._changed if changed else self._wake)(key, changed)

    # What one decision looks at

    def snapshot(self, key: Key, kind: Kind) -> Snapshot | None:
        """Everything about one workload; `None` when it is gone or no longer opted in."""
        found = self.standing(key, kind)
        if found is None or not found.governed:
            return found
        return with_propagation(found, self.propagation)

    def standing(self, key: Key, kind: Kind | None = None) -> Snapshot | None:
        """That, without what it has to know of other workloads."""
        tracked = self.workloads.get(key)
        return standing(self, tracked, kind or self.tables.by_name[key.kind]) if tracked else None

    def waits(self, key: Key) -> None:
        """A change was noticed that nobody watched: its quiet time begins now."""
        tracked = self.workloads.get(key)
        if tracked is not None and tracked.waiting_since is None:
            tracked.waiting_since = self._clock.now()

    def settled(self, key: Key, quiet_since: datetime | None) -> None:
        """It has caught up with what its sources held when the last change of them was noticed."""
        if tracked := self.workloads.get(key):
            is_last = tracked.quiet_since == quiet_since
            tracked.waiting_since = None if is_last else tracked.quiet_since
            tracked.quiet_since = tracked.waiting_since
