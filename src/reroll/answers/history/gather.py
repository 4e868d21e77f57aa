"""Gathers the past of workloads: records, their copies on revisions, Events, writes of sources."""

import asyncio
from collections.abc import Mapping, Sequence

from reroll.answers.history.history import HistoryEntry, RecordCopy, entries, history, with_results
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


async def gather(
    view: View, workloads: Sequence[ListedWorkload], known: Mapping[Key, Situation]
) -> list[HistoryEntry]:
    """What happened to these workloads, the newest first; `known`: what is so of them now."""
    uids = {each.workload.uid: each.workload.key for each in workloads}
    keys = [(each.kind, each.workload.key) for each in workloads]
    copies, events = await asyncio.gather(
        _copies(view, uids),
        our_events(view, keys),
    )
    copies += [
        RecordCopy(each.workload.key, each.workload.record)
        for each in workloads
        if isinstance(each.workload.record, Record)
    ]
    # The last record counts, also where another writer took it off the object.
    copies += [
        RecordCopy(each.workload.key, one.record)
        for each in workloads
        if (one := known.get(each.workload.key)) and one.record
    ]
    past = history(copies, events, await writes_of(view, entries(copies)))
    return with_results(past, known)


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
