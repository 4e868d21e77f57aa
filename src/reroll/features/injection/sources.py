"""The content of the sources of one Injection, read for one reconciliation and dropped."""

from reroll.core.dialects.reroll import consents
from reroll.core.model.injection import Injection
from reroll.core.model.key import Key
from reroll.core.tables.annotations import INJECTION_READERS
from reroll.core.tables.reasons import Reason
from reroll.core.tables.source_kinds import SOURCE_KINDS
from reroll.engine.content import Source, values_of
from reroll.engine.ports import EnginePort
from reroll.features.injection.consent import not_allowed
from reroll.features.injection.decide import BlockedError
from reroll.features.injection.values import Contents
from reroll.kube import api, resources
from reroll.kube.client import Client
from reroll.kube.errors import Forbidden, NotFound
from reroll.settings.table import Settings

_ROWS = {row.name: row for row in SOURCE_KINDS}


class SourceReader:
    def __init__(self, client: Client, engine: EnginePort, settings: Settings) -> None:
        self._client, self._engine, self._namespaces = client, engine, settings.namespaces

    async def read(self, injection: Injection) -> Contents:
        """The content of each source; `BlockedError` if one is missing or out of reach.

        Call it after consent was seen in metadata; that is only confirmed here.
        """
        home = injection.key.namespace
        contents = {
            source: await self._content(source, home) for source in sorted(injection.sources)
        }
        for each in injection.spec.from_:
            source = each.source(home)
            content = contents[source]
            if each.key not in content:
                keys = f"it has {', '.join(sorted(content)[:10])}" if content else "it is empty"
                raise BlockedError(Reason.SOURCE_MISSING, f"{source} has no key {each.key}; {keys}")
        return contents

    def check(self, injection: Injection) -> None:
        """`BlockedError` if changes of a source would go unnoticed."""
        for source in sorted(injection.sources):
            if problem := self._unwatched(source):
                raise BlockedError(Reason.SOURCE_FORBIDDEN, problem)

    def _unwatched(self, source: Key) -> str:
        """Why changes of a source go unnoticed: then no value is written, as it would go stale."""
        if not self._engine.watches(source.kind):
            return f"{source} is of a kind that is not watched; see --exclude-sources"
        if self._namespaces and source.namespace not in self._namespaces:
            return (
                f"{source} is in a namespace that is not watched; add {source.namespace} to "
                "--namespaces"
            )
        if self._engine.is_refused(source):
            plural = _ROWS[source.kind].plural
            return f"{source} may not be watched; grant `get`, `list` and `watch` on {plural}"
        return ""

    async def _content(self, source: Key, home: str) -> dict[str, bytes]:
        row = _ROWS[source.kind]
        try:
            manifest = await api.get(
                self._client, resources.of(row), source.namespace, source.name, Source
            )
        except NotFound:
            if source.namespace != home:
                raise not_allowed(source, home, INJECTION_READERS) from None
            raise BlockedError(Reason.SOURCE_MISSING, f"{source} does not exist") from None
        except Forbidden:
            problem = f"{source} may not be read; grant `get` on {row.plural}"
            raise BlockedError(Reason.SOURCE_FORBIDDEN, problem) from None
        annotations = manifest.metadata.annotations
        if source.namespace != home and not consents(annotations, home, INJECTION_READERS):
            raise not_allowed(source, home, INJECTION_READERS)
        return values_of(manifest, are_encoded=row.keyed)
