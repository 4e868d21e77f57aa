"""Sources that somebody refers to: what they hold, since when, and who uses them.

Of a source there are digests and versions here, never content. A source that nobody refers to is
not kept, unless a glob means it.
"""

from collections.abc import Callable, Mapping

import msgspec

from reroll.core.dialects.reroll import lets, namespaces_in
from reroll.core.model.content import Content
from reroll.core.model.digest import Pieces, at_once
from reroll.core.model.key import Key
from reroll.core.model.metadata import Metadata
from reroll.core.model.moment import Moment
from reroll.core.model.reference import Reference
from reroll.core.observe.snapshot import Absence
from reroll.core.revisions.copies import is_our_own
from reroll.core.tables.annotations import ALLOW_FROM
from reroll.core.tables.source_kinds import SourceKind, Watched
from reroll.engine.content import (
    Source,
    Wanted,
    changed_at,
    content_in_pieces,
    is_wide,
    mounted_content,
)
from reroll.engine.fanout import Fanout
from reroll.engine.globs import Expanding, Globs
from reroll.engine.scope import Scope
from reroll.engine.source_index import SourceIndex
from reroll.engine.source_state import SourceState, concerns, continued, paced
from reroll.engine.wants import DigestKeys, GlobMatches, MountReports, Want


class Sources(SourceIndex):
    """`want(…)`: have it read. `notice(user, changed)`: look at a workload that uses it."""

    def __init__(
        self,
        scope: Scope,
        globs: Globs,
        digest_keys: Key,
        *,
        want: Callable[[Want], None],
        notice: Callable[[Key, bool], None],
        references: Expanding,
    ) -> None:
        super().__init__(scope.tables.sources_by_name)
        self._scope, self._globs, self.digest_keys = scope, globs, digest_keys
        self._want, self._notice, self._references = want, notice, references
        self._refused: set[tuple[str, str | None]] = set()
        self.fanout = Fanout(self.content_seen)

    # Who uses what

    def link(self, user: Key, old: set[Key], new: Mapping[Key, Reference]) -> None:
        """A workload used the sources `old`, and uses `new` now, as these references say."""
        for source, reference in new.items():
            self.add_user(user, source, reference)
        for source in old - new.keys():
            known = self._known.get(source)
            if known is not None:
                known.users.discard(user)
                # One that is gone is met anew if it comes back, whatever means it.
                is_gone = known.content is Absence.MISSING
                if not known.users and (is_gone or not self._globs.mean(source, known.allowed)):
                    self._known.drop(source)
                    self.paced.discard(source)

    def add_user(self, user: Key, source: Key, reference: Reference) -> None:
        """A workload uses one more source."""
        known, is_new = self._known.get(source), False
        if known is None:
            known, is_new = self._known.add(source), True
            known.asker = "" if user.namespace == source.namespace else user.namespace
        elif known.asker and user.namespace == source.namespace:
            # Who has it in their own namespace does not wait behind others that name it.
            known.asker, is_new = "", not known.is_read
        lacks = known.agree(reference.terms) | known.lacks(reference) and known.is_read
        if is_new or lacks | known.closed:
            self.want(source)
        known.users.add(user)

    def _find(self, source: Key, metadata: Metadata | None = None) -> SourceState | None:
        """What is known of it; one that nobody referred to is known now, if a glob means it.

        No glob means copies: what they are copies of is a source already. And none means what does
        not let its namespace name it: the number of sources would tell of it.
        """
        known, allowed = self._known.get(source), _allowed(metadata)
        if known is None:
            if (metadata and is_our_own(metadata)) or not self._globs.mean(source, allowed):
                return None
            known = self._known.add(source)
        elif known.allowed == allowed:
            return known
        known.allowed = allowed
        self._references.met(source)
        return known

    def opens(self, source: Key, annotations: Mapping[str, str] | None) -> bool:
        """Whether a source with these annotations lets one of its users use it.

        If not, it is as if it did not exist, and nothing of it is read.
        """
        known, strangers = self._known.get(source), self.strangers(source)
        closed = bool(strangers) and not any(lets(annotations, user) for user in strangers)
        if known is not None:
            known.closed = closed
            if closed:
                self.content_seen(source, Absence.MISSING, 0)
        return not closed

    # Rights

    def refused(self, kind: str, namespace: str | None) -> None:
        """Sources of a kind may not be watched, in one namespace or in any."""
        self._refused.add((kind, namespace))
        for key in self.of(kind, namespace):
            self._known[key].version = 0
            self.content_seen(key, Absence.FORBIDDEN, 0)
        for want in self._globs.unexpanded():
            if self.is_refused(want.kind, want.namespace):
                self._references.expanded(want, self._globs.latest)

    def allowed(self, kind: str, namespace: str | None) -> None:
        """They may be: what was refused is read, for a watch that goes on tells only of changes."""
        if (kind, namespace) not in self._refused:
            return
        self._refused.remove((kind, namespace))
        for key in self.of(kind, namespace):
            if self._known[key].content is Absence.FORBIDDEN:
                self.want(key)

    def is_refused(self, kind: str, namespace: str) -> bool:
        return not self._refused.isdisjoint({(kind, namespace), (kind, None)})

    def want(self, source: Key) -> None:
        """Have a source read, unless that is not allowed."""
        if self.is_refused(source.kind, source.namespace):
            self.content_seen(source, Absence.FORBIDDEN, 0)
        else:
            self._read(source)

    def expand(self, want: GlobMatches) -> None:
        """Find out what globs match in a namespace, unless that is not allowed."""
        if self.is_refused(want.kind, want.namespace):
            self._references.expanded(want, self._globs.latest)
        else:
            self._want(want)

    def _read(self, source: Key) -> None:
        is_mounted = self.rows[source.kind].watched is Watched.STATUSES
        self._want(MountReports(source) if is_mounted else self.content_of(source))

    # What is seen of them

    def metadata_seen(self, key: Key, metadata: Metadata, *, watched: bool) -> None:
        """Its metadata changed: if somebody refers to it, its content must be read again."""
        if key == self.digest_keys:
            self._want(DigestKeys())
        known, version = self._find(key, metadata), metadata.version
        if known is None or 0 < version <= known.version:
            return
        if not self.opens(key, metadata.annotations):
            return
        is_read = known.content is not Absence.UNREAD
        if watched and is_read and known.unsure_since == known.version:
            known.unsure_since = version - 1
        known.told = version
        self._read(key)

    def source_seen(self, kind: SourceKind, source: Source, *, watched: bool) -> None:
        """Its content, out of a watch. One with very many keys is read, in its turn."""
        metadata = source.metadata
        key = Key(kind.name, metadata.namespace, metadata.name)
        known = self._find(key, metadata)
        if known is None:
            return
        known.is_read_later = not kind.paths and is_wide(source)
        if known.is_read_later:
            self.metadata_seen(key, metadata, watched=watched)
        else:
            self.observe(kind, source, watched=watched)

    def observe(self, kind: SourceKind, source: Source, *, watched: bool) -> None:
        """Its content, out of a watch or fetched. `watched`: the version before was seen too."""
        at_once(self.observe_in_pieces(kind, source, watched=watched))

    def observe_in_pieces(self, kind: SourceKind, source: Source, *, watched: bool) -> Pieces[None]:
        """As `observe`, with breaks where it has very many keys."""
        metadata = source.metadata
        key = Key(kind.name, metadata.namespace, metadata.name)
        known = self._find(key, metadata)
        if known is None or 0 < metadata.version < known.version:
            return
        if not self.opens(key, metadata.annotations):
            return
        known.uid = metadata.uid
        keyring = self.keyring if kind.keyed else None
        after = metadata.version - 1 if watched else known.unsure_since
        moment = Moment(after, metadata.version, changed_at(metadata))
        wanted = Wanted(known.hashed, self._named_keys(key, known))
        dialects = self._scope.dialects
        new = yield from content_in_pieces(source, keyring, moment, dialects, wanted, kind)
        new = paced(new, metadata.annotations, self._scope.default_for_source(key))
        if not self._scope.sources.matches(metadata.labels or {}):
            new = msgspec.structs.replace(new, ignored=True)
        if new.wholes and not new.knows(wanted.named()):
            self._read(key)  # Another user came in a break.
        if not (watched and self.fanout.put_off(key, new, metadata.version)):
            self.content_seen(key, new, metadata.version)

    def _named_keys(self, key: Key, known: SourceState) -> Callable[[], frozenset[str]]:
        """Asked for only where a source has too many keys to keep a digest of each."""
        ask = self._references.named_keys
        return lambda: frozenset[str]().union(*{ask(user, key) for user in known.users})

    def mounts_seen(
        self, key: Key, versions: Callable[[], Mapping[str, str]], moment: Moment
    ) -> None:
        """What pods have mounted of a class; asked for only if somebody refers to it."""
        known = self._find(key)
        if known is None:
            return
        if known.asked and known.marks is None:
            self._read(key)
            return
        before = known.content
        wanted = Wanted(known.hashed, self._named_keys(key, known))
        new = mounted_content(key, versions(), moment, self._scope.dialects, wanted)
        new = paced(new, None, self._scope.default_for_source(key))
        marks = known.marks or frozenset()
        self.content_seen(key, msgspec.structs.replace(new, marks=marks), moment.by)
        if known.asked and known.content is not before:
            self._read(key)

    def annotations_seen(self, key: Key, annotations: Mapping[str, str]) -> None:
        """What a source says of which no watch brings the annotations."""
        if known := self._known.get(key):
            known.marks = self._scope.dialects.source_marks(annotations)

    def content_seen(self, key: Key, new: Content | Absence, version: int) -> None:
        known = self._known.get(key)
        if known is None or 0 < version < known.version:
            return
        if isinstance(new, Content) and self.is_refused(key.kind, key.namespace):
            # Asked for before the watch was refused: nobody would tell when it changes.
            new, version = Absence.FORBIDDEN, 0
        old = known.content
        known.version = known.unsure_since = max(version, known.version)
        known.as_of = max(version, known.as_of)
        if isinstance(new, Content) and isinstance(old, Content):
            new = continued(old, new)
        if new == old:
            return
        known.content = new
        is_paced = isinstance(new, Content) and new.pace is not None
        (self.paced.add if is_paced else self.paced.discard)(key)
        known.gone = version if new is Absence.MISSING else 0
        first = old is Absence.UNREAD
        if not first:
            self.fanout.tells(key.namespace, len(known.users))
        # By name, so that a change reaches them in the order that `reroll plan` shows.
        for user in sorted(known.users):
            if concerns(user, key, old, new):
                self._notice(user, not first)

    def recalled(self, key: Key, metadata: Metadata, content: Content) -> None:
        """Its content as it was read before, of the version that its metadata tells of."""
        known = self._known.get(key)
        if known is not None and not known.closed:
            known.uid = metadata.uid
            self.content_seen(key, content, metadata.version)

    def gone(self, key: Key, version: int) -> None:
        if key in self._known:
            self.content_seen(key, Absence.MISSING, version)

    def listed(self, key: Key, version: int) -> None:
        """A list is complete at this version: what it brought of a source was all there was."""
        if (known := self._known.get(key)) and not known.is_read_later:
            self.confirmed(key, version)

    def confirmed(self, key: Key, version: int) -> None:
        """What is known of a source was so at this version of the store."""
        if known := self._known.get(key):
            known.as_of = max(version, known.as_of)

    def rekey(self, keyring: dict[str, bytes]) -> None:
        """Digest with these keys from now on; Secrets are read again, to be digested with each."""
        self.keyring = keyring
        for key, known in self._known.items():
            if self.rows[key.kind].keyed:
                known.version = 0
                self._read(key)


def _allowed(metadata: Metadata | None) -> frozenset[str]:
    """The namespaces whose workloads may name a source with this metadata."""
    annotations = metadata.annotations if metadata else None
    return namespaces_in(annotations, ALLOW_FROM) if annotations else frozenset()
