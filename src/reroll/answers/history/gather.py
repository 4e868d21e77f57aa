"""Gathers the past of workloads: records, their copies on revisions, Events, writes of sources."""

import asyncio
from collections.abc import Mapping, Sequence

from reroll.answers.history.history import (
    HistoryEntry,
    RecordCopy,
    Subject,
    history,
    sources_of,
    with_results,
)
from reroll.clock import Clock
from reroll.core.decide.situation import Situation
from reroll.core.model.key import Key
from reroll.core.model.podspec import given
from reroll.core.model.record import Record, read
from reroll.core.tables.annotations import STATE
from reroll.engine.circumstances import situations
from reroll.engine.configs import writes_of
from reroll.engine.listing import Listing
from reroll.engine.our_events import our_events
from reroll.kube import resources
from reroll.kube.objects import Stub
from reroll.kube.view import ListedWorkload, View
from reroll.settings.table import Settings


async def gather(view: View, subjects: Sequence[Subject], most: int) -> list[HistoryEntry]:
    """What happened to these workloads, the newest first: so many things at most."""
    known = {each.key: each for each in subjects}
    copies, events = await asyncio.gather(
        _copies(view, {each.uid: each.key for each in subjects}),
        our_events(view, [(each.kind, each.key) for each in subjects]),
    )
    copies += [copy for each in subjects for copy in each.copies]
    newest = history(copies, events, {})[:most]
    shown = {one.workload for one in newest}
    past = history(
        [one for one in copies if one.workload in shown],
        [one for one in events if one.workload in shown],
        await writes_of(view, sources_of(newest)),
    )
    return with_results(past[:most], known)


def subject(listed: ListedWorkload, now: Situation | None) -> Subject:
    """One workload, with what is so of it now, if that is known."""
    seen = listed.workload
    own = seen.record if isinstance(seen.record, Record) else None
    return Subject(listed.kind, seen.key, seen.uid, own).so(now)


async def situations_of(
    view: View, settings: Settings, clock: Clock, workloads: Sequence[ListedWorkload]
) -> dict[Key, Situation]:
    """What is so now of those that are opted in; what may not be read for it is left open."""
    keys = {each.workload.key for each in workloads}
    apart = view.again()
    listing = Listing(apart, clock, settings, settings.namespace or view.home)
    found = await situations(apart, listing, keys, clock.now())
    return {one.key: one for one in found}


async def _copies(view: View, uids: Mapping[str, Key]) -> list[RecordCopy]:
    """The records that Kubernetes copied to revisions."""
    copies = []
    for resource in resources.REVISIONS.values():
        for stub in await view.every(resource, Stub):
            record = read((stub.metadata.annotations or {}).get(STATE))
            owners = (uids.get(owner.uid) for owner in given(stub.metadata.owner_references))
            if isinstance(record, Record) and (workload := next(filter(None, owners), None)):
                copies.append(RecordCopy(workload, record, stub.metadata.name))
    return copies
