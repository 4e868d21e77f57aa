"""One workload: what `explain`, `history` and `revisions` tell of it, and what can be done."""

import asyncio
from typing import Any, NamedTuple

from reroll.answers.errors import AnswerError
from reroll.answers.history.history import source_of
from reroll.core.model.key import Key
from reroll.core.tables.kinds import Kind
from reroll.dashboard.buttons import lacking
from reroll.dashboard.desk import Desk
from reroll.dashboard.key_names import May, explanation_without, named_secrets, without_key_names
from reroll.dashboard.overview import Facts, Overview
from reroll.dashboard.pages.workload_buttons import (
    ON_CANARY,
    canary_buttons,
    previous_button,
    ways_back,
    workload_buttons,
)
from reroll.dashboard.schema import Ref
from reroll.dashboard.schema_objects import WorkloadPage
from reroll.kube import resources

FRESH = 2.0
PAST_FOR = 5.0
MOST_PAST = 15


async def workload_page(desk: Desk, seen: Overview, key: Key) -> WorkloadPage | None:
    """`None` if there is no such workload."""
    kind = seen.kinds.get(key.kind)
    if kind is None or key not in seen.graph.workloads:
        return None
    told, past, revised = await asyncio.gather(
        desk.ask(("explain", key), FRESH, lambda cluster: cluster.explain(key)),
        desk.ask(("past", key), PAST_FOR, lambda cluster: cluster.past(key)),
        _revisions(desk, kind, key),
    )
    if told is None:
        return None
    may = await desk.may_get(named_secrets((), told["sources"]))
    resource = resources.of(kind)
    [allowed] = await desk.may_change([(resource, key.namespace)])
    why = "" if allowed else lacking("patch", resource, key.namespace)
    back = ways_back(revised.lines, told, why)
    return WorkloadPage(
        workload=Ref.of(key),
        explain=explanation_without(told, may),
        history=await without_key_names(desk, past["history"][:MOST_PAST]),
        revisions=_without_key_names(revised.lines, key, may),
        buttons=[
            *canary_buttons(await _trial(desk, kind, key, told), told, why),
            *workload_buttons(kind, told, why),
            previous_button(back, revised.previous, revised.problem),
        ],
        back=list(back.values()),
    )


async def _trial(desk: Desk, kind: Kind, key: Key, told: Facts) -> frozenset[str]:
    """What can be said of its canary."""
    reasons = {told["reason"], (told["obstacle"] or {}).get("reason")}
    if not kind.canary or not reasons & ON_CANARY:
        return frozenset()
    return await desk.ask(("trial", key), FRESH, lambda cluster: cluster.trial(kind, key))


class _Revised(NamedTuple):
    lines: list[dict[str, Any]]
    """The newest first; none of a kind that has none."""
    previous: int | None = None
    problem: str = ""


async def _revisions(desk: Desk, kind: Kind, key: Key) -> _Revised:
    try:
        told = await desk.ask(
            ("revisions", key), PAST_FOR, lambda cluster: cluster.revisions(kind, key)
        )
    except AnswerError as error:
        return _Revised([], problem=str(error))
    lines = list(told["revisions"])
    is_pinned = any(one["pins"] for one in lines)
    problem = "there is no revision before this one" if is_pinned else ""
    return _Revised(lines, told["previous"], problem)


def _without_key_names(lines: list[dict[str, Any]], key: Key, may: May) -> list[dict[str, Any]]:
    """Revisions, without the names of keys that the user may not know."""

    def pin(one: Facts) -> Facts:
        source = source_of(one["source"], key.namespace)
        if source is None or may.get(source, source.kind != "Secret"):
            return one
        return {**one, "changedKeys": None}

    return [{**one, "pins": [*map(pin, one["pins"])]} for one in lines]
