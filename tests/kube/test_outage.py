"""A server that cannot be reached: who tries when, and who is woken by the first answer."""

import asyncio
from contextlib import suppress

import pytest
from tests.controller.turned import TurnedLoop

from reroll.kube.outage import TRY_EVERY, WOKEN_PER_SECOND, Outage

LONG = 60.0


class Waiter:
    """Pauses again and again, as a watch does that cannot connect."""

    def __init__(self, loop, outage):
        self.tries = 0
        self._outage = outage
        self.task = loop.create_task(self._run())

    async def _run(self):
        while True:
            await self._outage.pause(LONG)
            self.tries += 1


@pytest.fixture
def loop():
    with suppress(RuntimeError):
        asyncio.get_event_loop_policy().get_event_loop()
    made = TurnedLoop()
    yield made
    for task in asyncio.all_tasks(made):
        task.cancel()
    made.turn()
    made.close()


@pytest.fixture
def outage():
    return Outage()


@pytest.fixture
def waiters(loop, outage):
    made = [Waiter(loop, outage) for _ in range(20)]
    loop.turn()
    return made


def tries(waiters):
    return sum(waiter.tries for waiter in waiters)


def test_without_an_outage_everyone_pauses_as_long_as_it_wants(loop, outage, waiters):
    loop.inside(outage.ended)
    loop.turn(LONG - 1)
    assert tries(waiters) == 0
    loop.turn(1)
    assert [waiter.tries for waiter in waiters] == [1] * 20


def test_while_it_lasts_one_tries_each_time_and_each_in_its_turn(loop, outage, waiters):
    loop.inside(outage.began)
    for number in range(1, 21):
        loop.turn(TRY_EVERY)
        assert tries(waiters) == number
    assert [waiter.tries for waiter in waiters] == [1] * 20


def test_the_first_answer_wakes_all_one_after_the_other(loop, outage, waiters):
    loop.inside(outage.began)
    loop.inside(outage.ended)
    woken = [tries(waiters)]
    for _ in range(19):
        loop.turn(1 / WOKEN_PER_SECOND)
        woken.append(tries(waiters))

    assert woken == list(range(1, 21))
    loop.turn(LONG / 2)
    assert tries(waiters) == 20


class Listener:
    def __init__(self, told):
        self.told = told

    def back(self):
        self.told.append("back")


def test_who_is_told_is_told_once_for_each_outage(loop, outage):
    told = []
    listener = Listener(told)
    outage.subscribe(listener.back)
    loop.inside(outage.ended)
    assert told == []
    for _ in range(2):
        loop.inside(outage.began)
        loop.inside(outage.began)
        loop.inside(outage.ended)
        loop.inside(outage.ended)
    assert told == ["back", "back"]


def test_who_is_gone_is_not_kept_to_be_told(loop, outage):
    told = []
    for _ in range(3):
        outage.subscribe(Listener(told).back)
    stays = Listener(told)
    outage.subscribe(stays.back)
    loop.inside(outage.began)
    loop.inside(outage.ended)
    assert (told, len(outage._listeners)) == (["back"], 1)


def test_one_that_stops_waiting_is_not_let_try(loop, outage, waiters):
    waiters[0].task.cancel()
    loop.inside(outage.began)
    loop.turn(TRY_EVERY)
    assert [waiter.tries for waiter in waiters[:3]] == [0, 1, 0]
