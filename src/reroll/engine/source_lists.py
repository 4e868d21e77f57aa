"""The sources of a listing, read by the page where many of one namespace are wanted.

ConfigMaps are listed whole. Of Secrets only the metadata is, so that one which nobody opted in for
is never read: each that is wanted is then got by itself, from the API server's cache, which has the
version that its metadata told, unless an earlier listing got that version. What a list does not
bring is left to the reader.
"""

from functools import partial

from reroll.core.model.key import Key
from reroll.core.observe.provenance import Managed, Stub, Writes, writes
from reroll.core.observe.snapshot import Absence
from reroll.core.tables.source_kinds import CONFIGS, Watched
from reroll.engine.content import Source
from reroll.engine.earlier import Earlier
from reroll.engine.many import Rest, by_page, crowds, each
from reroll.engine.observer import Observer
from reroll.kube import resources
from reroll.kube.errors import Malformed
from reroll.kube.view import View

_ROWS = {row.name: row for row in CONFIGS}


class _Whole(Source, gc=False, kw_only=True, rename="camel"):
    """A source with who wrote it."""

    metadata: Managed


class SourceLists:
    def __init__(self, view: View, observer: Observer, earlier: Earlier | None = None) -> None:
        self._view, self._reader, self._earlier = view, observer.reader, earlier
        self._sources = observer.world.sources
        self.written: dict[Key, Writes | None] = {}
        """Who wrote those that were listed; `None`: it is not there."""

    async def read(self) -> None:
        """Read all that is wanted."""
        if self._earlier is not None:
            self._earlier.begin(self._sources.keyring)
        await self._list()
        await self._reader.catch_up()
        if self._earlier is not None:
            self._earlier.keep(self._sources)

    async def _list(self) -> None:
        """What is known of by name only, where there are many of one namespace."""
        sources = self._sources
        unread = (key for key in sources if sources.content(key) is Absence.UNREAD)
        await each(crowds(key for key in unread if key.kind in _ROWS), self._read)

    async def _read(self, kind: str, namespace: str, names: list[str]) -> None:
        row = _ROWS[kind]
        place, client = (resources.of(row), namespace), self._view.client
        if row.watched is Watched.WHOLE:
            take = partial(self._whole, kind, namespace)
            rest = await by_page(client, place, names, _Whole, take)
        else:
            told = partial(self._metadata, kind, namespace)
            rest = await by_page(client, place, names, Stub, told)
        self._close([Key(kind, namespace, name) for name in names], rest)

    def _whole(self, kind: str, namespace: str, name: str, source: _Whole) -> None:
        key = Key(kind, namespace, name)
        self.written[key] = writes(source.metadata)
        try:
            self._sources.source_seen(_ROWS[kind], source, watched=False)
        except Malformed as odd:
            self._view.gaps.append(str(odd))
            self._reader.has(self._sources.content_of(key))

    def _metadata(self, kind: str, namespace: str, name: str, stub: Stub) -> None:
        key = Key(kind, namespace, name)
        self.written[key] = writes(stub.metadata)
        if key != self._sources.digest_keys:
            self._sources.metadata_seen(key, stub.metadata, watched=False)
            if self._earlier is not None:
                self._earlier.recall(self._sources, key, stub.metadata)

    def _close(self, keys: list[Key], rest: Rest) -> None:
        """What the list brought need not be got, and what it did not have is not there."""
        for key in keys:
            # Of one that only other namespaces name, nobody learns since when it is not there.
            if key.name in rest.gone and self._sources.opens(key, None):
                self._sources.gone(key, rest.version)
                self.written[key] = None
            if self._sources.content(key) is not Absence.UNREAD:
                self._reader.has(self._sources.content_of(key))
                self._sources.listed(key, rest.version)
