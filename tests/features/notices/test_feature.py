"""What reports come to: who is told, what lasts, what passes, and what is left after a term."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from tests.controller.turned import TurnedLoop
from tests.features.notices.telling import APP, row, web

from reroll.controller.bus import Bus
from reroll.controller.context import Context
from reroll.controller.metrics import Metrics
from reroll.controller.report import Report, Result
from reroll.core.model.key import Key
from reroll.core.observe.health import Health, State
from reroll.core.policy.notice import Notice
from reroll.core.tables.reasons import Reason
from reroll.features.notices.bulletin import Bulletin
from reroll.features.notices.feature import Notices
from reroll.kube.errors import Unavailable
from reroll.settings.table import Settings


class Away:
    """An API server that does not answer: what was told is not known, and is not written."""

    async def send(self, *_: Any, **__: Any) -> bytes:
        raise Unavailable("no answer")


class World:
    """As much of it as is asked for."""

    def __init__(self) -> None:
        self.workloads: dict[Key, Any] = {}
        self.health = self
        self.states: dict[Key, State] = {}

    def get(self, key: Key) -> Health | None:
        return Health(self.states[key]) if key in self.states else None

    def add(self, key: Key, *notices: str) -> None:
        self.workloads[key] = SimpleNamespace(policy=SimpleNamespace(notices=notices))


class Told:
    """A leader with these rows, and what it told them."""

    def __init__(self, loop: TurnedLoop, *rows: Notice) -> None:
        self.loop, self.world, self.metrics = loop, World(), Metrics()
        self.bulletins: list[Bulletin] = []
        self.is_busy = False
        settings = Settings(notices=rows)
        bus = Bus(loop.clock)
        context = Context(Away(), loop.clock, settings, self.metrics, bus, "reroll", "me")  # type: ignore[arg-type]
        self.notices = Notices(context, self.world, lambda: self.is_busy, self.send)  # type: ignore[arg-type]
        self.bus = bus
        bus.subscribe(self.notices)
        self.task = loop.create_task(self.notices.act())
        for _ in range(30):  # To begin, three times not to learn what was told, and to sweep.
            loop.turn(1)

    async def send(self, _: Notice, bulletin: Bulletin, __: str) -> str:
        self.bulletins.append(bulletin)
        return ""

    def report(
        self, key: Key, reason: Reason, result: Result = Result.NOTHING, **more: Any
    ) -> None:
        report = Report(
            *(key, "u", "apps/v1", reason, reason.sentence, result), sources=(APP,), change="c1",
            **more,
        )  # fmt: skip
        self.loop.inside(lambda: self.bus.publish(report))

    def titles(self, move: float = 15) -> list[str]:
        self.loop.turn(move)
        self.loop.turn(0)
        found, self.bulletins = [one.title for one in self.bulletins], []
        return found

    def end(self) -> None:
        self.task.cancel()
        self.loop.run_until_complete(asyncio.gather(self.task, return_exceptions=True))


@pytest.fixture
def loop() -> Iterator[TurnedLoop]:
    made = TurnedLoop()
    yield made
    made.close()


@pytest.fixture
def told(loop: TurnedLoop) -> Iterator[Told]:
    one = Told(loop, row())
    one.world.add(web(1), "team")
    yield one
    one.end()


STOPPED, AGAIN = "Stopped: configmap shop/app", "Healthy again: configmap shop/app"


def test_what_passes_is_not_the_end_of_a_problem_and_a_healthy_rollout_is(told: Told) -> None:
    told.report(web(1), Reason.STOPPED, Result.HELD)
    assert told.titles() == [STOPPED]

    told.report(web(1), Reason.DEBOUNCING, Result.HELD)
    told.report(web(1), Reason.CONFIG_CHANGED, Result.DONE, strategy="stamp")
    told.world.states[web(1)] = State.GOES_ON
    told.report(web(1), Reason.UP_TO_DATE)
    told.report(web(1), Reason.SOAKING)
    assert told.titles() == []

    told.report(web(1), Reason.HEALTHY, Result.DONE)
    assert told.titles() == [AGAIN]


def test_a_workload_that_is_gone_has_no_problem(told: Told) -> None:
    told.report(web(1), Reason.FAILING)
    assert told.titles() == ["Failed: configmap shop/app"]
    told.loop.inside(lambda: told.bus.forget(web(1)))
    assert told.titles() == [AGAIN]


def test_only_those_are_told_whom_its_policy_names(told: Told) -> None:
    told.world.add(web(2))
    told.report(web(2), Reason.FAILING)
    assert told.titles() == []


def test_what_is_held_is_told_when_it_has_lasted(told: Told) -> None:
    told.report(web(1), Reason.SOURCE_MISSING, Result.HELD)
    assert told.titles(3000) == []
    told.report(web(1), Reason.SOURCE_MISSING, Result.HELD)  # Looked at again: no new beginning.
    assert told.titles(599) == []
    told.loop.turn(2)
    assert told.titles() == ["Held: configmap shop/app"]
    told.report(web(1), Reason.UP_TO_DATE)
    assert told.titles() == ["No longer held: configmap shop/app"]


def test_one_that_is_held_instead_has_no_other_problem_any_more(told: Told) -> None:
    told.report(web(1), Reason.FAILING)
    assert told.titles() == ["Failed: configmap shop/app"]
    told.report(web(1), Reason.FAILED, Result.FAILED)
    assert told.titles() == []
    told.report(web(1), Reason.HELD_AT, Result.HELD)
    assert told.titles() == ["No longer failed, now held: configmap shop/app"]


def test_what_waits_for_approval_is_told_at_once(told: Told) -> None:
    told.report(web(1), Reason.UNAPPROVED, Result.HELD)
    assert told.titles() == ["Waits for approval: configmap shop/app"]


def test_what_was_held_for_a_while_is_not_told(told: Told) -> None:
    told.report(web(1), Reason.HELD, Result.HELD)
    told.loop.turn(1800)
    told.report(web(1), Reason.CONFIG_CHANGED, Result.DONE, strategy="stamp")
    assert told.titles(7200) == []


def test_rolls_are_information_for_those_who_want_it(loop: TurnedLoop) -> None:
    told = Told(loop, row(about=["all"]))
    for number in range(3):
        told.world.add(web(number), "team")
        told.report(web(number), Reason.CONFIG_CHANGED, Result.DONE, strategy="stamp")
    assert told.titles() == []  # It cannot be written that they are told, so they are not.
    told.end()


def test_nothing_is_over_before_every_workload_was_looked_at(loop: TurnedLoop) -> None:
    told = Told(loop, row())
    told.world.add(web(1), "team")
    told.report(web(1), Reason.FAILING)
    assert told.titles() == ["Failed: configmap shop/app"]
    told.end()
    told.is_busy = True
    told.task = loop.create_task(told.notices.act())
    for _ in range(30):
        loop.turn(1)
    told.report(web(1), Reason.FAILING)
    assert told.titles() == ["Failed: configmap shop/app"]  # Nothing was written down.
    told.report(web(1), Reason.UP_TO_DATE)
    assert told.titles() == []
    told.is_busy = False
    for _ in range(30):
        loop.turn(1)
    assert told.titles() == [AGAIN]
    told.end()


def test_after_its_term_a_replica_tells_nothing(told: Told) -> None:
    told.end()
    told.report(web(1), Reason.FAILING)
    assert told.titles(timedelta(hours=2).total_seconds()) == []


def test_counters_are_there_before_the_first_message(told: Told) -> None:

    lines = list(told.metrics.notices.lines())
    assert len(lines) == 3
