"""Who writes sources that keep changing, or templates: `managedFields`, read without values."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from reroll.clock import Clock
from reroll.core.model.key import Key
from reroll.core.observe.provenance import Stub, template_writer, writes
from reroll.core.tables.kinds import Kind
from reroll.core.tables.source_kinds import SourceKind
from reroll.kube import api, resources
from reroll.kube.client import Client
from reroll.kube.errors import ApiError, Forbidden

OFTEN = timedelta(seconds=10)
"""Between two readings of a source until two writers are known: who writes a key last owns it, so
one reading shows only one of two that fight over it."""
RARELY = timedelta(minutes=10)
MOST = 1000
"""Sources that are remembered."""


async def template_writer_of(client: Client, kind: Kind, key: Key) -> str:
    """Who changed the template of a workload after its record was written; empty: nobody.

    Where that may not be read, nobody is suspected. Any other error is raised: what could not be
    read must not become a verdict.
    """
    try:
        stub = await api.find(client, resources.of(kind), key.namespace, key.name, Stub)
    except Forbidden:
        return ""
    return template_writer(stub.metadata, kind.template or ("spec",)) if stub else ""


class Writers:
    def __init__(self, client: Client, clock: Clock, rows: Mapping[str, SourceKind]) -> None:
        self._client, self._clock, self._rows = client, clock, rows
        self._names: dict[Key, dict[str, None]] = {}
        self._read_at: dict[Key, datetime] = {}

    async def of(self, sources: Iterable[Key]) -> dict[Key, tuple[str, ...]]:
        """The names of those who own data of these sources, or did a while ago."""
        found = {}
        for source in sources:
            if self._is_due(source):
                await self._read(source)
            found[source] = tuple(sorted(self._names.get(source, ())))
        return found

    def _is_due(self, source: Key) -> bool:
        last = self._read_at.get(source)
        if last is None:
            return True
        wait = OFTEN if len(self._names.get(source, ())) < 2 else RARELY
        return self._clock.now() - last >= wait

    async def _read(self, source: Key) -> None:
        """One that cannot be read has writers that are not known."""
        if len(self._read_at) >= MOST:
            self._read_at.clear()
            self._names.clear()
        self._read_at[source] = self._clock.now()
        row = self._rows.get(source.kind)
        if row is None:
            return
        place = resources.of(row), source.namespace, source.name
        try:
            stub = await api.find(self._client, *place, Stub)
        except ApiError:
            return
        if stub is not None:
            names = self._names.setdefault(source, {})
            names.update(dict.fromkeys(write.by for write in writes(stub.metadata).known))
