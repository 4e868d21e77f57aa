"""What one receiver is told, and when, across restarts too."""

from tests.controller.turned import TurnedLoop
from tests.features.notices.telling import about, row, web
from tests.features.notices.told import ALERTS, BOT, GATHER, Receiver

from reroll.core.tables.news import News
from reroll.features.notices.bulletin import State
from reroll.features.notices.courier import GIVE_UP
from reroll.features.notices.sending import NotSent
from reroll.features.notices.state import read


def test_a_storm_is_one_message_and_its_end_another(receiver: Receiver, loop: TurnedLoop) -> None:
    receiver.begin(row())
    receiver.problem_of(range(200))
    loop.turn(GATHER - 1)
    assert receiver.states == []
    loop.turn(1)
    assert receiver.states == [(State.OPEN, 200)]

    receiver.well(range(200))
    loop.turn(GATHER)
    assert receiver.states == [(State.OPEN, 200), (State.OVER, 200)]
    assert receiver.stored == "[]"
    assert receiver.seen[0][1] == receiver.seen[1][1]


def test_what_is_over_before_it_is_told_is_not_told(receiver: Receiver, loop: TurnedLoop) -> None:
    receiver.begin(row())
    receiver.problem_of([1])
    receiver.well([1])
    loop.turn(GATHER)
    assert receiver.states == []


def test_what_comes_back_at_once_has_not_ended(receiver: Receiver, loop: TurnedLoop) -> None:
    receiver.begin(row())
    receiver.problem_of([1])
    loop.turn(GATHER)
    receiver.well([1])
    receiver.problem_of([1])
    loop.turn(10 * GATHER)
    assert receiver.states == [(State.OPEN, 1)]


def test_more_workloads_are_told_only_where_the_message_can_be_updated(
    receiver: Receiver, loop: TurnedLoop
) -> None:
    receiver.begin(row())
    receiver.problem_of([1])
    loop.turn(GATHER)
    receiver.problem_of([2, 3])
    loop.turn(GATHER)
    assert receiver.states == [(State.OPEN, 1)]
    receiver.kill()

    receiver.seen.clear()
    receiver.stored = "[]"
    receiver.begin(row(BOT))
    receiver.problem_of([1])
    loop.turn(GATHER)
    receiver.problem_of([2, 3])
    loop.turn(GATHER)
    assert receiver.states == [(State.OPEN, 1), (State.OPEN, 3)]


def test_an_alert_is_sent_again_while_it_is_so(receiver: Receiver, loop: TurnedLoop) -> None:
    receiver.begin(row(ALERTS))
    receiver.problem_of([1])
    loop.turn(GATHER)
    for _ in range(3):
        loop.turn(60)
    assert receiver.states == [(State.OPEN, 1)] * 4
    receiver.well([1])
    loop.turn(60)
    loop.turn(600)
    assert receiver.states[4:] == [(State.OVER, 1)]


def test_news_that_it_is_not_about_are_not_told(receiver: Receiver, loop: TurnedLoop) -> None:
    receiver.begin(row(about=["stopped"]))
    receiver.problem_of([1], news=News.FAILED)
    loop.turn(GATHER)
    assert receiver.states == []


# Restarts


def test_a_new_leader_tells_nothing_twice_and_the_end_of_what_was_told(
    receiver: Receiver, loop: TurnedLoop
) -> None:
    receiver.begin(row())
    receiver.problem_of(range(3))
    loop.turn(GATHER)
    receiver.kill()

    receiver.begin(row(), sweep=False)
    receiver.problem_of(range(3))
    loop.turn(GATHER)
    receiver.sweep()
    loop.turn(GATHER)
    assert receiver.states == [(State.OPEN, 3)]
    receiver.kill()

    receiver.begin(row(), sweep=False)  # Meanwhile all is well.
    loop.turn(10 * GATHER)
    assert receiver.states == [(State.OPEN, 3)]
    receiver.sweep()
    assert receiver.states == [(State.OPEN, 3), (State.OVER, 3)]


def test_what_was_not_answered_is_told_again_as_the_same(
    receiver: Receiver, loop: TurnedLoop
) -> None:
    receiver.begin(row())
    receiver.problem = NotSent("no answer", maybe=True)
    receiver.problem_of([1])
    loop.turn(GATHER)
    receiver.kill()

    receiver.problem = None
    loop.turn(3600)
    receiver.begin(row(), sweep=False)
    receiver.problem_of([1])
    loop.turn(GATHER)
    [only] = receiver.seen
    [entry] = read(receiver.stored)
    assert entry.sent
    assert only[1].endswith(f"{int(entry.since.timestamp()):x}")


def test_information_is_never_told_twice(receiver: Receiver, loop: TurnedLoop) -> None:
    def done(number: int) -> None:
        topic = about(News.ROLLED)
        loop.inside(lambda: receiver.courier.done(web(number), topic, "rolled"))

    receiver.begin(row(about=["all"]))
    receiver.problem = NotSent("no answer", maybe=True)
    done(1)
    loop.turn(GATHER)
    receiver.problem = None
    loop.turn(GIVE_UP)
    assert (receiver.tries, receiver.states) == (1, [])
    receiver.kill()

    receiver.begin(row(about=["all"]))
    done(2)
    loop.turn(GATHER)
    assert receiver.states == []


def test_information_waits_until_it_can_be_written_that_it_is_told(
    receiver: Receiver, loop: TurnedLoop
) -> None:
    receiver.begin(row(about=["all"]))
    receiver.can_write = False
    loop.inside(lambda: receiver.courier.done(web(1), about(News.ROLLED), "rolled"))
    loop.turn(GATHER)
    assert receiver.tries == 0
    receiver.can_write = True
    loop.turn(60)
    assert receiver.states == [(State.OPEN, 1)]


def test_a_problem_is_told_though_it_cannot_be_written(
    receiver: Receiver, loop: TurnedLoop
) -> None:
    receiver.begin(row())
    receiver.can_write = False
    receiver.problem_of([1])
    loop.turn(GATHER)
    assert receiver.states == [(State.OPEN, 1)]


def test_what_could_not_be_written_down_is_written_later(
    receiver: Receiver, loop: TurnedLoop
) -> None:
    receiver.begin(row())
    receiver.problem_of([1])
    loop.turn(GATHER)
    receiver.can_write = False
    receiver.well([1])
    loop.turn(GATHER)
    assert receiver.states == [(State.OPEN, 1), (State.OVER, 1)]
    loop.turn(60)
    receiver.can_write = True
    assert receiver.stored != "[]"
    loop.turn(60)
    assert receiver.stored == "[]"
