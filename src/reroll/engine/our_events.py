"""The Events that Reroll wrote about workloads."""

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

import msgspec

from reroll.core.model.key import Key
from reroll.core.model.metadata import Metadata
from reroll.core.tables.kinds import Kind
from reroll.kube import resources
from reroll.kube.view import View

OUR_EVENTS = "source=reroll"


class ReportedEvent(NamedTuple):
    """One Event of ours about a workload."""

    workload: Key
    at: datetime
    reason: str
    message: str


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


async def our_events(view: View, workloads: Iterable[tuple[Kind, Key]]) -> list[ReportedEvent]:
    """By name: Events of an earlier workload with the same name count too."""
    keys = {(kind.group, kind.kind, *key[1:]): key for kind, key in workloads}
    events = []
    for event in await view.every(resources.EVENTS, _Event, field_selector=OUR_EVENTS):
        about = event.involved_object
        group = about.api_version.rpartition("/")[0]
        key = keys.get((group, about.kind, about.namespace, about.name))
        if key and event.last_timestamp:
            events.append(ReportedEvent(key, event.last_timestamp, event.reason, event.message))
    return events
