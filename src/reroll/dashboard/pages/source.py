"""One source: who changed which keys when, whom a change concerns, who is behind."""

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from reroll.answers.documents import moment
from reroll.answers.history.history import source_of
from reroll.core.model.key import Key
from reroll.core.observe.provenance import Writes
from reroll.dashboard.buttons import pods_of
from reroll.dashboard.cluster import Holder
from reroll.dashboard.desk import Desk
from reroll.dashboard.key_names import place, without_key_names
from reroll.dashboard.overview import Facts, Overview, key_of
from reroll.dashboard.pages.now import change_under_way, state_of
from reroll.dashboard.pages.source_buttons import approval_of, rights, source_buttons
from reroll.dashboard.paging import Query, paged
from reroll.dashboard.schema import ChangeUnderWay, Ref
from reroll.dashboard.schema_objects import SourceHold, SourcePage, SourceUser, SourceWrite

FACTS_FOR = 5.0
PAST_FOR = 10.0
MOST_USERS = 50
"""Workloads whose past is looked at for what rolled for a source."""
MOST_PAST = 15


async def source_page(desk: Desk, seen: Overview, key: Key, query: Query) -> SourcePage | None:
    """`None` if no workload uses it."""
    users = list(users_of(seen, key))
    if not users:
        return None
    facts = await desk.ask(("source", key), FACTS_FOR, lambda cluster: cluster.source(key))
    writes = facts.writes
    may = await desk.may_get([key]) if key.kind == "Secret" else {key: True}
    if not may[key]:
        users = [replace(one, how=[*map(place, one.how)]) for one in users]
    shown, paging = paged(sorted(users, key=_order), query)
    allowed, rolled = await rights(desk, key, facts), [one for one in users if one.rolls]
    return SourcePage(
        source=Ref.of(key),
        missing=key in seen.graph.missing,
        hold=_hold(facts.holder),
        urgent=facts.is_urgent,
        approval=approval_of(desk, seen.waiting.get(key), allowed.guarded),
        created=moment(writes.created) if writes else None,
        writes=writes_told(writes, may_see=may[key]),
        change=_change(seen, key),
        users=shown,
        behind=sum(one.behind for one in users),
        rolled=len(rolled),
        pods=pods_of(seen, [one.workload.key for one in rolled]),
        past=await _past(desk, seen, key),
        paging=paging,
        buttons=source_buttons(seen, key, facts, allowed, len(rolled)),
    )


async def _past(desk: Desk, seen: Overview, key: Key) -> list[dict[str, Any]]:
    """What rolled for it: of the first of those that a change of it rolls, in its namespace."""
    edges = (edge for edge in seen.graph.edges if edge.source == key and edge.rolls)
    all_ = sorted({edge.workload for edge in edges if edge.workload.namespace == key.namespace})
    users = tuple(all_[:MOST_USERS])
    if not users:
        return []
    told = await desk.ask(("past of", key), PAST_FOR, lambda cluster: cluster.past(*users))
    mine = [entry for entry in told["history"] if is_for(entry, key)]
    return await without_key_names(desk, mine[:MOST_PAST])


def is_for(entry: Facts, source: Key) -> bool:
    """Whether an entry of a history is of a roll for that source."""
    home = entry["workload"]["namespace"]
    return any(source_of(part["entry"], home) == source for part in entry["sources"])


def users_of(seen: Overview, source: Key) -> Iterator[SourceUser]:
    """Pure."""
    stages = {
        key_of(one): one
        for change in seen.document["changes"]
        if key_of(change["source"]) == source
        for one in change["workloads"]
    }
    behind = seen.behind.get(source, frozenset())
    for edge in seen.graph.edges:
        if edge.source != source:
            continue
        facts, standing = seen.facts.get(edge.workload), stages.get(edge.workload)
        state = state_of(facts) if facts else "not managed"
        yield SourceUser(
            workload=Ref.of(edge.workload),
            how=list(edge.hows),
            rolls=edge.rolls,
            behind=edge.workload in behind,
            stage=standing["stage"] if standing else state,
            reason=facts["reason"] if facts else "",
            message=facts["message"] if facts else "",
        )


def _order(one: SourceUser) -> tuple[bool, bool, Key]:
    return not one.behind, not one.rolls, one.workload.key


def writes_told(writes: Writes | None, *, may_see: bool) -> list[SourceWrite]:
    """The newest first; the keys only to who may see them."""
    known = sorted(writes.known if writes else (), key=lambda one: one.at, reverse=True)
    return [
        SourceWrite(by=one.by, at=moment(one.at) or "", keys=sorted(one.keys) if may_see else None)
        for one in known
    ]


def _change(seen: Overview, source: Key) -> ChangeUnderWay | None:
    for change in seen.document["changes"]:
        if key_of(change["source"]) == source:
            return change_under_way(change, seen.facts)
    return None


def _hold(holder: Holder | None) -> SourceHold | None:
    if holder is None:
        return None
    return SourceHold(by=holder.by, since=holder.since, until=holder.until, why=holder.why)
