"""The guarantees of the queue, for any order of things that can happen to it."""

import asyncio
from collections.abc import Iterator

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from tests.controller.turned import TurnedLoop

from reroll.controller.aside import AT_ONCE, MOST, PATIENCE
from reroll.controller.queue import URGENT_IN_A_ROW, Queue

KEYS = st.sampled_from(["a1", "a2", "a3", "b1", "b2", "c1"])
DELAYS = st.sampled_from([0.0, 1.0, 2.0, 5.0])


def share(key: str) -> str:
    return key[0]


class Simple:
    """Keys that leave in turn, slowly: `turns` are the shares that may have one, in their order."""

    def __init__(self) -> None:
        self.keys: list[str] = []
        self.turns: list[str] = []

    def add(self, key: str, *, rests: bool) -> None:
        self.keys.append(key)
        if not rests and share(key) not in self.turns:
            self.turns.append(share(key))

    def remove(self, key: str) -> None:
        self.keys.remove(key)
        if share(key) not in map(share, self.keys) and share(key) in self.turns:
            self.turns.remove(share(key))

    def pop(self) -> str:
        first = self.turns.pop(0)
        key = next(key for key in self.keys if share(key) == first)
        self.keys.remove(key)
        if first in map(share, self.keys):
            self.turns.append(first)
        return key

    def rest(self, name: str) -> None:
        self.turns = [one for one in self.turns if one != name]

    def resume(self, name: str) -> None:
        if name in map(share, self.keys) and name not in self.turns:
            self.turns.append(name)


class QueueMachine(RuleBasedStateMachine):
    """The queue beside a slow and simple one: for each key, when it is due and how urgent it is."""

    most: int | None = None
    most_patient: int | None = None

    def __init__(self) -> None:
        super().__init__()
        self.loop = TurnedLoop()
        self.queue: Queue[str] = Queue(
            self.loop.clock, share=share, most=self.most, patient=self.most_patient
        )
        self.takers: list[asyncio.Task[str]] = []
        self.later: dict[str, float] = {}
        self.urgent, self.patient = Simple(), Simple()
        self.in_a_row = 0
        self.running: list[str] = []
        self.aside: dict[str, tuple[asyncio.Future[None], float]] = {}
        """Of those that run: who stepped aside, and when."""
        self.patiently: set[str] = set()
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
                self.urgent.add(key, rests=self._rests(key))
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

    @rule(key=KEYS)
    def a_key_is_withdrawn(self, key: str) -> None:
        self.loop.inside(lambda: self.queue.withdraw(key))
        self.later.pop(key, None)
        for lane in (self.urgent, self.patient):
            if key in lane.keys:
                lane.remove(key)

    @precondition(lambda self: self.running)
    @rule(data=st.data())
    def a_key_is_done(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(self.running))
        self.loop.inside(lambda: self.queue.done(key))
        self.running.remove(key)
        self.aside.pop(key, None)
        self.patiently.discard(key)
        if self.most is not None and not self._rests(key):
            self.urgent.resume(share(key))
            self.patient.resume(share(key))
        if key in self.again:
            due, urgent = self.again.pop(key)
            self._planned(key, due, urgent=urgent)
        self._hand_out()

    @precondition(lambda self: set(self.running) - self.aside.keys())
    @rule(data=st.data())
    def a_key_steps_aside(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from([one for one in self.running if one not in self.aside]))
        has_others = bool(self._runs(share(key)) - {key}) or self._is_due(share(key))
        turns: list[asyncio.Future[None] | None] = []
        self.loop.inside(lambda: turns.append(self.queue.step_aside(key)))
        (turn,) = turns
        is_patient = self.most_patient is not None and key in self.patiently
        may = self.most is not None and has_others and not is_patient
        assert (turn is not None) == may
        if turn is None:
            return
        self.aside[key] = turn, self.loop.time()
        if not self._rests(key):
            self.urgent.resume(share(key))
            self.patient.resume(share(key))
        self._hand_out()

    # What must be so

    @invariant()
    def who_stepped_aside_goes_on_when_nobody_of_its_share_needs_its_place(self) -> None:
        for key, (turn, since) in self.aside.items():
            needed = bool(self._runs(share(key))) or self._is_due(share(key))
            assert needed or turn.done()
            assert turn.done() or self.loop.time() < since + PATIENCE

    @invariant()
    def a_key_is_in_it_once(self) -> None:
        waiting = [*self.later, *self.urgent.keys, *self.patient.keys, *self.again]
        assert len(set(waiting)) == len(waiting)
        assert len(self.queue) == len(waiting)

    @invariant()
    def a_key_runs_in_one_place_at_a_time(self) -> None:
        assert len(set(self.running)) == len(self.running)

    @invariant()
    def no_share_runs_more_than_it_may(self) -> None:
        running = [share(key) for key in self.running if key not in self.aside]
        assert self.most is None or all(running.count(one) <= self.most for one in running)

    @invariant()
    def of_those_that_are_not_urgent_no_more_run_than_may(self) -> None:
        assert self.most_patient is None or len(self.patiently) <= self.most_patient

    @invariant()
    def nobody_waits_while_a_key_may_leave(self) -> None:
        may_leave = self.urgent.turns or (self.patient.turns and self._has_room())
        assert self.queue.is_ready == bool(may_leave)
        assert not (self.takers and may_leave)

    # The simple queue

    def _rests(self, key: str) -> bool:
        """Whether as many keys of its share run as may."""
        return self.most is not None and len(self._runs(share(key))) >= self.most

    def _runs(self, name: str) -> set[str]:
        """The keys of a share that run, without those that stepped aside."""
        return {key for key in self.running if share(key) == name and key not in self.aside}

    def _is_due(self, name: str) -> bool:
        """Whether an urgent key of a share waits."""
        return name in map(share, self.urgent.keys)

    def _has_room(self) -> bool:
        """Whether one that is not urgent may run."""
        return self.most_patient is None or len(self.patiently) < self.most_patient

    def _planned(self, key: str, due: float, *, urgent: bool) -> None:
        """The earliest time wins, and so does urgency."""
        if key in self.patient.keys and urgent and due <= self.loop.time():
            self.patient.remove(key)
            self.urgent.add(key, rests=self._rests(key))
        elif key in self.patient.keys or key in self.urgent.keys:
            return
        elif key in self.running:
            before = self.again.get(key, (due, urgent))
            self.again[key] = (min(due, before[0]), urgent or before[1])
        elif due <= self.loop.time():
            self.later.pop(key, None)
            (self.urgent if urgent else self.patient).add(key, rests=self._rests(key))
        elif due < self.later.get(key, due + 1):
            self.later.pop(key, None)
            self.later[key] = due

    def _hand_out(self) -> None:
        """Those who asked got the keys that come first."""
        served = [task for task in self.takers if task.done()]
        keys = []
        for task in served:
            keys.append(key := self._pop())
            self.running.append(key)
            self.takers.remove(task)
            if self._rests(key):
                self.urgent.rest(share(key))
                self.patient.rest(share(key))
        assert sorted(task.result() for task in served) == sorted(keys)

    def _pop(self) -> str:
        if not self.patient.turns:
            self.in_a_row = 0
            return self.urgent.pop()
        if self.urgent.turns and (self.in_a_row < URGENT_IN_A_ROW or not self._has_room()):
            self.in_a_row += 1
            return self.urgent.pop()
        self.in_a_row = 0
        key = self.patient.pop()
        self.patiently.add(key)
        return key


class LimitedMachine(QueueMachine):
    most = 2


class PatientMachine(QueueMachine):
    most_patient = 1


class TwiceLimitedMachine(QueueMachine):
    most, most_patient = 2, 2


TestQueue = QueueMachine.TestCase
TestLimited = LimitedMachine.TestCase
TestPatient = PatientMachine.TestCase
TestTwiceLimited = TwiceLimitedMachine.TestCase
TestQueue.settings = TestLimited.settings = settings(max_examples=150, stateful_step_count=40)
TestPatient.settings = TestTwiceLimited.settings = TestQueue.settings


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


def test_a_key_that_becomes_urgent_need_not_wait_for_those_that_are_not(loop: TurnedLoop) -> None:
    queue: Queue[str] = Queue(loop.clock, patient=1)
    running, waiting = loop.create_task(queue.get()), loop.create_task(queue.get())
    for key in ("first", "second"):
        loop.inside(lambda key=key: queue.add(key, urgent=False))
    assert (running.result(), waiting.done()) == ("first", False)

    loop.inside(lambda: queue.add("second"))

    assert waiting.result() == "second"


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


def test_a_quiet_share_comes_next_but_one_however_many_keys_another_has(loop: TurnedLoop) -> None:
    queue: Queue[str] = Queue(loop.clock, share=share)
    for number in range(4000):
        queue.add(f"noisy-{number}")
    queue.add("quiet-1")
    queue.add("quiet-2")

    order = [loop.run_until_complete(queue.get()) for _ in range(5)]

    assert order == ["noisy-0", "quiet-1", "noisy-1", "quiet-2", "noisy-2"]


def test_a_share_that_comes_again_and_again_gets_no_more_than_its_turns(loop: TurnedLoop) -> None:
    queue: Queue[str] = Queue(loop.clock, share=share)
    for name in ("a1", "a2", "b1", "c1"):
        queue.add(name)
    order = []
    for _ in range(9):
        order.append(key := loop.run_until_complete(queue.get()))
        queue.done(key)
        queue.add(key)

    assert "".join(map(share, order)) == "abcabcabc"


def test_what_is_not_urgent_leaves_though_urgent_keys_never_end(loop: TurnedLoop) -> None:
    queue: Queue[str] = Queue(loop.clock, share=share)
    queue.add("patient", urgent=False)
    queue.add("urgent")
    order = []
    while "patient" not in order:
        assert len(order) <= URGENT_IN_A_ROW
        order.append(key := loop.run_until_complete(queue.get()))
        queue.done(key)
        queue.add("urgent")

    assert len(order) == URGENT_IN_A_ROW + 1


def test_who_stepped_aside_goes_on_after_a_while_though_others_never_end(loop: TurnedLoop) -> None:
    queue: Queue[str] = Queue(loop.clock, share=share, most=1)
    queue.add("a1")
    queue.add("a2")
    first = loop.run_until_complete(queue.get())
    turns: list[asyncio.Future[None] | None] = []
    loop.inside(lambda: turns.append(queue.step_aside(first)))
    assert loop.run_until_complete(queue.get()) == "a2"
    (turn,) = turns
    assert turn is not None

    loop.turn(PATIENCE * 0.9)
    assert not turn.done()
    loop.turn(PATIENCE * 0.2)

    assert turn.done()


def test_another_share_is_nothing_to_wait_for(loop: TurnedLoop) -> None:
    queue: Queue[str] = Queue(loop.clock, share=share, most=1)
    for key in ("a1", "b1", "b2"):
        queue.add(key)
    assert loop.run_until_complete(queue.get()) == "a1"

    assert queue.step_aside("a1") is None


def test_no_more_step_aside_than_there_is_room_for(loop: TurnedLoop) -> None:
    queue: Queue[str] = Queue(loop.clock, share=share, most=MOST + 2)
    for number in range(MOST + 2):
        queue.add(f"a{number}")
    keys = [loop.run_until_complete(queue.get()) for _ in range(MOST + 2)]
    turns: list[asyncio.Future[None] | None] = []
    loop.inside(lambda: turns.extend(queue.step_aside(key) for key in keys))

    assert [turn is None for turn in turns] == [False] * MOST + [True] * 2


def test_those_who_go_on_do_so_a_few_at_a_time(loop: TurnedLoop) -> None:
    queue: Queue[str] = Queue(loop.clock, share=share, most=100)
    for number in range(AT_ONCE * 2 + 1):
        queue.add(f"a{number}")
    keys = [loop.run_until_complete(queue.get()) for _ in range(AT_ONCE * 2 + 1)]
    turns: list[asyncio.Future[None] | None] = []
    loop.inside(lambda: turns.extend(queue.step_aside(key) for key in keys[1:]))
    done: list[int] = []

    async def look() -> None:
        queue.done(keys[0])
        for _ in range(3):
            done.append(sum(turn is not None and turn.done() for turn in turns))
            await asyncio.sleep(0)

    loop.run_until_complete(look())

    assert done == [AT_ONCE, AT_ONCE * 2, AT_ONCE * 2]


def test_draining_lets_those_go_on_who_stepped_aside(loop: TurnedLoop) -> None:
    queue: Queue[str] = Queue(loop.clock, share=share, most=1)
    queue.add("a1")
    queue.add("a2")
    assert loop.run_until_complete(queue.get()) == "a1"
    turns: list[asyncio.Future[None] | None] = []
    loop.inside(lambda: turns.append(queue.step_aside("a1")))

    drained = loop.create_task(queue.drain())
    loop.turn()
    (turn,) = turns
    assert turn is not None
    assert turn.done()
    assert not drained.done()
    queue.done("a1")
    loop.turn()

    assert drained.done()
