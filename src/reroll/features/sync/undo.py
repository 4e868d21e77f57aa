"""Go back to the template that a workload had before this run, as `kubectl rollout undo` does.

One patch: only if the workload still has the record and the template that the roll wrote, so that
nothing of what somebody did meanwhile is lost. The new record declines the content, so that neither
a controller nor the next run rolls forward until a source changes again.
"""

from typing import Any

import msgspec

from reroll.clock import Clock
from reroll.core.patches import pointer
from reroll.core.plan import declined
from reroll.core.policy import STATE
from reroll.core.records import write
from reroll.core.workloads import Manifest, pick
from reroll.features.look.look import Look
from reroll.features.sync.work import Work
from reroll.kube import wire
from reroll.kube.client import Client
from reroll.kube.errors import Invalid

_manifest = msgspec.json.Decoder(Manifest)


class NoWayBackError(Exception):
    """There is nothing to go back to, or somebody else went on from here."""


async def undo(client: Client, clock: Clock, look: Look, work: Work) -> None:
    raw = pick(work.before, work.kind.template)
    before = msgspec.json.decode(raw) if raw else {}
    if before == work.after:
        raise NoWayBackError("its template never changed, only its pods were replaced")
    key = work.key
    operations = [*_guards(work), *_record(clock, look, work), _put(work, before)]
    request = wire.json_patch(wire.resource_of(work.kind), key.namespace, key.name, operations)
    try:
        answer = await client.send(request)
    except Invalid:
        raise NoWayBackError("somebody else changed it meanwhile") from None
    look.world.workload_seen(work.kind, _manifest.decode(answer), watched=True)


def _guards(work: Work) -> list[dict[str, Any]]:
    uid = {"op": "test", "path": "/metadata/uid", "value": work.before.metadata.uid}
    path = pointer(*work.kind.template)
    return [uid, {"op": "test", "path": path, "value": work.after}]


def _record(clock: Clock, look: Look, work: Work) -> list[dict[str, Any]]:
    """The record that declines; none for a workload that has none."""
    seen = look.world.snapshot(work.key, work.kind)
    record = declined(seen, clock.now()) if seen else None
    if seen is None or record is None:
        return []
    path = pointer("metadata", "annotations", STATE)
    return [
        {"op": "test", "path": path, "value": seen.workload.record_text},
        {"op": "add", "path": path, "value": write(record)},
    ]


def _put(work: Work, template: object) -> dict[str, Any]:
    return {"op": "replace", "path": pointer(*work.kind.template), "value": template}
