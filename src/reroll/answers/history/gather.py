"""Gathers the past of workloads: records, their copies on revisions, Events, writes of sources."""

import asyncio
from collections.abc import Mapping, Sequence

from reroll.answers.history.history import HistoryEntry, RecordCopy, entries, history
from reroll.core.model.key import Key
from reroll.core.model.podspec import given
from reroll.core.model.record import Record, read
from reroll.core.tables.annotations import STATE
from reroll.engine.configs import writes_of
from reroll.engine.our_events import our_events
from reroll.kube import resources
from reroll.kube.objects import Stub
from reroll.kube.view import ListedWorkload, View


async def gather(view: View, workloads: Sequence[ListedWorkload]) -> list[HistoryEntry]:
    """What happened to these workloads, the newest first."""
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
    return history(copies, events, await writes_of(view, entries(copies)))


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
