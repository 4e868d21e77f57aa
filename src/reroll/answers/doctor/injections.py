"""Whether Injections have their values in place. Pure: their status in, findings out."""

from collections.abc import Iterator, Sequence

import msgspec

from reroll.answers.doctor.findings import Check, Finding
from reroll.core.model.injection import KIND, Condition
from reroll.core.model.metadata import Metadata
from reroll.core.model.podspec import given

INJECTIONS = Check("Injections")
SHOWN = 10


class InjectionStatus(msgspec.Struct, gc=False):
    class Status(msgspec.Struct, gc=False):
        conditions: list[Condition] | None = None

    metadata: Metadata
    status: Status = msgspec.field(default_factory=Status)

    @property
    def ready(self) -> Condition | None:
        found = given(self.status.conditions)
        return next((one for one in found if one.type == "Ready"), None)


def judge(found: Sequence[InjectionStatus], *, is_on: bool) -> Iterator[Finding]:
    """`is_on`: the setting says that there is somebody to look after them."""
    if found and not is_on:
        yield INJECTIONS.warning(
            f"there are {len(found)} Injections, and the controller does not read them",
            "set `injections: true`, or give this command the controller's --config",
        )
        return
    bad = [one for one in found if one.ready is None or one.ready.status != "True"]
    for one in bad[:SHOWN]:
        name = f"{KIND} {one.metadata.namespace}/{one.metadata.name}"
        why = one.ready.message if one.ready else "nobody has looked at it yet"
        yield INJECTIONS.warning(f"{name} is not in place: {why}", "see `kubectl describe` of it")
    if len(bad) > SHOWN:
        yield INJECTIONS.warning(
            f"{len(bad) - SHOWN} more Injections are not in place",
            "see `kubectl get injections -A`",
        )
    if found and not bad:
        yield INJECTIONS.ok(f"all {len(found)} Injections are in place")
