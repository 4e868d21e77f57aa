"""Marks that are made of values: fetched for one roll, and dropped.

What was fetched must be what was decided on. If it is not, the world learns what is there now, and
the decision is made anew.
"""

from collections.abc import Iterable, Mapping

import msgspec

from reroll.core.decide.plan import Plan
from reroll.core.dialects.table import MarksOfValues
from reroll.core.model.content import Content
from reroll.core.model.key import Key
from reroll.core.model.marks import Mark
from reroll.core.model.metadata import Manifest, pick
from reroll.core.model.moment import Moment
from reroll.core.model.podspec import PodTemplate
from reroll.core.observe.snapshot import Absence, Snapshot
from reroll.core.tables.annotations import STAMP
from reroll.core.tables.kinds import SOURCE_KINDS, SourceKind
from reroll.engine.content import Source, content, is_same, values_of
from reroll.engine.reader import resource
from reroll.engine.sources import Sources
from reroll.engine.world import World
from reroll.kube import wire
from reroll.kube.client import Client
from reroll.kube.errors import Conflict, Forbidden, NotFound
from reroll.kube.together import together

_ROWS = {row.name: row for row in SOURCE_KINDS}
_manifest = msgspec.json.Decoder(Manifest)
_template = msgspec.json.Decoder(PodTemplate)
_source = msgspec.json.Decoder(Source)


async def with_marks_of_values(client: Client, world: World, seen: Snapshot, decided: Plan) -> Plan:
    """A plan with the marks that are made of values, where there are any."""
    by = world.dialects.of_values(seen.policy.by, decided.roll)
    if not by or seen.kind.stamp:
        return decided
    more = await marks_of_values(client, world.sources, seen, by)
    marks = (*decided.marks, *more)
    if all(seen.workload.marks.get(mark.name) == mark.value for mark in marks):
        # What changed is no part of another tool's hash: ours tells it apart.
        marks = (*marks, Mark(STAMP, decided.stamp))
    return msgspec.structs.replace(decided, marks=marks)


async def marks_of_values(
    client: Client, sources: Sources, seen: Snapshot, by: Iterable[MarksOfValues]
) -> tuple[Mark, ...]:
    """The marks; raises `Conflict` where what is there is not what was decided on."""
    key = seen.workload.key
    manifest = _manifest.decode(
        await client.send(wire.get(resource(seen.kind), key.namespace, key.name))
    )
    raw = pick(manifest, seen.kind.template)
    spec = _template.decode(raw).spec if raw else None
    wanted = [make(key, spec, manifest.metadata.annotations or {}) for make in by]
    found = await _fetch(client, sources, seen, {s for one in wanted for s in one.sources})
    return tuple(mark for one in wanted for mark in one.marks(found))


async def _fetch(
    client: Client, sources: Sources, seen: Snapshot, wanted: set[Key]
) -> dict[Key, Mapping[str, bytes]]:
    """Their values. Sources of other namespaces only where those allow it."""
    home = seen.workload.key.namespace
    allowed = sorted(key for key in wanted if key.namespace == home or key in seen.sources)
    fetched = await together(_get(client, key, seen.sources) for key in allowed)
    values: dict[Key, Mapping[str, bytes]] = {}
    for key, source in zip(allowed, fetched, strict=True):
        row, decided_on = _ROWS[key.kind], seen.sources.get(key)
        if source is not None:
            values[key] = values_of(source, are_encoded=row.keyed)
        if isinstance(decided_on, Content) and not _is_the_same(row, source, decided_on, sources):
            raise Conflict(f"{key} changed while {seen.workload.key} was about to roll")
    return values


async def _get(
    client: Client, key: Key, decided_on: Mapping[Key, Content | Absence]
) -> Source | None:
    """`None` if it does not exist, or if it may not be read and nothing was decided on it."""
    if not key.name:
        return None
    try:
        raw = await client.send(wire.get(resource(_ROWS[key.kind]), key.namespace, key.name))
    except NotFound:
        return None
    except Forbidden:
        if isinstance(decided_on.get(key), Content):
            raise
        return None
    return _source.decode(raw)


def _is_the_same(
    row: SourceKind, source: Source | None, decided_on: Content, sources: Sources
) -> bool:
    if source is None:
        return False
    if is_same(decided_on, content(source, sources.keyring if row.keyed else None, Moment())):
        return True
    sources.seen(row, source, watched=False)
    return False
