"""Going back by hand: a workload is pinned to the content of one of its revisions, as the user.

It is rolled to it with one guarded write, and stays there until a source changes again, or until
it is released.
"""

import msgspec

from reroll.core.decide.actions import Pin
from reroll.core.model.metadata import pick
from reroll.core.revisions.copies import renamed
from reroll.core.revisions.pins import Pins, write_pins
from reroll.core.tables.annotations import STAMP, STATE
from reroll.core.write.patches import Operation, patch, pointer
from reroll.kube import api, resources
from reroll.kube.errors import Invalid
from reroll.kube.objects import Stub
from reroll.kube.view import ListedWorkload, View
from reroll.pipeline.refused import RefusedError


async def pin_to(view: View, own: ListedWorkload, pins: Pins, stamp: str | None) -> None:
    """Pins and stamp as that revision has them: Kubernetes finds it, and makes no new one."""
    kind, manifest, workload = own
    raw = pick(manifest, kind.template)
    spec = (msgspec.json.decode(raw) if raw else {}).get("spec") or {}
    fields = renamed(spec, workload.pins, pins) if workload.named else ()
    pin = Pin(write_pins(pins), fields)
    guards: list[Operation] = [
        {"op": "test", "path": pointer("metadata", "uid"), "value": workload.uid},
        {
            "op": "test",
            "path": pointer("metadata", "annotations", STATE),
            "value": workload.record_text,
        },
    ]
    operations = [*guards, *patch(workload, kind, (pin,))]
    there, here = workload.marks.get(STAMP), (*kind.template, "metadata", "annotations", STAMP)
    if stamp != there:
        change = {"op": "add", "value": stamp} if stamp else {"op": "remove"}
        operations.append({"path": pointer(*here), **change})
    resource, (_, namespace, name) = resources.of(kind), workload.key
    try:
        await api.patch(view.client, resource, namespace, name, operations, Stub)
    except Invalid:
        raise RefusedError(
            f"{workload.key} was changed by somebody else at the same moment; look, and try again"
        ) from None
