"""The picture in the docs says what the simulation gives."""

import re

import pytest
from tests.simulation import picture


@pytest.mark.slow
def test_the_picture_tells_how_many_the_simulation_hurts() -> None:
    told = re.findall(r">(\d+) hurt<", picture.PICTURE.read_text())
    assert told == [str(one.hurt) for one in picture.runs()], "python -m tests.simulation.picture"
