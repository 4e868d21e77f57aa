"""What does not get through: how long it is tried, and what it costs."""

from functools import partial

from tests.controller.turned import TurnedLoop
from tests.features.notices.telling import about, row, web
from tests.features.notices.told import ALERTS, GATHER, Receiver

from reroll.core.tables.news import News
from reroll.features.notices.bulletin import State
from reroll.features.notices.courier import GIVE_UP, LONGEST_RETRY
from reroll.features.notices.incidents import MOST, MOST_INFORMATION
from reroll.features.notices.sending import NotSent


def test_a_receiver_that_asks_for_time_gets_it(receiver: Receiver, loop: TurnedLoop) -> None:
    receiver.begin(row())
    receiver.problem = NotSent("429", 120.0)
    receiver.problem_of([1])
    receiver.problem_of([2], change="c2")
    loop.turn(GATHER)
    assert receiver.tries == 1
    receiver.problem = None
    loop.turn(119)
    assert receiver.tries == 1
    loop.turn(2)
    loop.turn(2)
    assert receiver.states == [(State.OPEN, 1)] * 2


def test_what_fails_for_an_hour_is_dropped_and_counted(
    receiver: Receiver, loop: TurnedLoop
) -> None:
    receiver.begin(row())
    receiver.problem = NotSent("no server")
    receiver.problem_of([1])
    loop.turn(GATHER)
    for _ in range(int(GIVE_UP / LONGEST_RETRY) + 10):
        loop.turn(LONGEST_RETRY)
    assert receiver.count.value("team", "dropped") == 1
    tries = receiver.tries
    receiver.problem = None
    receiver.well([1])
    loop.turn(GIVE_UP)
    assert receiver.tries == tries
    assert receiver.stored == "[]"


def test_a_dead_receiver_costs_bounded_memory(receiver: Receiver, loop: TurnedLoop) -> None:
    courier = receiver.begin(row(about=["all"]))
    receiver.problem = NotSent("no server")
    for number in range(500):
        receiver.problem_of([number % 50], change=f"c{number}")
        done = about(News.ROLLED, change=f"c{number}")
        loop.inside(partial(courier.done, web(number), done, "rolled"))
        if number % 20 == 0:
            loop.turn(GATHER)
    loop.turn(LONGEST_RETRY)
    most = MOST + MOST_INFORMATION + len(News) + 1
    assert len(courier.incidents.open) <= most
    assert len(courier.queue) <= most
    assert len(courier._failing) <= most
    assert len(receiver.stored) < 100_000


def test_an_alert_is_not_given_up_while_it_is_so(receiver: Receiver, loop: TurnedLoop) -> None:
    receiver.begin(row(ALERTS))
    receiver.problem = NotSent("no server")
    receiver.problem_of([1])
    for _ in range(30):
        loop.turn(LONGEST_RETRY)
    assert receiver.count.value("team", "dropped") >= 1
    receiver.problem = None
    loop.turn(LONGEST_RETRY)
    loop.turn(LONGEST_RETRY)
    assert (State.OPEN, 1) in receiver.states


def test_what_begins_again_while_its_end_is_sent_is_told_as_another(
    receiver: Receiver, loop: TurnedLoop
) -> None:
    receiver.begin(row())
    receiver.problem_of([1])
    loop.turn(GATHER)
    receiver.well([1])

    def again() -> None:
        receiver.on_answer = lambda: None
        receiver.courier.problem(web(1), about(), "why")

    receiver.on_answer = again
    loop.turn(GATHER)
    loop.turn(GATHER)
    assert receiver.states == [(State.OPEN, 1), (State.OVER, 1), (State.OPEN, 1)]
    assert receiver.seen[0][1] != receiver.seen[2][1]
