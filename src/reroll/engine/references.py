"""Which sources the workloads refer to: by name, by their template, and by glob.

A source that nobody knew may be matched by a glob of any workload; what each glob matches is looked
up once, and from then on kept current by the watches.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import attrgetter

import msgspec

from reroll.core.model.key import Key
from reroll.core.model.reference import Reference
from reroll.core.observe.snapshot import Absence
from reroll.core.observe.workload import Workload
from reroll.core.policy.patterns import Pattern
from reroll.core.policy.policy import Policy
from reroll.core.policy.select import claimed, claimed_source
from reroll.core.tables import limits
from reroll.engine.globs import Globs, place_of
from reroll.engine.room import Room
from reroll.engine.scope import Scope
from reroll.engine.sources import Sources
from reroll.engine.tracked import Tracked
from reroll.engine.wants import GlobMatches, Want, WorkloadState

KEPT = limits.SOURCES.number + 1
"""References of one workload: one more than it may have shows that it has too many."""
CHARACTERS = 256
"""Of annotations: they take as much room as a source."""
_source = attrgetter("source")


class References:
    """`notice(user, changed)`: what a workload uses changed. `wake(user)`: its globs are known."""

    def __init__(
        self,
        scope: Scope,
        workloads: Mapping[Key, Tracked],
        digest_keys: Key,
        *,
        want: Callable[[Want], None],
        notice: Callable[[Key, bool], None],
        wake: Callable[[Key], None],
    ) -> None:
        self._scope, self._workloads, self._wake = scope, workloads, wake
        self._want = want
        self._globs, self.room = Globs(), Room()
        self.sources = Sources(
            scope,
            self._globs,
            digest_keys,
            want=want,
            notice=notice,
            references=self,
        )

    def of(self, workload: Workload, policy: Policy) -> tuple[Reference, ...]:
        home = workload.key.namespace
        named = {Key(use.kind, home, use.name) for use in workload.uses}
        named |= {key for pattern in policy.named for key in self._named(pattern, home)}
        if len(named) > limits.SOURCES.number:
            named = set()  # It is held, whatever its globs mean.

        def matching(pattern: Pattern) -> Iterable[Key]:
            return self._matching(pattern, home, named)

        return claimed(home, workload.uses, policy, matching)[:KEPT]

    def _named(self, pattern: Pattern, home: str) -> tuple[Key, ...]:
        if pattern.is_glob or self._scope.is_out_of_reach(pattern):
            return ()
        return (Key(pattern.kind, pattern.namespace or home, pattern.name),)

    def _matching(self, pattern: Pattern, home: str, named: set[Key]) -> Iterable[Key]:
        """`named`: what the workload names itself, which need not be known yet."""
        if not pattern.is_glob or self._scope.is_out_of_reach(pattern):
            return self._named(pattern, home)
        there = named.union(self.sources.of(*place_of(pattern, home)))
        return [
            source
            for source in there
            if pattern.matches(source, home)
            and (source in named or self.sources.lets(source, home))
        ]

    def fit(self, now: Workload, policy: Policy) -> tuple[Workload, tuple[Reference, ...]]:
        """A workload and its references, as far as its namespace has room for it."""
        key, refs, was_out = now.key, self.of(now, policy), self.room.is_out(now.key)
        text = sum(map(len, now.annotations.values())) // CHARACTERS
        if self.room.admits(key, len(now.uses) + len(refs) + text, self._globs_of(policy)):
            if was_out:
                self._let_in(key.namespace)
            return now, refs
        return msgspec.structs.replace(now, uses=(), annotations={}), ()

    def _globs_of(self, policy: Policy) -> frozenset[Pattern]:
        reach = self._scope.is_out_of_reach
        return frozenset(p for p in policy.named if p.is_glob and not reach(p))

    def use(self, key: Key, tracked: Tracked, policy: Policy, refs: tuple[Reference, ...]) -> None:
        """A workload has this policy and these references now."""
        globs = () if self.room.is_out(key) else self._globs_of(policy)
        for want in self._globs.use(key, globs):
            self.sources.expand(want)
        self._link(key, tracked, refs)

    def forget(self, key: Key, tracked: Tracked) -> None:
        self._globs.forget(key)
        self._link(key, tracked, ())
        self.room.leave(key)
        self._let_in(key.namespace)

    def _let_in(self, namespace: str) -> None:
        """There may be room for one that is out: what it uses is not kept, so it is read again."""
        if waiting := self.room.first_out(namespace):
            self._want(WorkloadState(waiting))

    def _link(self, key: Key, tracked: Tracked, refs: tuple[Reference, ...]) -> None:
        """Keep the index of who uses what."""
        old = {ref.source for ref in tracked.references}
        new = [ref.source for ref in refs if ref.source not in self.sources]
        self.sources.link(key, old, {ref.source: ref for ref in refs})
        tracked.references = refs
        for source in new:
            # The glob of another workload may match it too, and it was not known before.
            self.met(source, but=key)

    # Globs

    def met(self, source: Key, but: Key | None = None) -> None:
        """Globs of those who may name a source match it, and no others; those of `but` aside."""
        for key in tuple(self._globs.users_of(source)):
            if key == but:
                continue
            change = self._add if self.sources.lets(source, key.namespace) else self._remove
            change(key, self._workloads[key], source)

    def _remove(self, key: Key, tracked: Tracked, source: Key) -> None:
        """A source does not let a workload name it any more; what is named in full stays."""
        refs, named = tracked.references, tracked.policy.named
        place = bisect_left(refs, source, key=_source)
        if place == len(refs) or refs[place].source != source:
            return
        if any(source in self._named(pattern, key.namespace) for pattern in named):
            return
        if len(refs) == KEPT:  # There are more than are kept: another one takes its place.
            self._link(key, tracked, self.of(tracked.workload, tracked.policy))
        else:
            tracked.references = (*refs[:place], *refs[place + 1 :])
            self.sources.link(key, {source}, {})
            self.room.grows(key, -1)

    def _add(self, key: Key, tracked: Tracked, source: Key) -> None:
        """One more source of a workload: its other references are as they were."""
        if len(tracked.references) >= limits.SOURCES.number:
            self._forget_missing(key, tracked)
        refs = tracked.references
        found = claimed_source(key.namespace, tracked.workload.uses, tracked.policy, source)
        if found is None or len(refs) == KEPT:
            return
        place = bisect_left(refs, source, key=_source)
        if place < len(refs) and refs[place].source == source:
            return
        if not self.room.grows(key):
            self._put_out(key, tracked)
            return
        tracked.references = (*refs[:place], found, *refs[place:])
        self.sources.add_user(key, source, found)

    def _forget_missing(self, key: Key, tracked: Tracked) -> None:
        """What only a glob means and is gone makes way: names with a hash in them come and go."""
        refs, home = tracked.references, key.namespace
        kept = {Key(use.kind, home, use.name) for use in tracked.workload.uses}
        kept |= {one for pattern in tracked.policy.named for one in self._named(pattern, home)}
        gone = {
            ref.source
            for ref in refs
            if ref.source not in kept and self.sources.content(ref.source) is Absence.MISSING
        }
        if gone:
            tracked.references = tuple(ref for ref in refs if ref.source not in gone)
            self.sources.link(key, gone, {})
            self.room.grows(key, -len(gone))
            self._wake(key)

    def _put_out(self, key: Key, tracked: Tracked) -> None:
        """Its namespace has no room for what it uses by now."""
        self._globs.forget(key)
        self._link(key, tracked, ())
        self.room.admits(key, limits.NAMESPACE_SOURCES.number + 1)
        tracked.workload = msgspec.structs.replace(tracked.workload, uses=(), annotations={})
        tracked.judged = None
        self._wake(key)

    def named_keys(self, user: Key, source: Key) -> frozenset[str]:
        tracked = self._workloads.get(user)
        refs = tracked.references if tracked else ()
        place = bisect_left(refs, source, key=_source)
        is_there = place < len(refs) and refs[place].source == source
        return refs[place].all_keys if is_there else frozenset()

    @property
    def latest_glob(self) -> int:
        """The number of the last use of a glob: a list that begins now counts up to it."""
        return self._globs.latest

    def expanded(self, want: GlobMatches, as_of: int) -> None:
        """What these globs match is known: workloads that waited for it can be decided on."""
        for key in self._globs.expanded(want, as_of):
            self._wake(key)

    def unexpanded(self, tracked: Tracked) -> Iterator[Reference]:
        """The globs of which it is not known yet what they match."""
        key = tracked.workload.key
        for pattern in tracked.policy.named:
            if self._globs.waits(key, pattern):
                yield Reference(Key(*place_of(pattern, key.namespace), pattern.name), added=True)
