"""What waits for pods has workers of its own, a few for each namespace."""

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime
from operator import attrgetter

import msgspec
import pytest
from tests.controller.turned import TurnedLoop
from tests.core.build import snapshot

from reroll.controller.pace import Pacer
from reroll.core.decide.actions import Action, Reload
from reroll.core.decide.plan import Plan
from reroll.core.model.key import Key
from reroll.core.tables.reasons import Reason
from reroll.engine.outcome import Blocked, Done, Later, Step, TakenOver, Turn
from reroll.engine.slow_lane import OF_ONE_NAMESPACE, SlowLane
from reroll.engine.writes import Paces, rates
from reroll.kube.errors import Unavailable

FIRST = Reload(datetime(2030, 1, 1, tzinfo=UTC))
SECOND = Reload(datetime(2030, 1, 2, tzinfo=UTC))
REFUSED = Blocked(Reason.RELOAD_REFUSED, "no answer", 4.0)


def key(namespace: str, name: str = "web") -> Key:
    return Key("Deployment", namespace, name)


def turn(of: Key) -> Turn:
    seen = snapshot({})
    workload = msgspec.structs.replace(seen.workload, key=of)
    plan = Plan(Reason.CONTINUED, "", (FIRST,))
    return Turn(msgspec.structs.replace(seen, workload=workload), plan)


class Lane:
    """A lane whose actions end when, and as, the test says."""

    def __init__(self) -> None:
        self.loop = TurnedLoop()
        pacer: Paces = Pacer(self.loop.clock, rates(100.0, 500), attrgetter("namespace"))
        self.woken: list[Key] = []
        self.begun: list[tuple[Key, Action]] = []
        self.under_way: dict[Key, asyncio.Future[Step]] = {}
        self.lane = SlowLane(self.loop.clock, pacer, {Reload: self._reload}, self.woken.append)
        self.task = self.loop.create_task(self.lane.run())
        self.loop.turn()

    async def _reload(self, turn: Turn, action: Reload) -> Step:
        assert turn.key not in self.under_way, "one at a time"
        self.begun.append((turn.key, action))
        self.under_way[turn.key] = self.loop.create_future()
        try:
            return await self.under_way[turn.key]
        finally:
            del self.under_way[turn.key]

    def look(self, of: Key, action: Reload = FIRST) -> Step:
        step = self.loop.run_until_complete(self.lane.carry_out(turn(of), action))
        self.loop.turn()
        return step

    def answer(self, of: Key, step: Step | Exception) -> None:
        if isinstance(step, Exception):
            self.under_way[of].set_exception(step)
        else:
            self.under_way[of].set_result(step)
        self.loop.turn()


@pytest.fixture
def lane() -> Iterator[Lane]:
    made = Lane()
    yield made
    made.task.cancel()
    made.loop.turn()
    made.loop.close()


def test_a_look_hands_over_and_the_look_after_it_picks_up(lane: Lane) -> None:
    web = key("shop")
    assert lane.look(web) == TakenOver()
    assert lane.look(web) == TakenOver()
    assert lane.woken == []
    lane.answer(web, Done())

    assert lane.woken == [web]
    assert lane.look(web) == Done()
    assert lane.begun == [(web, FIRST)]


def test_400_that_never_answer_delay_no_other_namespace(lane: Lane) -> None:
    for number in range(400):
        assert lane.look(key("hostile", f"web-{number}")) == TakenOver()
    assert len(lane.under_way) == OF_ONE_NAMESPACE

    for number in range(20):
        other = key(f"quiet-{number}")
        assert lane.look(other) == TakenOver()
        lane.answer(other, Done())
        assert lane.look(other) == Done()

    assert len(lane.begun) == OF_ONE_NAMESPACE + 20


def test_what_was_in_vain_comes_after_what_was_not_tried_yet(lane: Lane) -> None:
    for number in range(OF_ONE_NAMESPACE + 3):
        lane.look(key("shop", f"web-{number}"))
    first = key("shop", "web-0")
    lane.answer(first, REFUSED)
    assert lane.look(first) == REFUSED
    assert lane.look(first) == TakenOver()

    for number in range(1, OF_ONE_NAMESPACE + 3):
        lane.answer(key("shop", f"web-{number}"), Done())

    assert [of.name for of, _ in lane.begun][-1] == "web-0"
    assert len(lane.begun) == OF_ONE_NAMESPACE + 4


def test_a_newer_roll_waits_for_the_older_request_and_gets_an_answer_of_its_own(
    lane: Lane,
) -> None:
    web = key("shop")
    lane.look(web, FIRST)
    assert lane.look(web, SECOND) == TakenOver()
    assert lane.begun == [(web, FIRST)]

    lane.answer(web, Done())  # It was asked for the first.

    assert lane.woken == []
    assert lane.begun == [(web, FIRST), (web, SECOND)]
    lane.answer(web, REFUSED)
    assert lane.look(web, SECOND) == REFUSED


def test_what_is_not_over_goes_on_without_a_look(lane: Lane) -> None:
    web = key("shop")
    lane.look(web)
    lane.answer(web, Later(2.0))
    lane.loop.turn(2.0)
    lane.answer(web, Done())

    assert lane.begun == [(web, FIRST)] * 2
    assert lane.woken == [web]


def test_an_error_is_raised_where_it_is_picked_up(lane: Lane) -> None:
    web = key("shop")
    lane.look(web)
    lane.answer(web, Unavailable("away"))

    assert lane.woken == [web]
    with pytest.raises(Unavailable):
        lane.look(web)
    assert lane.look(web) == TakenOver()
    assert len(lane.begun) == 2


def test_what_is_dropped_wakes_nobody(lane: Lane) -> None:
    web = key("shop")
    lane.look(web)
    lane.lane.drop(web)
    lane.answer(web, Done())

    assert lane.woken == []
    assert lane.look(web) == TakenOver()
    assert len(lane.begun) == 2


def test_each_step_takes_a_turn_of_the_pacer(lane: Lane) -> None:
    for number in range(101):
        web = key(f"shop-{number}")
        lane.look(web)
        if number < 100:
            lane.answer(web, Done())

    assert len(lane.begun) == 100
    lane.loop.turn(0.01)
    assert len(lane.begun) == 101


def test_an_error_of_what_is_no_longer_wanted_is_not_that_of_what_is(lane: Lane) -> None:
    web = key("shop")
    lane.look(web, FIRST)
    lane.look(web, SECOND)
    lane.answer(web, Unavailable("gone"))

    assert isinstance(lane.look(web, SECOND), TakenOver)
    lane.answer(web, Done())
    assert isinstance(lane.look(web, SECOND), Done)
