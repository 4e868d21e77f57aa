"""The content of the sources of one Injection, read for one look and dropped."""

import msgspec

from reroll.core.dialects.reroll import consents
from reroll.core.model.injection import From, Injection
from reroll.core.model.key import Key
from reroll.core.tables.annotations import ALLOW_FROM
from reroll.core.tables.kinds import SOURCE_KINDS
from reroll.core.tables.reasons import Reason
from reroll.engine.content import Source, values_of
from reroll.engine.world import World
from reroll.features.injection.decide import Verdict
from reroll.features.injection.values import Contents
from reroll.kube import wire
from reroll.kube.client import Client
from reroll.kube.errors import Forbidden, NotFound
from reroll.settings.table import Settings

_ROWS = {row.name: row for row in SOURCE_KINDS}
_source = msgspec.json.Decoder(Source)


class Reader:
    def __init__(self, client: Client, world: World, settings: Settings) -> None:
        self._client, self._world, self._settings = client, world, settings

    async def read(self, one: Injection) -> Contents | Verdict:
        """What each source holds, or what stands in the way."""
        found: dict[Key, dict[str, bytes]] = {}
        for source in sorted(one.sources):
            if unseen := self._unseen(source):
                return Verdict(Reason.SOURCE_FORBIDDEN, unseen)
            got = await self._get(source, one.key.namespace)
            if isinstance(got, Verdict):
                return got
            found[source] = got
        for each in one.spec.from_:
            if lacking := _lacking(each, found[each.source(one.key.namespace)]):
                where = each.source(one.key.namespace)
                return Verdict(Reason.SOURCE_MISSING, f"{where} has no key {each.key}{lacking}")
        return found

    def _unseen(self, source: Key) -> str:
        """Why changes of a source go unseen. Then nothing is written that could not be kept."""
        row = _ROWS[source.kind]
        if source.kind not in self._world.dialects.options.sources:
            return f"{source} is of a kind that is not watched; see --exclude-sources"
        if self._settings.namespaces and source.namespace not in self._settings.namespaces:
            return (
                f"{source} is in a namespace that is not watched; add {source.namespace} to "
                "--namespaces"
            )
        if self._world.sources.is_refused(source.kind, source.namespace):
            return f"{source} may not be watched; grant `get`, `list` and `watch` on {row.plural}"
        return ""

    async def _get(self, source: Key, home: str) -> dict[str, bytes] | Verdict:
        row = _ROWS[source.kind]
        request = wire.get(wire.resource_of(row), source.namespace, source.name)
        try:
            found = _source.decode(await self._client.send(request))
        except NotFound:
            if source.namespace != home:
                return _not_allowed(source, home)
            return Verdict(Reason.SOURCE_MISSING, f"{source} does not exist")
        except Forbidden:
            return Verdict(
                Reason.SOURCE_FORBIDDEN, f"{source} may not be read; grant `get` on {row.plural}"
            )
        if source.namespace != home and not consents(found.metadata.annotations, home):
            return _not_allowed(source, home)
        return values_of(found, are_encoded=row.keyed)


def _not_allowed(source: Key, home: str) -> Verdict:
    """The same whether it exists: otherwise names of other namespaces could be found by asking."""
    return Verdict(
        Reason.NOT_ALLOWED,
        f"{source} does not exist, or does not let namespace {home} use it; its owner annotates it "
        f"with {ALLOW_FROM}: {home!r}",
    )


def _lacking(each: From, content: dict[str, bytes]) -> str | None:
    if each.key in content:
        return None
    return f"; it has {', '.join(sorted(content)[:10])}" if content else "; it is empty"
