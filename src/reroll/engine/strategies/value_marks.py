"""Marks that are made of values, which are fetched for one roll and dropped.

What is fetched must be what was decided on. If it is not, the world learns what is there now, and
the workload is decided on again.
"""

from collections.abc import Iterable, Mapping

from reroll.core.decide.actions import Action, AddValueMarks, Patch, SetMarks, with_marks
from reroll.core.dialects.rows import OfValues
from reroll.core.dialects.table import MarksOfValues
from reroll.core.model.content import Content
from reroll.core.model.key import Key
from reroll.core.model.marks import Mark
from reroll.core.model.metadata import Manifest, pick
from reroll.core.model.moment import Moment
from reroll.core.model.podspec import PodTemplate
from reroll.core.observe.snapshot import Absence, Snapshot
from reroll.core.tables.annotations import STAMP
from reroll.core.tables.source_kinds import SOURCE_KINDS, SourceKind
from reroll.engine.content import Source, content, is_same, values_of
from reroll.engine.outcome import Amended, Step, Turn
from reroll.engine.sources import Sources
from reroll.engine.world import World
from reroll.kube import api, resources
from reroll.kube.aio import gather
from reroll.kube.client import Client
from reroll.kube.decode import decoded
from reroll.kube.errors import Conflict, Forbidden

_ROWS = {row.name: row for row in SOURCE_KINDS}


class ValueMarks:
    def __init__(self, client: Client, world: World) -> None:
        self._client, self._world = client, world

    async def add(self, turn: Turn, action: AddValueMarks) -> Step:
        """Amend the marks of the patch that follows."""
        snapshot = turn.snapshot
        more = await self._marks(turn, action.stamp)

        def amend(rest: tuple[Action, ...]) -> tuple[Action, ...]:
            marks = (*_marks(rest), *more)
            if all(snapshot.workload.marks.get(mark.name) == mark.value for mark in marks):
                # What changed is no part of another tool's hash: ours tells it apart.
                marks = (*marks, Mark(STAMP, action.stamp))
            return with_marks(rest, marks)

        return Amended(amend)

    async def _marks(self, turn: Turn, stamp: str) -> tuple[Mark, ...]:
        """A hash of a source that needs a key is not made: the stamp stands in for it."""
        snapshot, dialects = turn.snapshot, self._world.dialects
        home = snapshot.workload.key.namespace
        by = dialects.of_values(snapshot.policy.by, turn.plan.strategy)
        wanted = await made_of(self._client, snapshot, by)
        keyed = [
            one
            for one in wanted
            if any(dialects.options.is_keyed(source, home) for source in one.sources)
        ]
        plain = [one for one in wanted if one not in keyed]
        made = await marks_of_values(self._client, self._world.sources, snapshot, plain)
        return (*made, *(mark for one in keyed for mark in one.keyed(stamp)))


def _marks(actions: tuple[Action, ...]) -> tuple[Mark, ...]:
    edits = [edit for action in actions if isinstance(action, Patch) for edit in action.edits]
    return tuple(mark for edit in edits if isinstance(edit, SetMarks) for mark in edit.marks)


async def made_of(
    client: Client, snapshot: Snapshot, by: Iterable[MarksOfValues]
) -> list[OfValues]:
    """What each dialect makes its marks of, for the template as it is now."""
    key = snapshot.workload.key
    manifest = await api.get(client, resources.of(snapshot.kind), key.namespace, key.name, Manifest)
    raw = pick(manifest, snapshot.kind.template)
    spec = decoded(raw, PodTemplate, "its template").spec if raw else None
    return [make(key, spec, manifest.metadata.annotations or {}) for make in by]


async def marks_of_values(
    client: Client, sources: Sources, snapshot: Snapshot, wanted: Iterable[OfValues]
) -> tuple[Mark, ...]:
    """The marks; raises `Conflict` where what is there is not what was decided on."""
    wanted = list(wanted)
    found = await _fetch(client, sources, snapshot, {s for one in wanted for s in one.sources})
    return tuple(mark for one in wanted for mark in one.marks(found))


async def _fetch(
    client: Client, sources: Sources, snapshot: Snapshot, wanted: set[Key]
) -> dict[Key, Mapping[str, bytes]]:
    """Their values. They are of the workload's own namespace: others have no plain hash."""
    fetched = await gather(_get(client, key, snapshot.sources) for key in sorted(wanted))
    values: dict[Key, Mapping[str, bytes]] = {}
    for key, source in zip(sorted(wanted), fetched, strict=True):
        row, decided_on = _ROWS[key.kind], snapshot.sources.get(key)
        if source is not None:
            values[key] = values_of(source, are_encoded=row.keyed)
        if isinstance(decided_on, Content) and not _is_the_same(row, source, decided_on, sources):
            raise Conflict(f"{key} changed while {snapshot.workload.key} was about to roll")
    return values


async def _get(
    client: Client, key: Key, decided_on: Mapping[Key, Content | Absence]
) -> Source | None:
    """`None` if it does not exist, or if it may not be read and nothing was decided on it."""
    if not key.name:
        return None
    place = resources.of(_ROWS[key.kind]), key.namespace, key.name
    try:
        return await api.find(client, *place, Source)
    except Forbidden:
        if isinstance(decided_on.get(key), Content):
            raise
        return None


def _is_the_same(
    row: SourceKind, source: Source | None, decided_on: Content, sources: Sources
) -> bool:
    if source is None:
        return False
    if is_same(decided_on, content(source, sources.keyring if row.keyed else None, Moment())):
        return True
    sources.observe(row, source, watched=False)
    return False
