"""What listings before this one read of Secrets, so that one which did not change is not got again.

Digests, never content: of one version of one object, with the digest keys and the settings of then.
After a while everything is read anew, so that whoever may not read Secrets any more is told so.
"""

from typing import NamedTuple, Self

from reroll.clock import Clock
from reroll.core.model.content import Content
from reroll.core.model.key import Key
from reroll.core.model.metadata import Metadata
from reroll.core.tables.source_kinds import CONFIGS, Watched
from reroll.engine.sources import Sources
from reroll.settings.table import Settings

MOST = 20_000
FOR = 600.0
"""Seconds for which what was read counts."""
_KINDS = tuple(row.name for row in CONFIGS if row.watched is Watched.METADATA)


class _Read(NamedTuple):
    uid: str
    version: int
    hashed: frozenset[str]
    content: Content
    at: float


class Earlier:
    """Lives as long as somebody lists again and again, with the same rights."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._read: dict[Key, _Read] = {}
        self._settings: Settings | None = None
        self._keyring: dict[str, bytes] = {}

    def __len__(self) -> int:
        return len(self._read)

    def under(self, settings: Settings) -> Self:
        """What was judged by other settings counts no more."""
        if self._settings != settings:
            self._settings = settings
            self._read.clear()
        return self

    def begin(self, keyring: dict[str, bytes]) -> None:
        """What was read with other digest keys counts no more."""
        if self._keyring != keyring:
            self._keyring = keyring
            self._read.clear()

    def recall(self, sources: Sources, key: Key, metadata: Metadata) -> None:
        """Tell of a source whose metadata is that of the version that was read."""
        found = self._read.get(key)
        if (
            found is not None
            and (found.uid, found.version) == (metadata.uid, metadata.version)
            and found.hashed == sources.hashed(key)
            and self._clock.monotonic() - found.at < FOR
        ):
            sources.recalled(key, metadata, found.content)

    def keep(self, sources: Sources) -> None:
        """What this listing knows; of one with very many keys it depends on who asks."""
        before, now = self._read, self._clock.monotonic()
        self._read = {}
        for key in (key for kind in _KINDS for key in sources.of(kind)):
            content, version = sources.content(key), sources.version(key)
            if not isinstance(content, Content) or content.wholes or not version:
                continue
            if len(self._read) >= MOST:
                break
            old = before.get(key)
            at = old.at if old and old.content is content else now
            uid = sources.identity(key)[1]
            self._read[key] = _Read(uid, version, sources.hashed(key), content, at)
