"""What propagation costs with very many workloads on one source: looks, seconds and bytes.

python -m tests.simulation.measure [number of workloads ...]
"""

import gc
import sys
import time
import tracemalloc
from collections import Counter
from typing import NamedTuple

from tests.simulation.controllers import Replica
from tests.simulation.model import Model
from tests.simulation.virtual_time import run

from reroll.engine import propagation
from reroll.engine.executor import Executor
from reroll.settings.table import Settings


class Cost(NamedTuple):
    workloads: int
    rolls: int
    looks: int
    """Decisions for the change, verdicts among them."""
    comparisons: int
    """How often it was found out where a workload stands with its sources."""
    calls: int
    """Requests to the API server."""
    seconds: float
    """Of the processor, the model of the cluster included."""


async def cost(size: int, settings: Settings | None = None) -> Cost:
    model, counts = Model(settings, seed=3), Counter[str]()
    _fill(model, size, max_parallel="doubling")
    await model.start()
    await model.settle(quiet=60)
    gc.collect()
    gc.freeze()  # As a controller does once it has started.
    with _counted(counts):
        calls, began = model.store.calls, time.process_time()
        model.change("v1")
        await model.settle(quiet=60)
        seconds = time.process_time() - began
    gc.unfreeze()
    left = [name for name in model.names() if model.values(name) != {"app": "v1"}]
    assert not left, f"{len(left)} were left behind"
    rolls = len(model.laws.rolls)
    return Cost(size, rolls, counts["look"], counts["place"], model.store.calls - calls, seconds)


class _counted:  # noqa: N801  a context manager, used as a function is
    """Counts decisions and placements while it is open."""

    def __init__(self, counts: Counter[str]) -> None:
        self._counts = counts
        self._look, self._members = Executor._reconcile, propagation.members

    def __enter__(self) -> None:
        async def look(executor, key):
            self._counts["look"] += 1
            return await self._look(executor, key)

        def members(*arguments, **named):
            self._counts["place"] += 1
            return self._members(*arguments, **named)

        Executor._reconcile, propagation.members = look, members

    def __exit__(self, *_: object) -> None:
        Executor._reconcile, propagation.members = self._look, self._members


def _fill(model: Model, size: int, **pace: str) -> None:
    model.source()
    for number in range(size):
        model.workload(f"web-{number:05}", **pace)


async def _bytes(size: int, **pace: str) -> int:
    """What a controller keeps for so many workloads."""
    model = Model(seed=3)
    _fill(model, size, **pace)
    gc.collect()
    tracemalloc.start()
    replica = Replica(model.store, model.clock, model.settings, model.faults, 1)
    await replica.start()
    gc.collect()
    found = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert len(replica.world.workloads) == size
    return found


def more_bytes(size: int) -> float:
    """For each workload, with `doubling` more than without."""
    # An annotation more is not what propagation costs: `wave` of 0 is the default.
    plain = run(_bytes(size, wave="0"))
    return (run(_bytes(size, max_parallel="doubling")) - plain) / size


def main() -> None:
    for size in [int(text) for text in sys.argv[1:]] or [1000, 5000, 10_000]:
        found = run(cost(size))
        each = found.seconds / found.rolls * 1000
        print(  # noqa: T201
            f"{size} workloads: {found.rolls} rolls, {found.looks / size:.1f} looks, "
            f"{found.comparisons / size:.1f} comparisons and {found.calls / size:.1f} calls each, "
            f"{found.seconds:.1f} s ({each:.2f} ms each)",
            flush=True,
        )
        print(f"{size} workloads: {more_bytes(size):.0f} bytes more each", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
