"""The state of the cluster, as much of it as matters: opted-in workloads and what they refer to.

Watch events are folded in here, and each says only which workloads to look at again (`wake`).
Nothing is kept of a workload that did not opt in, nor of a source that nobody refers to. One event
loop, so no locks; every method here is synchronous.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import timedelta
from typing import NamedTuple

import msgspec

from reroll.clock import Clock
from reroll.core.dialects.rows import PolicyInput
from reroll.core.model.key import Key
from reroll.core.model.metadata import Manifest, Metadata
from reroll.core.model.record import Record
from reroll.core.observe.snapshot import Keys, Snapshot
from reroll.core.observe.workload import Workload, belongs_to_workload, workload
from reroll.core.policy.policy import Policy
from reroll.core.tables.annotations import ENABLED, STATE
from reroll.core.tables.kinds import Kind
from reroll.engine.copies import Copies
from reroll.engine.health import HealthIndex
from reroll.engine.lenders import Lenders
from reroll.engine.overlap import Overlap
from reroll.engine.reach import consented, unreachable
from reroll.engine.references import References
from reroll.engine.scope import NOWHERE, NamespaceInfo, Namespaces, Scope
from reroll.engine.tracked import Tracked, copies_of, has_leftovers, is_news
from reroll.engine.wants import DigestKeys, NamespaceWorkloads, Want


class _Arrival(NamedTuple):
    """How the world came to know a state of a workload."""

    urgent: bool
    watched: bool
    expected: tuple[int, str] | None


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
        self._supposed: set[Key] = set()
        self.latest = 0
        """The highest version of any workload that was seen."""
        self.one_store = True
        """Whether versions of different kinds can be compared, see `stores`."""
        self._subscribers: dict[str, Callable[[Key], None]] = {}
        self._clock = clock
        self._scope = scope
        self.dialects, self.tables = scope.dialects, scope.tables
        self._wake, self._changed = wake, wake
        self.lenders = Lenders(self.dialects.words, want)
        self.health = HealthIndex()
        self.overlap = Overlap(lambda: want(DigestKeys()))
        self.copies = Copies(lambda key: wake(key, True), want)
        self.references = References(
            scope,
            self.workloads,
            digest_keys,
            want=want,
            notice=self._notice,
            wake=lambda key: wake(key, True),
        )
        self.sources = self.references.sources

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
        if self.health.is_followed(key):
            self.health.fold(kind, key, manifest)
        tracked = self.workloads.get(key)
        if tracked is not None and 0 < metadata.version < tracked.workload.version + watched:
            # Older, or what a patch of ours was answered with: its echo brings nothing new.
            return
        info = self.namespaces.that_counts(metadata.namespace)
        if self.lends(kind, manifest):
            self._untrack(key)
            return
        annotations = self.lenders.annotations(key, metadata.annotations or {})
        counts = info is not None and self._scope.workloads.matches(metadata.labels or {})
        may_be_in = counts and (
            self._may_be_in(annotations, info or NOWHERE, manifest) or self._has_pins(metadata)
        )
        if not may_be_in and key not in self._supposed:
            self._untrack(key)
            return
        if tracked is None and belongs_to_workload(metadata, self.tables):
            return
        self._track(kind, key, manifest, tracked, _Arrival(urgent, watched, expected))

    def suppose(self, keys: Iterable[Key]) -> None:
        """Keep these workloads as if they were opted in, whether or not they are."""
        self._supposed.update(keys)

    def workload_gone(self, key: Key) -> None:
        self.health.forget(key)
        self.lenders.forget(key)
        self._untrack(key)

    def _untrack(self, key: Key) -> None:
        tracked = self.workloads.pop(key, None)
        if tracked is not None:
            self.references.forget(key, tracked)
            self.health.forget(key)
            self.overlap.forget(key)
            self.copies.use(key, copies_of(tracked.workload), {})
            self._wake(key, False)  # Whoever remembers something about it can forget that.

    def _may_be_in(
        self, annotations: Mapping[str, str], info: NamespaceInfo, manifest: Manifest
    ) -> bool:
        """The quick answer, before anything is decoded. A bad value is looked at more closely."""
        said = self.dialects.may_be_in(annotations, info.annotations, manifest.spec)
        return bool(self._scope.default.enabled) if said is None else said

    def _has_pins(self, metadata: Metadata) -> bool:
        """Whether copies are left of it to look after, though it may not be in any more."""
        record = (metadata.annotations or {}).get(STATE, "")
        return '"pins":' in record or bool(self.copies.owned_by(metadata.uid))

    def _track(
        self,
        kind: Kind,
        key: Key,
        manifest: Manifest,
        tracked: Tracked | None,
        arrival: _Arrival,
    ) -> None:
        before, words = tracked.workload if tracked else None, self.dialects.words
        now = workload(kind, manifest, before, words=words, watched=arrival.watched)
        info = self.namespaces.that_counts(key.namespace) or NOWHERE
        told = self._told(kind, now, info)
        own = {k: v for k, v in told.workload.items() if k != STATE}
        judged = own, told.template, info.annotations
        same = tracked is not None and tracked.judged == judged
        policy = tracked.policy if tracked and same else self._policy(told)
        is_left = has_leftovers(policy) or self._has_pins(manifest.metadata)
        if policy.enabled is not True and not is_left and key not in self._supposed:
            self._untrack(key)
            return
        is_linked = before is not None and same and now.uses == before.uses
        refs = tracked.references if tracked and is_linked else self.references.of(now, policy)
        if tracked is None:
            # One that is opted in by another object is adopted as of when that object said so.
            since = max(now.seen, info.since, self.lenders.since(key))
            now = msgspec.structs.replace(now, seen=since)
            tracked = self.workloads[key] = Tracked(now, policy)
        news = before is None or is_news(before, now, arrival.expected)
        news = news or tracked.policy != policy or tracked.references != refs
        if not is_linked:  # Without references too: a glob that matches nothing yet is one.
            self.references.use(key, tracked, policy, refs)
        if before is None or before.pins != now.pins:
            self.copies.use(key, copies_of(before), copies_of(now))
        if isinstance(now.record, Record) and now.record.rolled:
            self.health.fold(kind, key, manifest, rolled=True)
        tracked.workload, tracked.policy, tracked.judged = now, policy, judged
        if before is None or before.record_text != now.record_text:
            tracked.record_changed(before, self._clock.now())
            if before is not None:
                tracked.handovers += self.overlap.record_changed(before, now, self.keys)
        if news:
            self._wake(key, arrival.urgent)

    def policy_of(self, kind: Kind, manifest: Manifest) -> Policy:
        """What annotations and settings say of any workload, kept here or not."""
        seen = workload(kind, manifest, None, words=self.dialects.words)
        info = self.namespaces.that_counts(seen.key.namespace)
        counts = info and self._scope.workloads.matches(manifest.metadata.labels or {})
        if info is None or not counts:
            return Policy()
        return self.dialects.policy(self._told(kind, seen, info))

    def _told(self, kind: Kind, seen: Workload, info: NamespaceInfo) -> PolicyInput:
        own = self.lenders.annotations(seen.key, seen.annotations)
        below = seen.template_annotations
        return PolicyInput(seen.key, kind, own, below, info.annotations, self._scope.default)

    def _policy(self, told: PolicyInput) -> Policy:
        found = self.dialects.policy(told)
        if found.enabled is not True and told.key in self._supposed:
            enabled = {**told.workload, ENABLED: "true"}
            supposed = self.dialects.policy(told._replace(workload=enabled))
            problems = found.problems
            found = msgspec.structs.replace(supposed, enabled=found.enabled, problems=problems)
        if self._scope.at_once:
            found = msgspec.structs.replace(found, debounce=timedelta())
        return found

    def lends(self, kind: Kind, manifest: Manifest) -> bool:
        """Whether it runs the template of another workload, which is told."""
        metadata = manifest.metadata
        counts = kind.borrows_template and self.namespaces.that_counts(metadata.namespace)
        key = Key(kind.name, metadata.namespace, metadata.name)
        return bool(counts) and self.lenders.lend(kind, key, manifest)

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
            now = self._clock.now()
            tracked.waiting_since = tracked.waiting_since or now
            tracked.quiet_since = now
        (self._changed if changed else self._wake)(key, changed)

    # What one decision looks at

    def snapshot(self, key: Key, kind: Kind) -> Snapshot | None:
        """Everything about one workload; `None` when it is gone or no longer opted in."""
        tracked = self.workloads.get(key)
        if tracked is None:
            return None
        home = key.namespace
        refs, problems = consented(tracked.references, home, self.sources)
        refs += tuple(self.references.unexpanded(tracked))
        problems += unreachable(tracked.policy.named, home, self._scope, self.sources, refs)
        problems += self.overlap.problems(key)
        return Snapshot(
            workload=tracked.for_decisions,
            kind=kind,
            policy=tracked.policy,
            references=refs,
            sources={ref.source: self.sources.content_for(ref.source, home) for ref in refs},
            gone={ref.source: self.sources.gone_at(ref.source) for ref in refs},
            keys=self.keys,
            ordered=self.one_store,
            secrets_at=self.sources.keyed_at((ref.source for ref in refs), home),
            handovers=tracked.handovers,
            restores_at=tracked.restores_at,
            patterns=tuple(str(p) for p in tracked.policy.named if p.is_glob),
            waiting_since=tracked.waiting_since,
            quiet_since=tracked.quiet_since,
            copies_missing=self.copies.missing(copies_of(tracked.workload)),
            problems=problems,
            records_known=self.records_known and key not in self.unrecorded,
            crowded=tracked.is_crowded,
        )

    def waits(self, key: Key) -> None:
        """A change was noticed that nobody watched: its quiet time begins now."""
        tracked = self.workloads.get(key)
        if tracked is not None and tracked.waiting_since is None:
            tracked.waiting_since = self._clock.now()

    def settled(self, key: Key) -> None:
        """The workload has caught up with its sources."""
        if tracked := self.workloads.get(key):
            tracked.waiting_since = tracked.quiet_since = None

    def everything(self) -> Iterator[Key]:
        return iter(tuple(self.workloads))
