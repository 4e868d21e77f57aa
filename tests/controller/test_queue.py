"""The four guarantees of the queue, for any order of things that can happen to it."""

import asyncio
from collections.abc import Iterator

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from tests.controller.turned import TurnedLoop

from reroll.controller.queue import Queue

KEYS = st.sampled_from("abcd")
DELAYS = st.sampled_from([0.0, 1.0, 2.0, 5.0])


class QueueMachine(RuleBasedStateMachine):
    """The queue beside a slow and simple one: for each key, when it is due and how urgent it is."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = TurnedLoop()
        self.queue: Queue[str] = Queue(self.loop.clock)
        self.takers: list[asyncio.Task[str]] = []
        self.later: dict[str, float] = {}
        self.ready: list[tuple[bool, str]] = []
        self.running: list[str] = []
        self.again: dict[str, tuple[float, bool]] = {}

    def teardown(self) -> None:
        for task in self.takers:
            task.cancel()
        self.loop.turn()
        self.loop.close()

    # What can happen

    @rule(key=KEYS, delay=DELAYS, urgent=st.booleans())
    def add(self, key: str, delay: float, urgent: bool) -> None:
        self.loop.inside(lambda: self.queue.add(key, delay, urgent=urgent))
        self._planned(key, self.loop.time() + delay, urgent=urgent)
        self._hand_out()

    @rule(seconds=st.sampled_from([0.5, 1.0, 3.0, 10.0]))
    def time_passes(self, seconds: float) -> None:
        self.loop.turn(seconds)
        now = self.loop.time()
        for key in sorted(self.later, key=lambda key: self.later[key]):
            if self.later[key] <= now:
                del self.later[key]
                self.ready.append((True, key))
        self._hand_out()

    @rule()
    def somebody_asks_for_a_key(self) -> None:
        self.takers.append(self.loop.create_task(self.queue.get()))
        self.loop.turn()
        self._hand_out()

    @precondition(lambda self: self.takers)
    @rule(data=st.data())
    def somebody_waits_no_longer(self, data: st.DataObject) -> None:
        task = data.draw(st.sampled_from(self.takers))
        task.cancel()
        self.loop.turn()
        self.takers.remove(task)

    @precondition(lambda self: self.running)
    @rule(data=st.data())
    def a_key_is_done(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(self.running))
        self.loop.inside(lambda: self.queue.done(key))
        self.running.remove(key)
        if key in self.again:
            due, urgent = self.again.pop(key)
            self._planned(key, due, urgent=urgent)
        self._hand_out()

    # What must be so

    @invariant()
    def a_key_is_in_it_once(self) -> None:
        waiting = [*self.later, *(key for _, key in self.ready), *self.again]
        assert len(set(waiting)) == len(waiting)
        assert len(self.queue) == len(waiting)

    @invariant()
    def a_key_runs_in_one_place_at_a_time(self) -> None:
        assert len(set(self.running)) == len(self.running)

    @invariant()
    def nobody_waits_while_a_key_is_due(self) -> None:
        assert not (self.takers and self.ready)

    # The simple queue

    def _planned(self, key: str, due: float, *, urgent: bool) -> None:
        """The earliest time wins, and so does urgency."""
        if (False, key) in self.ready and urgent and due <= self.loop.time():
            self.ready.remove((False, key))
            self.ready.append((True, key))
        elif any(key == other for _, other in self.ready):
            return
        elif key in self.running:
            before = self.again.get(key, (due, urgent))
            self.again[key] = (min(due, before[0]), urgent or before[1])
        elif due <= self.loop.time():
            self.later.pop(key, None)
            self.ready.append((urgent, key))
        elif due < self.later.get(key, due + 1):
            self.later.pop(key, None)
            self.later[key] = due

    def _hand_out(self) -> None:
        """Whoever asked first got the key that comes first."""
        for task in [task for task in self.takers if task.done()]:
            first = min(self.ready, key=lambda entry: not entry[0])
            assert task.result() == first[1]
            self.ready.remove(first)
            self.running.append(first[1])
            self.takers.remove(task)


TestQueue = QueueMachine.TestCase
TestQueue.settings = settings(max_examples=150, stateful_step_count=40)


@pytest.fixture
def loop() -> Iterator[TurnedLoop]:
    made = TurnedLoop()
    yield made
    made.close()


def test_a_key_that_only_a_timer_can_bring_comes_to_who_waits(loop: TurnedLoop) -> None:
    queue: Queue[str] = Queue(loop.clock)
    taker = loop.create_task(queue.get())
    loop.inside(lambda: queue.add("a", 5.0))

    loop.turn(4.9)
    assert not taker.done()
    loop.turn(0.2)
    assert taker.result() == "a"


def test_a_key_that_was_due_before_and_is_added_again_comes_after_those_in_between(
    loop: TurnedLoop,
) -> None:
    queue: Queue[str] = Queue(loop.clock)
    loop.inside(lambda: queue.add("again", 1.0))
    loop.inside(lambda: queue.add("other", 1.0))
    loop.inside(lambda: queue.add("again"))
    assert loop.run_until_complete(queue.get()) == "again"
    queue.done("again")
    loop.inside(lambda: queue.add("again", 1.0))

    loop.turn(1.0)

    assert [loop.run_until_complete(queue.get()) for _ in range(2)] == ["other", "again"]


def test_a_patient_key_that_becomes_urgent_goes_first(loop: TurnedLoop) -> None:
    queue: Queue[str] = Queue(loop.clock)
    for key in ("first", "second", "third"):
        queue.add(key, urgent=False)
    queue.add("third")
    queue.add("second", 5.0)
    queue.add("third", urgent=False)

    order = [loop.run_until_complete(queue.get()) for _ in range(3)]

    assert order == ["third", "first", "second"]


def test_the_age_is_that_of_the_key_that_waits_longest(loop: TurnedLoop) -> None:
    queue: Queue[str] = Queue(loop.clock)
    assert queue.oldest == 0.0
    queue.add("patient", urgent=False)
    loop.clock.move(3.0)
    queue.add("urgent")
    loop.clock.move(2.0)

    assert queue.oldest == 5.0


def test_what_is_cleared_never_comes(loop: TurnedLoop) -> None:
    queue: Queue[str] = Queue(loop.clock)
    for key, delay in (("a", 0.0), ("b", 1.0)):
        loop.inside(lambda key=key, delay=delay: queue.add(key, delay))
    queue.clear()
    taker = loop.create_task(queue.get())
    loop.turn(10.0)

    assert not taker.done()
    taker.cancel()
    loop.turn()


def test_draining_waits_for_what_runs_and_for_nothing_else(loop: TurnedLoop) -> None:
    queue: Queue[str] = Queue(loop.clock)
    queue.add("runs")
    queue.add("waits")
    assert loop.run_until_complete(queue.get()) == "runs"

    drained = loop.create_task(queue.drain())
    taker = loop.create_task(queue.get())
    queue.add("runs")
    queue.add("new")
    loop.turn()
    assert not drained.done()
    queue.done("runs")
    loop.turn()

    assert drained.done()
    assert len(queue) == 0
    assert not taker.done()
    taker.cancel()
    loop.turn()
