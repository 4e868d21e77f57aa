"""Go back to the template that a workload had before this run, as `kubectl rollout undo` does.

One patch: only if the workload still has the record and the template that the roll wrote, so that
nothing of what somebody did meanwhile is lost. The new record declines the content, so that neither
a controller nor the next run rolls forward until a source changes again.
"""

import copy
from typing import Any

import msgspec

from reroll.clock import Clock
from reroll.core.decide.chains import declined
from reroll.core.model.metadata import Manifest, pick
from reroll.core.model.podspec import without_empty
from reroll.core.model.record import write
from reroll.core.policy.vocabulary import Vocabulary
from reroll.core.revisions.copies import write_pins_into
from reroll.core.revisions.pins import PINS, read_pins
from reroll.core.tables.annotations import STATE
from reroll.core.write.patches import RESTARTED_AT, pointer
from reroll.engine.listing import Look
from reroll.kube import wire
from reroll.kube.client import Client
from reroll.kube.errors import Invalid
from reroll.pipeline.work import Work

_manifest = msgspec.json.Decoder(Manifest)


class NoWayBackError(Exception):
    """There is nothing to go back to, or somebody else went on from here."""


async def undo(client: Client, clock: Clock, look: Look, work: Work, now: Any) -> None:
    """`now`: the template that the workload has."""
    if not work.kind.template:
        raise NoWayBackError("it has no pod template to go back to")
    raw, words = pick(work.before, work.kind.template), look.world.dialects.words
    before = msgspec.json.decode(raw) if raw else {}
    rolled = now if work.after is None else work.after
    if _bare(now, words) != _bare(before, words) or without_empty(now) != without_empty(rolled):
        raise NoWayBackError("somebody else changed its template meanwhile")
    if before == now:
        raise NoWayBackError("its template never changed, only its pods were replaced")
    key, path = work.key, pointer(*work.kind.template)
    operations = [
        {"op": "test", "path": "/metadata/uid", "value": work.before.metadata.uid},
        {"op": "test", "path": path, "value": now},
        *_record(clock, look, work),
        {"op": "replace", "path": path, "value": before},
    ]
    request = wire.json_patch(wire.resource_of(work.kind), key.namespace, key.name, operations)
    try:
        answer = await client.send(request)
    except Invalid:
        raise NoWayBackError("somebody else changed it meanwhile") from None
    look.world.workload_seen(work.kind, _manifest.decode(answer), watched=True)


def _bare(template: Any, words: Vocabulary) -> Any:
    """A template without what a roll writes into it."""
    template = copy.deepcopy(template)
    notes = (template.get("metadata") or {}).get("annotations") or {}
    if pins := read_pins(notes.get(PINS, "")):
        write_pins_into(template, "", pins, named=False)
    metadata, spec = dict(template.get("metadata") or {}), dict(template.get("spec") or {})
    annotations = metadata.get("annotations") or {}
    metadata["annotations"] = {
        name: text for name, text in annotations.items() if not _is_mark(name, words)
    }
    spec["containers"] = [
        {**one, "env": [v for v in one.get("env") or () if not _is_mark(v["name"], words)]}
        for one in spec.get("containers") or ()
    ]
    return without_empty({**template, "metadata": metadata, "spec": spec})


def _is_mark(name: str, words: Vocabulary) -> bool:
    return name == RESTARTED_AT or words.is_mark(name)


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
