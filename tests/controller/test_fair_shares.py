"""Queue, line and worker together: to wait for a turn costs no look, nor more for the crowd."""

import asyncio
from collections import Counter
from collections.abc import Iterator

import pytest
from tests.controller.turned import TurnedLoop

from reroll.controller.pace import Backoff, Line, Rate
from reroll.controller.queue import Queue
from reroll.controller.worker import Worker

DEBOUNCE = 1.0
BY_DEFAULT = Rate(100.0, 500)
WORKERS = 32


def share(key: str) -> str:
    return key.partition("/")[0]


class Rolls:
    """Workloads whose source changes: each is looked at, debounced, paced, and rolled."""

    def __init__(self) -> None:
        self.loop = TurnedLoop()
        clock = self.loop.clock
        self.queue: Queue[str] = Queue(clock, share=share)
        self.line: Line[str] = Line(clock, BY_DEFAULT, share=share, wake=self.queue.add)
        self.quiet_at: dict[str, float] = {}
        self.looks: Counter[str] = Counter()
        self.rolled: list[str] = []
        worker = Worker(self.queue, self.look, Backoff(clock))
        self.task = self.loop.create_task(worker.run(WORKERS))

    def change(self, *keys: str) -> None:
        """As the feature does it."""

        def called() -> None:
            for key in keys:
                self.quiet_at[key] = self.loop.time() + DEBOUNCE
                if self.line.admit(key):
                    self.queue.add(key)

        self.loop.inside(called)
        self.settle()

    async def look(self, key: str) -> float | None:
        """As the executor does it."""
        self.looks[key] += 1
        await asyncio.sleep(0)
        left = self.quiet_at[key] - self.loop.time()
        if left > 0:
            return left
        if self.line.wait(key):
            return None
        self.line.take(key)
        self.rolled.append(key)
        return None

    def settle(self, seconds: float = 0.0) -> None:
        """Let time pass, and everything happen that is due then."""
        self.loop.turn(seconds)
        while self.queue.is_ready:
            self.loop.turn()
        self.loop.turn()


@pytest.fixture
def rolls() -> Iterator[Rolls]:
    made = Rolls()
    yield made
    made.line.clear()
    made.task.cancel()
    made.loop.turn()
    made.loop.close()


def crowd(number: int, namespaces: int = 1) -> list[str]:
    return [f"crowd-{n % namespaces}/{n}" for n in range(number)]


@pytest.mark.parametrize("namespaces", [1, 50])
def test_a_source_of_5000_workloads_costs_at_most_1_2_looks_a_roll(
    rolls: Rolls, namespaces: int
) -> None:
    keys = crowd(5000, namespaces)
    rolls.change(*keys)
    at_once = []
    for _ in range(1000):
        before = len(rolls.rolled)
        rolls.settle(0.05)
        at_once.append(len(rolls.rolled) - before)

    assert sorted(rolls.rolled) == sorted(keys)
    assert rolls.looks.total() <= 1.2 * len(keys)
    assert sum(at_once[:22]) <= BY_DEFAULT.burst + 1.1 * BY_DEFAULT.per_second
    assert max(at_once[22:]) <= 0.05 * BY_DEFAULT.per_second + 1


def test_changes_of_what_waits_for_its_turn_cost_no_look(rolls: Rolls) -> None:
    keys = crowd(4000)
    rolls.change(*keys)
    waiting = keys[BY_DEFAULT.burst :]
    before = rolls.looks.total()

    for _ in range(20):
        rolls.change(*waiting)

    assert rolls.looks.total() == before


def test_a_quiet_namespace_has_the_next_turn_but_one(rolls: Rolls) -> None:
    flapping = crowd(4000)
    rolls.change(*flapping)
    for _ in range(100):
        rolls.settle(0.1)
        rolls.change(*flapping[::2])
    rolls.change("quiet/web")

    for _ in range(2):
        rolls.settle(1 / BY_DEFAULT.per_second)
    assert rolls.looks["quiet/web"] == 1
    rolls.settle(DEBOUNCE)
    assert "quiet/web" in rolls.rolled
    assert rolls.looks["quiet/web"] == 2
