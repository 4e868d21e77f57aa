"""Gathers the past of workloads: records, their copies on revisions, Events, writes of sources."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec

from reroll.answers.configs import writes_of
from reroll.answers.history.history import HistoryEntry, RecordCopy, ReportedEvent, entries, history
from reroll.core.model.key import Key
from reroll.core.model.metadata import Metadata
from reroll.core.model.podspec import given
from reroll.core.model.record import Record, read
from reroll.core.tables.annotations import STATE
from reroll.kube import resources
from reroll.kube.objects import Stub
from reroll.kube.view import ListedWorkload, View

OUR_EVENTS = "source=reroll"


class _Involved(msgspec.Struct, gc=False, rename="camel"):
    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""


class _Event(msgspec.Struct, gc=False, rename="camel"):
    metadata: Metadata
    involved_object: _Involved
    reason: str = ""
    message: str = ""
    last_timestamp: datetime | None = None


async def gather(view: View, workloads: Sequence[ListedWorkload]) -> list[HistoryEntry]:
    """What happened to these workloads, the newest first."""
    uids = {each.workload.uid: each.workload.key for each in workloads}
    copies, events = await asyncio.gather(_copies(view, uids), _events(view, workloads))
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


async def _events(view: View, workloads: Sequence[ListedWorkload]) -> list[ReportedEvent]:
    """By name: Events of an earlier workload with the same name count too."""
    keys = {
        (each.kind.group, each.kind.kind, *each.workload.key[1:]): each.workload.key
        for each in workloads
    }
    events = []
    for event in await view.every(resources.EVENTS, _Event, field_selector=OUR_EVENTS):
        about = event.involved_object
        group = about.api_version.rpartition("/")[0]
        key = keys.get((group, about.kind, about.namespace, about.name))
        if key and event.last_timestamp:
            events.append(ReportedEvent(key, event.last_timestamp, event.reason, event.message))
    return events
