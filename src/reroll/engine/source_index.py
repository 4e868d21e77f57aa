"""What is known of sources that somebody refers to: questions only, nothing changes here."""

from collections.abc import Iterable, Iterator, Mapping

from reroll.core.model.content import Content, allows
from reroll.core.model.digest import sealed
from reroll.core.model.key import Key
from reroll.core.observe.snapshot import Absence
from reroll.core.tables.source_kinds import SourceKind
from reroll.engine.source_state import KnownSources
from reroll.engine.wants import SourceContent


class SourceIndex:
    def __init__(self, rows: Mapping[str, SourceKind]) -> None:
        self._known = KnownSources()
        self.rows = rows
        self.paced: set[Key] = set()
        """Those that say how their changes propagate."""
        self.keyring: dict[str, bytes] = {}
        """HMAC keys by id."""

    def __len__(self) -> int:
        return len(self._known)

    def __contains__(self, key: Key) -> bool:
        return key in self._known

    def __iter__(self) -> Iterator[Key]:
        return iter(tuple(self._known))

    def of(self, kind: str, namespace: str | None = None) -> list[Key]:
        """Those of a kind, in one namespace or in all."""
        return self._known.of(kind, namespace)

    def lets(self, source: Key, namespace: str) -> bool:
        """Whether workloads of a namespace may name a source, as its metadata said last."""
        known = self._known.get(source)
        return source.namespace == namespace or (
            known is not None and allows(known.allowed, namespace)
        )

    def strangers(self, source: Key) -> frozenset[Key]:
        """Who refers to it, by kind and namespace, if nobody of its own namespace does."""
        users = known.users if (known := self._known.get(source)) else ()
        if any(user.namespace == source.namespace for user in users):
            return frozenset()
        return frozenset(Key(user.kind, user.namespace, "") for user in users)

    def content_of(self, source: Key) -> SourceContent:
        """The want for what it holds, at the expense of who asks for it."""
        known = self._known.get(source)
        return SourceContent(source, known.asker if known else "")

    def asks(self, key: Key) -> bool:
        """Whether it matters to somebody what the annotations of a source say."""
        known = self._known.get(key)
        return known is not None and known.asked

    def content(self, key: Key) -> Content | Absence:
        known = self._known.get(key)
        return known.content if known else Absence.UNREAD

    def content_for(self, key: Key, home: str) -> Content | Absence:
        """What workloads of a namespace may show digests of."""
        content = self.content(key)
        if key.namespace == home or not isinstance(content, Content):
            return content
        return sealed(content, self.keyring)

    def users(self, key: Key) -> frozenset[Key]:
        """Who refers to a source."""
        known = self._known.get(key)
        return frozenset(known.users) if known else frozenset()

    def gone_at(self, key: Key) -> int:
        """The version after which a source was missing; 0 if it is there, or nobody knows."""
        known = self._known.get(key)
        return known.gone if known else 0

    def version(self, key: Key) -> int:
        """The last version of a source that was seen whole; 0 if none was."""
        known = self._known.get(key)
        return known.version if known else 0

    def keyed_at(self, keys: Iterable[Key], home: str) -> int:
        """The highest version of those that are digested with a key for a namespace."""
        keyed = (key for key in keys if key.namespace != home or self.rows[key.kind].keyed)
        return max(map(self.version, keyed), default=0)

    def hashed(self, key: Key) -> frozenset[str]:
        """The dialects that need the hash that their tool makes of a source."""
        known = self._known.get(key)
        return known.hashed if known else frozenset()

    def take_told(self, key: Key) -> int:
        """The version to ask for, once: if that fails, the most recent one is worth asking for."""
        known = self._known.get(key)
        if known is None:
            return 0
        told, known.told = known.told, 0
        return told

    def identity(self, key: Key) -> tuple[str, str]:
        """The apiVersion of a source, and its uid if it was seen."""
        known, row = self._known.get(key), self.rows[key.kind]
        version = f"{row.group}/{row.version}" if row.group else row.version
        return version, known.uid if known else ""

    def older_than(self, version: int, keys: Iterable[Key]) -> list[Key]:
        """Of these, the ones that may have changed by this version of the store."""
        found = [(key, self._known.get(key)) for key in keys]
        return [key for key, known in found if known and known.as_of < version]
