"""Every workload that something keeps from rolling: why, since when, by whom, until when."""

import asyncio
from collections import Counter
from collections.abc import Iterator

import msgspec

from reroll.answers.documents import moment
from reroll.core.model.key import Key
from reroll.core.tables.reasons import Reason
from reroll.dashboard.buttons import button, lacking, releases
from reroll.dashboard.desk import Desk
from reroll.dashboard.overview import Overview, key_of
from reroll.dashboard.paging import Query, paged
from reroll.dashboard.schema import Button, HeldPage, HeldRow, Ref
from reroll.kube import resources

_WORDS = {reason.word: reason for reason in Reason}
RELEASED = frozenset(one.word for one in (Reason.HELD, Reason.HELD_AT))
"""What `reroll release` ends."""
HOLDER_FOR = 30.0


async def held_page(desk: Desk, seen: Overview, query: Query) -> HeldPage:
    every = list(rows(seen))
    reasons = dict(Counter(one.reason for one in every).most_common())
    wanted = query.word("reason")
    chosen = [
        one
        for one in every
        if wanted in {"", one.reason} and query.namespace in {"", one.workload.namespace}
    ]
    shown, paging = paged(sorted(chosen, key=_order), query)
    told = await asyncio.gather(*(_with_holder(desk, seen, one) for one in shown))
    buttons = await _buttons(desk, seen, told)
    return HeldPage(at=moment(seen.at) or "", rows=buttons, reasons=reasons, paging=paging)


def rows(seen: Overview) -> Iterator[HeldRow]:
    """As the overview has it; pure."""
    until = {
        key_of(one): one["until"]
        for change in seen.document["changes"]
        for one in change["workloads"]
        if one["until"]
    }
    for key, one in seen.facts.items():
        obstacle = one["obstacle"]
        if not obstacle:
            continue
        row = _WORDS.get(obstacle["reason"])
        yield HeldRow(
            workload=Ref.of(key),
            reason=obstacle["reason"],
            message=obstacle["message"],
            deliberate=bool(row and row.deliberate),
            since=obstacle["since"],
            until=until.get(key),
        )


def _order(one: HeldRow) -> tuple[bool, str, Key]:
    return one.reason not in RELEASED, one.reason, one.workload.key


async def _with_holder(desk: Desk, seen: Overview, one: HeldRow) -> HeldRow:
    """Who wrote the hold, and when: `managedFields` of the object tell."""
    key, kind = one.workload.key, seen.kinds.get(one.workload.kind)
    if one.reason != Reason.HELD.word or kind is None:
        return one
    sources = sorted({edge.source for edge in seen.graph.edges if edge.workload == key})
    found = await desk.ask(
        ("holder", key), HOLDER_FOR, lambda cluster: cluster.holder(kind, key, sources)
    )
    if found is None:
        return one
    since, until = found.since or one.since, found.until or one.until
    on = Ref.of(found.on)
    return msgspec.structs.replace(one, by=found.by, since=since, on=on, until=until)


async def _buttons(desk: Desk, seen: Overview, shown: list[HeldRow]) -> list[HeldRow]:
    able = [one for one in shown if one.reason in RELEASED and one.workload.kind in seen.kinds]
    places = [(resources.of(seen.kinds[one.workload.kind]), one.workload.namespace) for one in able]
    allowed = await desk.may_change(places)
    buttons = {
        one.workload: release_button(seen, one, allowed=may)
        for one, may in zip(able, allowed, strict=True)
    }
    return [msgspec.structs.replace(one, release=buttons.get(one.workload)) for one in shown]


def release_button(seen: Overview, one: HeldRow, *, allowed: bool) -> Button:
    resource = resources.of(seen.kinds[one.workload.kind])
    if one.on and one.on.key != one.workload.key:
        what = f"{one.on.kind.lower()}/{one.on.name}"
        return button("release", f"the hold stands on {what}")
    facts = seen.facts[one.workload.key]
    behind = any(one.workload.key in users for users in seen.behind.values())
    effect = releases(facts["pods"]["running"], waits=behind or one.reason != Reason.HELD.word)
    why = "" if allowed else lacking("patch", resource, one.workload.namespace)
    return button("release", why, effect)
