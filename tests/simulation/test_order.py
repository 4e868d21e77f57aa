"""Who comes first when a replica begins to lead."""

from datetime import timedelta

import msgspec
from tests.simulation.model import Model
from tests.simulation.virtual_time import run

from reroll.settings.table import Settings


async def _first_written(names: list[str], changed: str) -> str:
    """Of these workloads, the one that a new leader writes first; nobody led when one changed."""
    model = Model(Settings(concurrency=1, debounce=timedelta()), seed=5)
    for name in names:
        model.source(name)
        model.workload(name, (name,))
    written: list[str] = []

    def note(plural: str, raw: bytes, gone: bool) -> None:
        if plural == "deployments" and b"reroll.dev/state" in raw:
            written.append(msgspec.json.decode(raw)["metadata"]["name"])

    model.store.watchers.append(note)
    replica = await model._replica()
    model.change("v1", changed)
    await model.pass_time(5)
    replica.lead()
    await model.settle(quiet=60)
    return written[0]


def test_what_changed_while_nobody_led_comes_first() -> None:
    names = [f"web-{number:02}" for number in range(20)]

    assert run(_first_written(names, names[13])) == names[13]
