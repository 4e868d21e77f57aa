"""Keys that failed because the API server could not be reached."""

import pytest
from tests.controller.turned import TurnedLoop

from reroll.controller.stranded import Stranded
from reroll.kube.errors import Conflict, Throttled, Unavailable
from reroll.kube.outage import Outage

REFUSED = Unavailable("cannot connect")


@pytest.fixture
def loop():
    made = TurnedLoop()
    yield made
    made.close()


@pytest.fixture
def outage():
    return Outage()


@pytest.fixture
def retried():
    return []


@pytest.fixture
def stranded(outage, retried):
    return Stranded(outage, retried.append)


@pytest.fixture
def back(loop, outage):
    def end():
        loop.inside(outage.began)
        loop.inside(outage.ended)

    return end


def test_they_are_tried_once_when_it_is_back(stranded, retried, back):
    for _ in range(2):
        stranded.ended("a", REFUSED)
        stranded.ended("b", REFUSED)
    back()
    assert sorted(retried) == ["a", "b"]
    back()
    assert sorted(retried) == ["a", "b"]


@pytest.mark.parametrize(
    "error",
    [Unavailable("busy", status=503), Throttled("slow down", status=429), Conflict("new"), None],
)
def test_what_was_answered_keeps_its_delay(stranded, retried, back, error):
    stranded.ended("a", error)
    back()
    assert retried == []


def test_what_went_well_since_is_left_alone(stranded, retried, back):
    stranded.ended("a", REFUSED)
    stranded.ended("a")
    back()
    assert retried == []


def test_what_is_not_worked_on_any_more_is_left_alone(stranded, retried, back):
    stranded.ended("a", REFUSED)
    stranded.clear()
    back()
    assert retried == []
