"""The state of the cluster, as much of it as matters: opted-in workloads and what they refer to.

Watch events are folded in here, and each says only which workloads to look at again (`wake`).
Nothing is kept of a workload that did not opt in, nor of a source that nobody refers to. One event
loop, so no locks; every method here is synchronous.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta

import msgspec

from reroll.clock import Clock
from reroll.core.dialects.rows import Told
from reroll.core.model.key import Key
from reroll.core.model.metadata import Manifest, Metadata
from reroll.core.model.record import Record
from reroll.core.model.reference import Reference
from reroll.core.observe.snapshot import Keys, Snapshot
from reroll.core.observe.workload import Workload, belongs_to_workload, workload
from reroll.core.policy.patterns import Pattern
from reroll.core.policy.policy import Policy
from reroll.core.policy.select import claimed
from reroll.core.tables.annotations import ENABLED, STATE
from reroll.core.tables.kinds import Kind
from reroll.engine.copies import Copies
from reroll.engine.globs import Globs, place_of
from reroll.engine.health import HealthIndex
from reroll.engine.lenders import Lenders
from reroll.engine.reach import consented, unreachable
from reroll.engine.scope import NOWHERE, NamespaceInfo, Namespaces, Scope
from reroll.engine.sources import Sources
from reroll.engine.wants import NamespaceWorkloads, Want


class Tracked:
    """An opted-in workload."""

    __slots__ = (
        "judged",
        "policy",
        "quiet_since",
        "recorded",
        "references",
        "waiting_since",
        "workload",
    )

    def __init__(self, seen: Workload, policy: Policy, refs: tuple[Reference, ...]) -> None:
        self.workload = seen
        self.policy = policy
        self.references = refs
        self.recorded = 0
        """The version at which its record was first seen."""
        self.judged: tuple[Mapping[str, str], ...] | None = None
        """The annotations that the policy was made from."""
        self.waiting_since: datetime | None = None
        self.quiet_since: datetime | None = None


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
        self.supposed: set[Key] = set()
        """Workloads that are kept as if they were opted in, whether or not they are."""
        self.latest = 0
        """The highest version of any workload that was seen."""
        self.others: dict[str, Callable[[Key], None]] = {}
        """Who is told of the sources that users which are no workloads use, by their kind."""
        self._clock = clock
        self._scope = scope
        self.dialects, self.tables = scope.dialects, scope.tables
        self._wake = wake
        self._globs = Globs()
        self.lenders = Lenders(self.dialects.words, want)
        self.health = HealthIndex()
        self.copies = Copies(lambda key: wake(key, True), want)
        self.sources = Sources(
            scope,
            self._globs,
            digest_keys,
            want=want,
            notice=self._notice,
            met=self._met,
            expanded=self.expanded,
        )

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
        if not may_be_in and key not in self.supposed:
            self._untrack(key)
            return
        if tracked is None and belongs_to_workload(metadata, self.tables):
            return
        self._track(kind, key, manifest, tracked, urgent=urgent, watched=watched, expected=expected)

    def workload_gone(self, key: Key) -> None:
        self.health.forget(key)
        self.lenders.forget(key)
        self._untrack(key)

    def _untrack(self, key: Key) -> None:
        tracked = self.workloads.pop(key, None)
        if tracked is not None:
            self._globs.forget(key)
            self._link(key, tracked, ())
            self.copies.use(key, _copies(tracked.workload), {})
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
        *,
        urgent: bool,
        watched: bool,
        expected: tuple[int, str] | None,
    ) -> None:
        before = tracked.workload if tracked else None
        seen = workload(kind, manifest, before, words=self.dialects.words, watched=watched)
        info = self.namespaces.that_counts(key.namespace) or NOWHERE
        told = self._told(kind, seen, info)
        own = {k: v for k, v in told.workload.items() if k != STATE}
        judged = own, told.template, info.annotations
        if tracked is not None and tracked.judged == judged:
            found = tracked.policy
        else:
            found = self._policy(told)
        is_left = _is_left(found) or self._has_pins(manifest.metadata)
        if found.enabled is not True and not is_left and key not in self.supposed:
            self._untrack(key)
            return
        if before is not None and tracked and found is tracked.policy and seen.uses == before.uses:
            refs = tracked.references
        else:
            refs = self._references(seen, found)
        if tracked is None:
            # Whoever is opted in by another object is adopted as of when that object said so.
            since = max(seen.seen, info.since, self.lenders.since(key))
            seen = msgspec.structs.replace(seen, seen=since)
            tracked = self.workloads[key] = Tracked(seen, found, ())
        news = before is None or (
            (seen.generation, seen.record_text)
            not in ((before.generation, before.record_text), expected)
            or (before.ended, before.idle) != (seen.ended, seen.idle)
            or before.observed != seen.observed
            or tracked.policy != found
            or tracked.references != refs
        )
        if refs is not tracked.references or before is None:
            self._glob(key, found)
            self._link(key, tracked, refs)
        if before is None or before.pins != seen.pins:
            self.copies.use(key, _copies(before), _copies(seen))
        if isinstance(seen.record, Record) and seen.record.rolled:
            self.health.fold(kind, key, manifest, rolled=True)
        tracked.workload, tracked.policy, tracked.references = seen, found, refs
        tracked.judged = judged
        if before is None or before.record_text != seen.record_text:
            tracked.recorded = seen.version
        if news:
            self._wake(key, urgent)

    def policy_of(self, kind: Kind, manifest: Manifest) -> Policy:
        """What annotations and settings say of any workload, kept here or not."""
        seen = workload(kind, manifest, None, words=self.dialects.words)
        info = self.namespaces.that_counts(seen.key.namespace)
        counts = info and self._scope.workloads.matches(manifest.metadata.labels or {})
        if info is None or not counts:
            return Policy()
        return self.dialects.policy(self._told(kind, seen, info))

    def _told(self, kind: Kind, seen: Workload, info: NamespaceInfo) -> Told:
        own = self.lenders.annotations(seen.key, seen.annotations)
        below = seen.template_annotations
        return Told(seen.key, kind, own, below, info.annotations, self._scope.default)

    def _policy(self, told: Told) -> Policy:
        found = self.dialects.policy(told)
        if found.enabled is not True and told.key in self.supposed:
            enabled = {**told.workload, ENABLED: "true"}
            supposed = self.dialects.policy(told._replace(workload=enabled))
            found = msgspec.structs.replace(supposed, enabled=found.enabled)
        if self._scope.at_once:
            found = msgspec.structs.replace(found, debounce=timedelta())
        return found

    def lends(self, kind: Kind, manifest: Manifest) -> bool:
        """Whether it runs the template of another workload, which is told."""
        metadata = manifest.metadata
        counts = kind.borrows_template and self.namespaces.that_counts(metadata.namespace)
        key = Key(kind.name, metadata.namespace, metadata.name)
        return bool(counts) and self.lenders.lend(kind, key, manifest)

    # References

    def _references(self, seen: Workload, found: Policy) -> tuple[Reference, ...]:
        home = seen.key.namespace
        return claimed(home, seen.uses, found, lambda pattern: self._matching(pattern, home))

    def _matching(self, pattern: Pattern, home: str) -> list[Key]:
        if self._scope.is_out_of_reach(pattern):
            return []
        if not pattern.is_glob:
            return [Key(pattern.kind, pattern.namespace or home, pattern.name)]
        return [source for source in self.sources if pattern.matches(source, home)]

    def _glob(self, key: Key, found: Policy) -> None:
        globs = (p for p in found.named if p.is_glob and not self._scope.is_out_of_reach(p))
        for place in self._globs.use(key, globs):
            self.sources.expand(*place)

    def expanded(self, kind: str, namespace: str) -> None:
        """What globs mean in a namespace is known, so that those who use one can be decided on."""
        self._globs.unexpanded.discard((kind, namespace))
        for key in self._globs.users_in((kind, namespace)):
            self._wake(key, True)

    def _unknown(self, tracked: Tracked) -> Iterator[Reference]:
        """The globs of which it is not known yet what they mean."""
        home = tracked.workload.key.namespace
        for pattern in tracked.policy.named:
            place = place_of(pattern, home)
            if pattern.is_glob and place in self._globs.unexpanded:
                yield Reference(Key(*place, pattern.name), added=True)

    def globbed(self, source: Key) -> bool:
        """Whether some glob means this source, whether or not it is known yet."""
        return self._globs.mean(source)

    def _met(self, source: Key, but: Key | None = None) -> None:
        """Globs mean a source that nobody knew so far, those of `but` aside."""
        for key in tuple(self._globs.users_of(source)):
            if key == but:
                continue
            tracked = self.workloads[key]
            refs = self._references(tracked.workload, tracked.policy)
            self._link(key, tracked, refs)
            tracked.references = refs

    def _link(self, key: Key, tracked: Tracked, refs: tuple[Reference, ...]) -> None:
        """Keep the index of who uses what."""
        old = {ref.source for ref in tracked.references}
        new = [ref.source for ref in refs if ref.source not in self.sources]
        self.sources.link(key, old, {ref.source: ref.terms for ref in refs})
        for source in new:
            # Somebody else's glob may mean it too, and nobody knew it when that was looked at.
            self._met(source, but=key)

    # Sources

    def rekey(self, keyring: dict[str, bytes], keys: Keys) -> None:
        """Digest Secrets with these keys from now on."""
        if keyring == self.sources.keyring and keys == self.keys:
            return
        self.keys = keys
        self.sources.rekey(keyring)
        for key in self.workloads:
            self._wake(key, False)

    def may_be_old(self, key: Key, sources: Iterable[Key]) -> list[Key]:
        """Of these, the sources that whoever wrote the workload's record may have seen newer."""
        tracked = self.workloads.get(key)
        return self.sources.older_than(tracked.recorded, sources) if tracked else []

    def _notice(self, key: Key, changed: bool) -> None:
        tracked = self.workloads.get(key)
        if tracked is None:
            if other := self.others.get(key.kind):
                other(key)
            return
        if changed:
            now = self._clock.now()
            tracked.waiting_since = tracked.waiting_since or now
            tracked.quiet_since = now
        self._wake(key, changed)

    # What one decision looks at

    def snapshot(self, key: Key, kind: Kind) -> Snapshot | None:
        """Everything about one workload; `None` when it is gone or no longer opted in."""
        tracked = self.workloads.get(key)
        if tracked is None:
            return None
        home = key.namespace
        refs, problems = consented(tracked.references, home, self.sources)
        refs += tuple(self._unknown(tracked))
        problems += unreachable(tracked.policy.named, home, self._scope, self.sources, refs)
        return Snapshot(
            workload=tracked.workload,
            kind=kind,
            policy=tracked.policy,
            references=refs,
            sources={ref.source: self.sources.content(ref.source) for ref in refs},
            gone={ref.source: self.sources.gone_at(ref.source) for ref in refs},
            keys=self.keys,
            patterns=tuple(str(p) for p in tracked.policy.named if p.is_glob),
            waiting_since=tracked.waiting_since,
            quiet_since=tracked.quiet_since,
            copies_missing=self.copies.missing(_copies(tracked.workload)),
            problems=problems,
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


def _copies(seen: Workload | None) -> dict[Key, Key]:
    """The copies that its template names, and what they are copies of."""
    if seen is None or not seen.pins:
        return {}
    home = seen.key.namespace
    return {
        Key(kind, home, copy): Key(kind, home, name) for (kind, name), copy in seen.pins.items()
    }


def _is_left(found: Policy) -> bool:
    """Whether there is something to tell, or to bring to its end, of one that is not in."""
    return bool(found.problems or found.repair or (found.pause and found.pause.since))
