"""What a change costs that goes to many."""

from tests.simulation.measure import cost
from tests.simulation.virtual_time import run

from reroll.settings.table import Settings


def test_who_waits_for_the_pace_keeps_its_turn() -> None:
    size = 150

    found = run(cost(size, Settings(rate=2, burst=2)))

    assert found.rolls == size
    # One more than with no pace: each is told once that it waits.
    assert found.looks <= 7.5 * size
