"""What a change costs that goes to many."""

import asyncio

import msgspec
from tests.simulation.measure import cost
from tests.simulation.model import Model
from tests.simulation.virtual_time import run

from reroll.controller.pace import PATIENCE
from reroll.core.tables.annotations import STATE
from reroll.engine.writes import RECORDS_FOR_A_ROLL
from reroll.settings.table import Settings

RELOADED = "configmap.reloader.stakater.com/reload"
"""What an expression finds later is recorded, and rolls nothing."""


def test_who_waits_for_the_pace_keeps_its_turn() -> None:
    size = 150

    found = run(cost(size, Settings(rate=2, burst=2)))

    assert found.rolls == size
    # One more than with no pace: each is told once that it waits.
    assert found.looks <= 9.5 * size


def test_records_of_very_many_are_written_once_each_and_at_their_rate() -> None:
    """One object that all of them come to use, or a deploy that removes all their records."""
    size, rate = 120, 2
    found = run(_records(size, Settings(rate=rate, burst=2, dialects=("reroll", "reloader"))))

    for times, why in found:
        assert len(times) == size, f"{why}: one write for each"
        most = RECORDS_FOR_A_ROLL * rate
        for at in times:  # A burst, and what the rate gives in a second and in the turns kept.
            busiest = sum(at <= other < at + 1 for other in times)
            assert busiest <= 2 * most + most * PATIENCE, why
        assert max(times) - min(times) >= (size - most) / most / 2, f"{why}: they are spread"


async def _records(size: int, settings: Settings) -> list[tuple[list[float], str]]:
    """When which records were written, because of a new source, and because all were removed."""
    model, written = Model(settings, seed=5), list[float]()
    model.source()
    for number in range(size):
        model.workload(name := f"web-{number:05}")
        model.edit(name, {"metadata": {"annotations": {RELOADED: "extra-.*"}}})
    await model.start()
    await model.settle(quiet=60)

    known: dict[str, str | None] = {}

    def note(plural: str, raw: bytes, _: bool) -> None:
        if plural == "deployments":
            metadata = msgspec.json.decode(raw)["metadata"]
            state = metadata["annotations"].get(STATE)
            if state is not None and known.get(metadata["name"]) != state:
                written.append(asyncio.get_running_loop().time())
            known[metadata["name"]] = state

    found = []
    for why in ("a new source", "records that were removed"):
        for one in model.store.all("deployments").values():
            known[one["metadata"]["name"]] = one["metadata"]["annotations"].get(STATE)
        model.store.watchers.append(note)
        if why == "a new source":
            model.source("extra-1")
        else:
            for name in model.names():
                model.edit(name, {"metadata": {"annotations": {STATE: None}}})
        await model.settle(quiet=60)
        model.store.watchers.remove(note)
        assert not model.laws.rolls
        found.append((written.copy(), why))
        written.clear()
    return found
