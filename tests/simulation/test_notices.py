"""A storm and its notices, whatever is killed or refused: none is untold, and none told twice."""

import asyncio
import random
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from enum import Enum
from typing import NamedTuple

import msgspec
import pytest
from tests.features.notices.telling import row
from tests.simulation.controllers import HOME
from tests.simulation.model import Model
from tests.simulation.stories import is_well
from tests.simulation.virtual_time import run

from reroll.core.policy.notice import Notice
from reroll.features.notices.bulletin import Bulletin, State
from reroll.features.notices.incidents import Delivery
from reroll.features.notices.sending import NotSent
from reroll.features.notices.state import read
from reroll.settings.table import Settings

ROWS = {
    "hook": {"webhook": {"url": "http://a/"}},
    "bot": {"slack": {"token-file": "/t", "channel": "C01"}},
    "alerts": {"alertmanager": {"url": "http://a/"}},
}
REPEATS = {"bot", "alerts"}
"""Who is told again of what is still so: one message that is updated, alerts that are sent anew."""


Message = tuple[str, str, State]
"""A receiver, a kind of news, and whether it is so or over."""


class Got(NamedTuple):
    notice: str
    thread: str
    news: str
    state: State
    is_first: bool
    """It does not take the place of one that was sent before."""

    @property
    def message(self) -> Message:
        return self.notice, self.news, self.state

    @property
    def is_message(self) -> bool:
        """And not one that is brought up to date."""
        return self.is_first or self.state is State.OVER


class Receivers:
    """Take messages, slowly; some are refused, and some are taken without a word."""

    def __init__(self, seed: int, trouble: float) -> None:
        self._chance, self._trouble = random.Random(seed), trouble
        self.got: list[Got] = []
        self.answered: Counter[Got] = Counter()

    async def send(self, notice: Notice, bulletin: Bulletin, ref: str) -> str:
        await asyncio.sleep(self._chance.random())
        if self._chance.random() < self._trouble:
            raise NotSent("refused", self._chance.choice((0.0, 7.0)))
        parts = bulletin.news.word, bulletin.state, not ref
        got = Got(notice.name, bulletin.thread, *parts)
        self.got.append(got)
        await asyncio.sleep(self._chance.random())  # Killed here, it was taken and not answered.
        if self._chance.random() < self._trouble:
            raise NotSent("no answer", maybe=True)
        self.answered[got] += 1
        return "C01 1.1" if notice.name == "bot" else ""

    def told(self, name: str, state: State) -> set[str]:
        return {got.news for got in self.got if (got.notice, got.state) == (name, state)}


def written(model: Model) -> Iterator[tuple[str, Delivery]]:
    """What the controller wrote down."""
    found = model.store.all("configmaps").get((HOME, "reroll-notices"), {})
    for name, text in found.get("data", {}).items():
        yield from ((name, one) for one in read(text))


def told_by(model: Model) -> set[tuple[str, str]]:
    """What it wrote down as told; by notice and incident."""
    return {(name, thread_of(one)) for name, one in written(model) if one.sent}


def thread_of(one: Delivery) -> str:
    return f"{one.topic.id}-{int(one.since.timestamp()):x}"


def stormy(size: int, seed: int) -> Model:
    """So many workloads of one source, whose next change most of them do not get."""
    rows = tuple(
        msgspec.structs.replace(row(to, gather="5s"), name=name) for name, to in ROWS.items()
    )
    model = Model(Settings(notices=rows, debounce=timedelta(seconds=0.5)), seed=seed)
    model.deployments.is_well = is_well
    model.source("app")
    for number in range(size):
        model.workload(f"web-{number}", max_parallel="doubling", on_failure="hold", deadline="20s")
    return model


async def storm(size: int, seed: int, trouble: float) -> None:
    chance = random.Random(seed)
    model, receivers = stormy(size, seed), Receivers(seed, trouble)
    model.faults.lost = model.faults.unanswered = trouble / 4
    model.send = receivers.send
    await model.start(standby=chance.random() < 0.5)
    await model.settle(quiet=60)
    assert receivers.got == []

    model.change("bad")
    await killed_often(model, receivers, chance)
    await model.settle()
    for name in ROWS:
        assert receivers.told(name, State.OPEN) == {"failed", "stopped"}, name
    assert {name for name, _ in told_by(model)} == set(ROWS)

    model.change("good")
    await killed_often(model, receivers, chance)
    await model.settle()
    for name in ROWS:
        assert receivers.told(name, State.OVER) == {"failed", "stopped"}, name
    assert list(written(model)) == []
    if not trouble:  # What cannot be written down may be told as another one after a kill.
        assert len({(got.notice, got.thread) for got in receivers.got}) == 2 * len(ROWS)


async def killed_often(model: Model, receivers: Receivers, chance: random.Random) -> None:
    """What was written down as told is not told again, and what was answered is not sent again."""
    for _ in range(4):
        before, known = len(receivers.got), Counter(receivers.answered)
        await model.pass_time(chance.choice((0.1, 3.0, 6.0, 8.0, 12.0, 40.0)))
        check_once(receivers.got[before:], receivers.answered - known)
        await model.kill()
        sent, since = told_by(model), len(receivers.got)
        await model.pass_time(chance.choice((2.0, 8.0, 30.0)))
        for got in receivers.got[since:]:
            if got.state is State.OPEN and got.notice != "alerts" and got.is_first:
                assert (got.notice, got.thread) not in sent, got


def check_once(got: list[Got], answered: Counter[Got]) -> None:
    """Of one process: what was answered is sent once, but for those who are told again."""
    for one, number in Counter(got).items():
        if one.notice not in REPEATS and answered[one]:
            assert answered[one] == 1, (one, number)


@pytest.mark.parametrize("seed", range(6))
def test_a_storm_that_is_killed_often_is_told_once_and_so_is_its_end(seed: int) -> None:
    run(storm(12, seed, trouble=0.0 if seed % 2 else 0.2))


# What lasts


async def held_for_long() -> None:
    [notice] = (row(gather="5s"),)
    model, receivers = Model(Settings(notices=(notice,))), Receivers(1, trouble=0.0)
    model.send = receivers.send
    model.source("app")
    for number in range(3):
        model.workload(f"web-{number}", hold="until the review")
    await model.start()
    await model.settle(quiet=60)
    model.change("v1")
    for _ in range(3):  # No leader sees an hour of it.
        await model.pass_time(25 * 60)
        await model.kill()
    await model.pass_time(60)
    assert [(got.news, got.state) for got in receivers.got] == [("held", State.OPEN)]

    for number in range(3):
        model.annotate(f"web-{number}", hold=None)
    await model.settle()
    assert [got.state for got in receivers.got] == [State.OPEN, State.OVER]
    assert list(written(model)) == []


def test_what_is_held_for_an_hour_is_told_though_no_leader_saw_all_of_it() -> None:
    run(held_for_long())


# At every moment of every message


class Moment(Enum):
    """Of a message, at which the controller is killed."""

    SENT = "sent"
    """It is on its way, and does not arrive."""
    TAKEN = "taken"
    """The receiver has it, and has not answered."""
    ANSWERED = "answered"
    """It is answered, and that is not written down."""


class Deadly(Receivers):
    """The controller dies of each message once, at one of its moments."""

    def __init__(self, seed: int, moments: tuple[Moment, ...]) -> None:
        super().__init__(seed, trouble=0.0)
        self._moments, self.died_of = moments, dict[Message, Moment]()
        self.dies = asyncio.Event()
        self.unwritten: Counter[Message] = Counter()
        """How often it was taken, and nobody came to write that down."""
        self._alive_since = 0

    async def send(self, notice: Notice, bulletin: Bulletin, ref: str) -> str:
        which = (notice.name, bulletin.news.word, bulletin.state)
        moment = None
        if which not in self.died_of and not self.dies.is_set():
            moment = self.died_of[which] = self._chance.choice(self._moments)
        if moment is Moment.SENT:
            await self._die()
        self.got.append(Got(notice.name, bulletin.thread, *which[1:], not ref))
        if moment is Moment.TAKEN:
            await self._die()
        if moment is Moment.ANSWERED:
            self.dies.set()
        return "C01 1.1" if notice.name == "bot" else ""

    async def _die(self) -> None:
        self.dies.set()
        await asyncio.Event().wait()

    def died(self, model: Model) -> None:
        """See what it had not written down of what it had told."""
        known, sent = {(name, thread_of(one)) for name, one in written(model)}, told_by(model)
        for got in {one for one in self.got[self._alive_since :] if one.is_message}:
            which = got.notice, got.thread
            if which in known if got.state is State.OVER else which not in sent:
                self.unwritten[got.message] += 1
        self._alive_since = len(self.got)


async def dies_of_everything(size: int, seed: int, *moments: Moment) -> None:
    model, receivers = stormy(size, seed), Deadly(seed, moments or tuple(Moment))
    model.send = receivers.send
    await model.start(standby=bool(seed % 2))
    await model.settle(quiet=60)
    for value in ("bad", "good"):
        model.change(value)
        await killed_by(model, receivers)

    both = {(news, state) for news in ("failed", "stopped") for state in (State.OPEN, State.OVER)}
    assert set(receivers.died_of) == {(name, *which) for name in ROWS for which in both}
    told = Counter(got.message for got in receivers.got if got.is_message)
    assert set(told) == set(receivers.died_of), "somebody was not told of something"
    as_two = {(got.message, got.thread) for got in receivers.got}
    assert len(as_two) == len(told), "somebody was told of one as of two"
    for which, times in told.items():
        if which[0] != "alerts":  # Which is sent what is so every minute.
            assert times == 1 + receivers.unwritten[which], which
    assert list(written(model)) == []


async def killed_by(model: Model, receivers: Deadly) -> None:
    """Until nobody dies any more."""
    while True:
        settled, dead = asyncio.ensure_future(model.settle()), receivers.dies.wait()
        waiting = asyncio.ensure_future(dead)
        await asyncio.wait((settled, waiting), return_when=asyncio.FIRST_COMPLETED)
        if not receivers.dies.is_set():
            waiting.cancel()
            return await settled
        settled.cancel()
        await model.kill(lambda: receivers.died(model))
        receivers.dies.clear()


@pytest.mark.parametrize("moment", Moment, ids=str)
def test_at_whatever_moment_of_a_message_it_dies_no_problem_is_untold_or_told_twice(
    moment: Moment,
) -> None:
    """What a receiver had when nobody could write that down comes again, and as the same."""
    run(dies_of_everything(12, 1, moment))


@pytest.mark.slow
def test_nor_is_one_of_two_hundred_workloads() -> None:
    run(dies_of_everything(200, 2))
