"""Since when something is held: noted when it lasts, forgotten when it is over, and bounded."""

from datetime import timedelta

from tests.features.notices.telling import NOW, about, web

from reroll.core.tables.news import News
from reroll.features.notices.held import LASTING, Held
from reroll.features.notices.incidents import MOST, Delivery

APP = about(News.HELD)
LATER = NOW + LASTING


def test_what_lasts_is_noted_once_for_all_that_it_holds() -> None:
    held = Held()
    for number in range(3):
        held.put(web(number), APP, "", NOW)
    assert held.note(web(0), NOW) == LASTING.total_seconds()
    assert held.entries() == []

    assert held.note(web(0), LATER) is None
    [entry] = held.entries()
    assert (entry.topic, entry.since, entry.sent) == (APP, NOW, False)
    assert held.is_unwritten


def test_it_is_forgotten_when_the_last_one_is_free() -> None:
    held = Held()
    for number in range(2):
        held.put(web(number), APP, "", NOW)
    held.note(web(0), LATER)
    held.is_unwritten = False

    held.drop(web(0))
    assert (len(held.entries()), held.is_unwritten) == (1, False)
    held.put(web(1), about(News.HELD, change="c2"), "", LATER)
    assert (held.entries(), held.is_unwritten) == ([], True)
    held.drop(web(9))


def test_a_new_leader_goes_on_counting_and_forgets_what_nobody_has() -> None:
    other = about(News.HELD, change="c2")
    known = [Delivery("held", one.about, NOW, one.change) for one in (APP, other)]
    held = Held()
    held.put(web(1), APP, "", LATER)
    held.recall(known)
    held.put(web(2), APP, "", LATER)
    for number in (1, 2):
        waiting = held.get(web(number))
        assert waiting is not None
        assert waiting.since == NOW

    held.swept()
    assert [one.topic for one in held.entries()] == [APP]


def test_so_much_is_noted_and_no_more() -> None:
    held = Held()
    for number in range(2 * MOST):
        held.put(web(number), about(News.HELD, change=f"c{number}"), "", NOW)
        held.note(web(number), NOW + timedelta(hours=1))
    assert len(held.entries()) == MOST
