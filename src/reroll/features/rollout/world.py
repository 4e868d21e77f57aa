"""The state of the cluster, as much of it as matters: opted-in workloads and what they refer to.

Watch events are folded in here, and each says only which workloads to look at again (`wake`).
Nothing is kept of a workload that did not opt in, nor of a source that nobody refers to. One event
loop, so no locks; every method here is synchronous.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from fnmatch import fnmatchcase

import msgspec

from reroll.clock import Clock
from reroll.core import policy as policies
from reroll.core.kinds import SOURCE_KINDS, Kind, SourceKind
from reroll.core.objects import Content, Key, Moment, Problem, Reference
from reroll.core.patterns import Pattern
from reroll.core.plan import Absence, Keys, Snapshot
from reroll.core.policy import Policy
from reroll.core.reasons import Reason
from reroll.core.references import references
from reroll.core.selectors import Selector
from reroll.core.workloads import Manifest, Metadata, Workload, belongs_to_workload, workload
from reroll.features.rollout.content import Source, changed_at, content


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
        self.judged: tuple[Mapping[str, str], Mapping[str, str]] | None = None
        """The annotations that the policy was made from: its own and its Namespace's."""
        self.waiting_since: datetime | None = None
        self.quiet_since: datetime | None = None


class Known:
    """A source that somebody refers to."""

    __slots__ = ("as_of", "content", "gone", "uid", "unsure_since", "users", "version")

    def __init__(self) -> None:
        self.users: set[Key] = set()
        self.content: Content | Absence = Absence.UNREAD
        self.uid = ""
        self.version = 0
        self.as_of = 0
        """Up to this version of the store, nothing newer than `version` was there."""
        self.gone = 0
        """The version at which it was deleted; 0 if it is there, or nobody knows."""
        self.unsure_since = 0
        """The content may have changed after this version of it."""


class NamespaceInfo(msgspec.Struct, frozen=True, gc=False):
    annotations: dict[str, str]
    included: bool = True
    since: int = 0
    """The version of the Namespace that said so first."""


class Lender(msgspec.Struct, frozen=True, gc=False):
    """A Rollout that runs a Deployment's template, and what its annotations say about it."""

    key: Key
    annotations: dict[str, str]
    since: int = 0


class Scope(msgspec.Struct, frozen=True):
    """Which namespaces count, and what their workloads do unless they say otherwise."""

    default: Policy
    namespaces: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    selector: Selector = Selector()
    workloads: Selector = Selector()
    sources: Selector = Selector()


_NOWHERE = NamespaceInfo({})
_KEYED = frozenset(row.name for row in SOURCE_KINDS if row.keyed)
_PLURALS = {row.name: row.plural_to_watch for row in SOURCE_KINDS}
_API_VERSIONS = {
    row.name: f"{row.group}/{row.version}" if row.group else row.version for row in SOURCE_KINDS
}


class World:
    """`wake(key, urgent)`: look at a workload. `read(key)`: what no watch brings, see `Reader`."""

    def __init__(
        self,
        clock: Clock,
        scope: Scope,
        *,
        wake: Callable[[Key, bool], None],
        read: Callable[[Key], None],
    ) -> None:
        self.workloads: dict[Key, Tracked] = {}
        self.sources: dict[Key, Known] = {}
        self.namespaces: dict[str, NamespaceInfo] = {}
        self.keyring: dict[str, bytes] = {}
        self.keys = Keys()
        self.digest_key: Key | None = None
        self.latest = 0
        """The highest version of any workload that was seen."""
        self._clock = clock
        self._scope = scope
        self._wake, self._read = wake, read
        self._globs: dict[tuple[str, str], dict[Pattern, set[Key]]] = {}
        self._unexpanded: set[tuple[str, str]] = set()
        self._lenders: dict[Key, Lender] = {}
        self._refused: set[tuple[str, str | None]] = set()

    # Namespaces

    def namespace_seen(self, metadata: Metadata) -> None:
        name = metadata.name
        annotations = policies.of_our_domain(metadata.annotations or {})
        included = self._scope.selector.matches(metadata.labels or {})
        known, before = self.namespaces.get(name), self._namespace(name)
        if known is not None and (known.annotations, known.included) == (annotations, included):
            return
        self.namespaces[name] = NamespaceInfo(annotations, included, metadata.version)
        after = self._namespace(name)
        # Its workloads may have been heard of before it was.
        if (before and before.annotations) != (after and after.annotations):
            self._read(Key("Namespace", "", name))

    def namespace_gone(self, name: str) -> None:
        self.namespaces.pop(name, None)

    def counts(self, namespace: str) -> bool:
        """Whether workloads of a namespace are looked after."""
        return self._namespace(namespace) is not None

    def _namespace(self, name: str) -> NamespaceInfo | None:
        """What is known of a namespace that counts; `None` if it does not count."""
        if any(fnmatchcase(name, glob) for glob in self._scope.exclude):
            return None
        if self._scope.namespaces and name not in self._scope.namespaces:
            return None
        info = self.namespaces.get(name)
        if info is None:
            return None if self._scope.selector.requirements else _NOWHERE
        return info if info.included else None

    # Workloads

    def workload_seen(
        self, kind: Kind, manifest: Manifest, *, urgent: bool = True, watched: bool = False
    ) -> None:
        """`watched`: it is the very next version after the one seen before."""
        metadata = manifest.metadata
        self.latest = max(self.latest, metadata.version)
        key = Key(kind.name, metadata.namespace, metadata.name)
        tracked = self.workloads.get(key)
        if tracked is not None and 0 < metadata.version < tracked.workload.version + watched:
            # Older, or what a patch of ours was answered with: its echo brings nothing new.
            return
        info = self._namespace(metadata.namespace)
        if kind.borrows_template and info is not None and self._lend(kind, key, manifest):
            self._untrack(key)
            return
        annotations = self._annotations(key, metadata.annotations or {})
        counts = info is not None and self._scope.workloads.matches(metadata.labels or {})
        if info is None or not counts or not self._is_enabled(annotations, info):
            self._untrack(key)
            return
        if tracked is None and belongs_to_workload(metadata):
            return
        self._track(kind, key, manifest, tracked, urgent=urgent, watched=watched)

    def workload_gone(self, key: Key) -> None:
        self._lend_no_more(key)
        self._untrack(key)

    def _untrack(self, key: Key) -> None:
        tracked = self.workloads.pop(key, None)
        if tracked is not None:
            self._unglob(key)
            self._link(key, tracked, ())

    def _is_enabled(self, annotations: Mapping[str, str], info: NamespaceInfo) -> bool:
        """The quick answer, before anything is decoded. A bad value is looked at more closely."""
        text = annotations.get(policies.ENABLED, info.annotations.get(policies.ENABLED))
        if text is None:
            return bool(self._scope.default.enabled)
        return text.strip().lower() != "false"

    def _track(
        self,
        kind: Kind,
        key: Key,
        manifest: Manifest,
        tracked: Tracked | None,
        *,
        urgent: bool,
        watched: bool,
    ) -> None:
        before = tracked.workload if tracked else None
        seen = workload(kind, manifest, before, watched=watched)
        info = self._namespace(key.namespace) or _NOWHERE
        annotations = self._annotations(key, seen.annotations)
        judged = {k: v for k, v in annotations.items() if k != policies.STATE}, info.annotations
        if tracked is not None and tracked.judged == judged:
            found = tracked.policy
        else:
            default = policies.usual(self._scope.default, kind)
            found = policies.policy(annotations, info.annotations, default, key)
            found = policies.for_kind(found, kind, key)
        if before is not None and tracked and found is tracked.policy and seen.uses == before.uses:
            refs = tracked.references
        else:
            refs = self._references(seen, found)
        if tracked is None:
            # Whoever is opted in by another object is adopted as of when that object said so.
            lender = self._lenders.get(key)
            since = max(seen.seen, info.since, lender.since if lender else 0)
            seen = msgspec.structs.replace(seen, seen=since)
            tracked = self.workloads[key] = Tracked(seen, found, ())
        news = before is None or (
            (before.generation, before.record_text, before.ended)
            != (seen.generation, seen.record_text, seen.ended)
            or tracked.policy != found
            or tracked.references != refs
        )
        if refs is not tracked.references or before is None:
            self._glob(key, found)
            self._link(key, tracked, refs)
        tracked.workload, tracked.policy, tracked.references = seen, found, refs
        tracked.judged = judged
        if before is None or before.record_text != seen.record_text:
            tracked.recorded = seen.version
        if news:
            self._wake(key, urgent)

    def _annotations(self, key: Key, own: Mapping[str, str]) -> Mapping[str, str]:
        """Its own, over those of the Rollout that runs its template."""
        lender = self._lenders.get(key)
        return {**lender.annotations, **own} if lender else own

    def _lend(self, kind: Kind, key: Key, manifest: Manifest) -> bool:
        """A Rollout with `workloadRef` lends its annotations to the Deployment it refers to.

        Then that Deployment is the workload, and the Rollout itself is none.
        """
        seen = workload(kind, manifest, None)
        if not seen.borrows:
            self._lend_no_more(key)
            return False
        borrower = Key("Deployment", key.namespace, seen.borrows)
        self._lend_no_more(key, but=borrower)
        lent = {k: v for k, v in seen.annotations.items() if k != policies.STATE}
        known = self._lenders.get(borrower)
        if known is None or (known.key, known.annotations) != (key, lent):
            self._lenders[borrower] = Lender(key, lent, manifest.metadata.version)
            self._read(borrower)
        return True

    def runner(self, key: Key) -> Key:
        """What runs the pods of a template: its own workload, or the Rollout that borrows it."""
        lender = self._lenders.get(key)
        return lender.key if lender else key

    def _lend_no_more(self, lender: Key, but: Key | None = None) -> None:
        lent = [b for b, known in self._lenders.items() if known.key == lender and b != but]
        for borrower in lent:
            del self._lenders[borrower]
            self._read(borrower)

    # References

    def _references(self, seen: Workload, found: Policy) -> tuple[Reference, ...]:
        home = seen.key.namespace
        refs = {
            ref.source: ref
            for ref in references(home, seen.uses, mounts_are_live=found.mounts_are_live)
        }
        for pattern in found.sources:
            for source in self._matching(pattern, home):
                refs[source] = _joined(refs.get(source), source, pattern)
        return policies.without_ignored(tuple(refs[key] for key in sorted(refs)), found, home)

    def _matching(self, pattern: Pattern, home: str) -> list[Key]:
        if self._is_out_of_reach(pattern):
            return []
        if not pattern.is_glob:
            return [Key(pattern.kind, pattern.namespace or home, pattern.name)]
        return [source for source in self.sources if pattern.matches(source, home)]

    def _is_out_of_reach(self, pattern: Pattern) -> bool:
        """Whether it means a namespace that no watch tells about."""
        reach = self._scope.namespaces
        return bool(reach and pattern.namespace) and pattern.namespace not in reach

    def _glob(self, key: Key, found: Policy) -> None:
        wanted = {p for p in found.sources if p.is_glob and not self._is_out_of_reach(p)}
        if not wanted and not self._globs:
            return
        self._unglob(key, keep=wanted)
        for pattern in wanted:
            place = (pattern.kind, pattern.namespace or key.namespace)
            users = self._globs.setdefault(place, {}).setdefault(pattern, set())
            if key not in users:
                users.add(key)
                self._unexpanded.add(place)
                self._want(Key(*place, ""))

    def _unglob(self, key: Key, keep: Iterable[Pattern] = ()) -> None:
        for place, by_pattern in list(self._globs.items()):
            for pattern, users in list(by_pattern.items()):
                if pattern not in keep:
                    users.discard(key)
                if not users:
                    del by_pattern[pattern]
            if not by_pattern:
                del self._globs[place]

    def expanded(self, kind: str, namespace: str) -> None:
        """What globs mean in a namespace is known, so that those who use one can be decided on."""
        self._unexpanded.discard((kind, namespace))
        for users in self._globs.get((kind, namespace), {}).values():
            for key in users:
                self._wake(key, True)

    def _unknown(self, tracked: Tracked) -> Iterator[Reference]:
        """The globs of which it is not known yet what they mean."""
        home = tracked.workload.key.namespace
        for pattern in tracked.policy.sources:
            place = (pattern.kind, pattern.namespace or home)
            if pattern.is_glob and place in self._unexpanded:
                yield Reference(Key(*place, pattern.name), added=True)

    def globbed(self, source: Key) -> bool:
        """Whether some glob means this source, whether or not it is known yet."""
        patterns = self._globs.get((source.kind, source.namespace))
        return any(fnmatchcase(source.name, pattern.name) for pattern in patterns or ())

    def _meet(self, source: Key) -> Known | None:
        """A source that nobody referred to so far: known from now on, if a glob means it."""
        if not self._globs or not self.globbed(source):
            return None
        known = self.sources[source] = Known()
        for pattern, users in self._globs[source.kind, source.namespace].items():
            if fnmatchcase(source.name, pattern.name):
                for key in users:
                    tracked = self.workloads[key]
                    refs = self._references(tracked.workload, tracked.policy)
                    self._link(key, tracked, refs)
                    tracked.references = refs
        return known

    def _link(self, key: Key, tracked: Tracked, refs: tuple[Reference, ...]) -> None:
        """Keep the index of who uses what, both ways."""
        old = {ref.source for ref in tracked.references}
        new = {ref.source for ref in refs}
        for source in new - old:
            known = self.sources.get(source)
            if known is None:
                known = self.sources[source] = Known()
                self._want(source)
            known.users.add(key)
        for source in old - new:
            known = self.sources.get(source)
            if known is not None:
                known.users.discard(key)
                if not known.users and not self.globbed(source):
                    del self.sources[source]

    # Sources

    def refused(self, kind: str, namespace: str | None) -> None:
        """Sources of a kind may not be watched, in one namespace or in any."""
        self._refused.add((kind, namespace))
        for key in self.known_of(kind, namespace):
            self.sources[key].version = 0
            self.content_seen(key, Absence.FORBIDDEN, 0)
        for place in [p for p in self._unexpanded if self._is_refused(*p)]:
            self.expanded(*place)

    def allowed(self, kind: str, namespace: str | None) -> None:
        self._refused.discard((kind, namespace))

    def _is_refused(self, kind: str, namespace: str) -> bool:
        return not self._refused.isdisjoint({(kind, namespace), (kind, None)})

    def _want(self, source: Key) -> None:
        """Have a source read, or (without a name) what globs mean, unless that is not allowed."""
        if not self._is_refused(source.kind, source.namespace):
            self._read(source)
        elif source.name:
            self.content_seen(source, Absence.FORBIDDEN, 0)
        else:
            self.expanded(source.kind, source.namespace)

    def source_version_seen(self, key: Key, version: int, *, watched: bool) -> None:
        """Its metadata changed: if somebody refers to it, its content must be read again."""
        if key == self.digest_key:
            self._read(key)
        known = self.sources.get(key) or self._meet(key)
        if known is None or 0 < version <= known.version:
            return
        is_read = known.content is not Absence.UNREAD
        if watched and is_read and known.unsure_since == known.version:
            known.unsure_since = version - 1
        self._read(key)

    def source_seen(self, kind: SourceKind, source: Source, *, watched: bool) -> None:
        """Its content, out of a watch or fetched. `watched`: the version before was seen too."""
        metadata = source.metadata
        key = Key(kind.name, metadata.namespace, metadata.name)
        known = self.sources.get(key) or self._meet(key)
        if known is None or 0 < metadata.version < known.version:
            return
        known.uid = metadata.uid
        keyring = self.keyring if kind.keyed else None
        after = metadata.version - 1 if watched else known.unsure_since
        moment = Moment(after, metadata.version, changed_at(metadata))
        new = content(source, keyring, moment)
        if not self._scope.sources.matches(metadata.labels or {}):
            new = msgspec.structs.replace(new, ignored=True)
        self.content_seen(key, new, metadata.version)

    def rekey(self, keyring: dict[str, bytes], keys: Keys) -> None:
        """Digest with these keys from now on; Secrets are read again, to be digested with each."""
        if keyring == self.keyring and keys == self.keys:
            return
        self.keyring, self.keys = keyring, keys
        for key, known in self.sources.items():
            if key.kind in _KEYED:
                known.version = 0
                self._read(key)
        for key in self.workloads:
            self._wake(key, False)

    def content_seen(self, key: Key, new: Content | Absence, version: int) -> None:
        known = self.sources.get(key) or self._meet(key)
        if known is None or 0 < version < known.version:
            return
        old = known.content
        known.version = known.unsure_since = max(version, known.version)
        known.as_of = max(version, known.as_of)
        if isinstance(new, Content) and isinstance(old, Content):
            if _is_same(old, new):
                # Only labels or annotations: when its content changed stays as it was.
                new = msgspec.structs.replace(
                    new,
                    changed=old.changed,
                    changed_keys=old.changed_keys,
                    created=old.created,
                )
            else:
                keys = _changed_keys(old, new)
                new = msgspec.structs.replace(new, changed_keys=keys, created=False)
        if new == old:
            return
        known.content = new
        known.gone = version if new is Absence.MISSING else 0
        first = old is Absence.UNREAD
        for user in known.users:
            self._notice(user, changed=not first)

    def version(self, key: Key) -> int:
        """The last version of a source that was seen whole; 0 if none was."""
        known = self.sources.get(key)
        return known.version if known else 0

    def identity(self, key: Key) -> tuple[str, str]:
        """The apiVersion of a source, and its uid if it was seen."""
        known = self.sources.get(key)
        return _API_VERSIONS[key.kind], known.uid if known else ""

    def confirmed(self, key: Key, version: int) -> None:
        """What is known of a source was so at this version of the store."""
        if known := self.sources.get(key):
            known.as_of = max(version, known.as_of)

    def may_be_old(self, key: Key, sources: Iterable[Key]) -> list[Key]:
        """Of these, the sources that whoever wrote the workload's record may have seen newer."""
        tracked = self.workloads.get(key)
        found = [(source, self.sources.get(source)) for source in sources]
        return [s for s, known in found if tracked and known and known.as_of < tracked.recorded]

    def source_gone(self, key: Key, version: int) -> None:
        if key in self.sources:
            self.content_seen(key, Absence.MISSING, version)

    def _notice(self, key: Key, *, changed: bool) -> None:
        tracked = self.workloads.get(key)
        if tracked is None:
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
        refs, problems = self._consented(tracked)
        problems += self._unreachable(tracked)
        refs += tuple(self._unknown(tracked))
        return Snapshot(
            workload=tracked.workload,
            kind=kind,
            policy=tracked.policy,
            references=refs,
            sources={ref.source: self._content(ref.source) for ref in refs},
            gone={ref.source: self._gone(ref.source) for ref in refs},
            keys=self.keys,
            patterns=tuple(str(p) for p in tracked.policy.sources if p.is_glob),
            waiting_since=tracked.waiting_since,
            quiet_since=tracked.quiet_since,
            problems=problems,
        )

    def _content(self, source: Key) -> Content | Absence:
        known = self.sources.get(source)
        return known.content if known else Absence.UNREAD

    def _gone(self, source: Key) -> int:
        """The version after which a source was missing; 0 if it is there, or nobody knows."""
        known = self.sources.get(source)
        return known.gone if known else 0

    def _consented(self, tracked: Tracked) -> tuple[tuple[Reference, ...], tuple[Problem, ...]]:
        """Without the sources of other namespaces that do not let this one refer to them."""
        home = tracked.workload.key.namespace
        kept, problems = [], []
        for ref in tracked.references:
            there = self._content(ref.source)
            if there is Absence.FORBIDDEN:
                problems.append(_forbidden(ref.source, ref.source.kind))
            elif isinstance(there, Content) and there.problem:
                where = f"annotation {policies.IGNORE} on {ref.source}"
                problems.append(Problem(f"{where}: {there.problem}"))
            if ref.source.namespace == home or there is Absence.UNREAD or _allows(there, home):
                kept.append(ref)
            elif isinstance(there, Content):
                problems.append(
                    Problem(
                        f"{ref.source} does not let namespace {home} refer to it; annotate it with "
                        f"{policies.ALLOW_FROM}: {home!r}"
                    )
                )
        return tuple(kept), tuple(problems)

    def _unreachable(self, tracked: Tracked) -> tuple[Problem, ...]:
        """Patterns that mean what is not watched, because of a setting or a missing right."""
        home = tracked.workload.key.namespace
        problems = []
        for pattern in tracked.policy.sources:
            if self._is_out_of_reach(pattern):
                problems.append(
                    Problem(
                        f"{pattern} is in a namespace that is not watched; add "
                        f"{pattern.namespace} to --namespaces"
                    )
                )
            elif pattern.is_glob and self._is_refused(pattern.kind, pattern.namespace or home):
                problems.append(_forbidden(pattern, pattern.kind))
        return tuple(problems)

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

    def known_of(self, kind: str, namespace: str | None = None) -> Iterator[Key]:
        """The sources of a kind that somebody refers to."""
        for key in tuple(self.sources):
            if key.kind == kind and namespace in {None, key.namespace}:
                yield key


def _allows(source: Content | Absence, namespace: str) -> bool:
    return isinstance(source, Content) and any(
        fnmatchcase(namespace, glob) for glob in source.allow_from
    )


def _forbidden(what: object, kind: str) -> Problem:
    reason = Reason.SOURCE_FORBIDDEN
    return Problem(
        f"{what} may not be read, so its changes roll nothing; grant `get`, `list` and `watch` on "
        f"{_PLURALS[kind]}",
        reason,
    )


def _joined(ref: Reference | None, source: Key, pattern: Pattern) -> Reference:
    """What the template uses of a source, together with what an annotation adds."""
    keys = frozenset((pattern.key,)) if pattern.key else None
    glob = str(pattern) if pattern.is_glob else ""
    if ref is None:
        return Reference(source, keys=keys, added=True, pattern=glob)
    if ref.keys is None or keys is None:
        return msgspec.structs.replace(ref, keys=None)
    return msgspec.structs.replace(ref, keys=ref.keys | keys)


def _is_same(old: Content, new: Content) -> bool:
    """Whether the values are the same, as far as a common HMAC key can tell."""
    common = old.digests.keys() & new.digests.keys()
    return all(old.digests[key_id] == new.digests[key_id] for key_id in common)


def _changed_keys(old: Content, new: Content) -> frozenset[str]:
    for key_id, after in new.digests.items():
        before = old.digests.get(key_id)
        if before is not None:
            names = before.keys() | after.keys()
            return frozenset(name for name in names if before.get(name) != after.get(name))
    return frozenset()
