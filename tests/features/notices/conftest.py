"""Fixtures of couriers and their receivers."""

from collections.abc import Iterator

import pytest
from tests.controller.turned import TurnedLoop
from tests.features.notices.told import Receiver


@pytest.fixture
def loop() -> Iterator[TurnedLoop]:
    made = TurnedLoop()
    yield made
    made.close()


@pytest.fixture
def receiver(loop: TurnedLoop) -> Iterator[Receiver]:
    one = Receiver(loop)
    yield one
    one.kill()
