"""Work that does not end when it is told to, and work that ends though it should not."""

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from reroll.clock import SystemClock
from reroll.controller import bugs, supervisor
from reroll.controller.context import Context
from reroll.controller.events import Recorder
from reroll.controller.feature import Feature
from reroll.controller.metrics import Metrics
from reroll.kube.errors import ConfigError, Conflict
from reroll.kube.outage import Outage
from reroll.settings.table import Settings


async def test_work_that_goes_on_when_told_to_end_ends_the_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else it would hold the Lease and do nothing, and nobody else could do anything either."""
    monkeypatch.setattr(supervisor, "ENDING", 0.05)
    begun, over = asyncio.Event(), asyncio.Event()

    async def stubborn() -> None:
        begun.set()
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(3600)
        await over.wait()

    working = asyncio.create_task(supervisor._either(begun, stubborn()))
    with pytest.raises(RuntimeError, match="still runs"):
        await working
    over.set()
    await asyncio.sleep(0)


class Idle(Feature):
    """Needs nothing of what a feature may do."""


async def test_a_feature_overrides_only_what_it_needs() -> None:
    idle = Idle()
    assert list(idle.stages()) == []
    for step in (idle.prepare, idle.read, idle.act, idle.rest):
        await asyncio.wait_for(step(), 1)


class Failing(Feature):
    """Its work ends with an error, a few times."""

    def __init__(self, *errors: BaseException) -> None:
        self.errors, self.begun = list(errors), 0
        self.works = asyncio.Event()

    async def act(self) -> None:
        self.begun += 1
        if self.errors:
            raise self.errors.pop(0)
        self.works.set()
        await asyncio.Event().wait()


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> supervisor.Supervisor:
    monkeypatch.setattr(supervisor, "FIRST_RESTART", 0.001)
    monkeypatch.setattr(supervisor, "LONGEST_RESTART", 0.002)
    client = SimpleNamespace(outage=Outage())
    context = SimpleNamespace(
        client=client, clock=SystemClock(), settings=Settings(), metrics=Metrics()
    )
    return supervisor.Supervisor(cast("Context", context), cast("Recorder", None))


ERRORS = {
    "unexpected": KeyError("data"),
    "of several": ExceptionGroup("two", [ValueError(), ConfigError("no")]),
    "a cancelled call": asyncio.CancelledError(),
    "of the API server": Conflict("which should have been caught"),
}


@pytest.mark.parametrize("error", ERRORS.values(), ids=ERRORS)
async def test_work_that_ends_with_an_error_begins_again_and_the_others_go_on(
    made: supervisor.Supervisor, error: BaseException
) -> None:
    before = bugs.counts()[bugs.Part.FEATURE]
    bad, good = Failing(error, error), Failing()
    acting = asyncio.create_task(made._act([bad, good]))
    await asyncio.wait_for(asyncio.gather(bad.works.wait(), good.works.wait()), 5)

    assert (bad.begun, good.begun) == (3, 1)
    assert bugs.counts()[bugs.Part.FEATURE] == before + 2
    acting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await acting


class Watching:
    """A watch that writes down what becomes of it; it has seen all there is when it is told to."""

    resource, state, last_activity = SimpleNamespace(full_name="things"), "starting", 0.0

    def __init__(self, name: str, notes: list[str]) -> None:
        self._name, self._notes = name, notes
        self.begun, self.synced = asyncio.Event(), asyncio.Event()

    def hold_back(self) -> None:
        self._notes.append(f"{self._name} held back")

    def go_on(self) -> None:
        self._notes.append(f"{self._name} goes on")

    async def run(self) -> None:
        self.begun.set()
        await asyncio.Event().wait()


class Staged(Feature):
    def __init__(self, *watches: Watching) -> None:
        self._watches, self.acts = watches, asyncio.Event()

    def stages(self) -> Iterator[list[Any]]:
        for watch in self._watches:
            yield [watch]

    async def act(self) -> None:
        self.acts.set()


async def test_all_watches_begin_at_once_and_go_on_one_stage_after_the_other(
    made: supervisor.Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = msgspec.structs.replace(Settings(), probes="", listen="", leader_election=False)
    monkeypatch.setattr(made, "_settings", alone)
    monkeypatch.setattr(made, "_recorder", SimpleNamespace(run=asyncio.Event().wait))
    notes: list[str] = []
    first, second = Watching("first", notes), Watching("second", notes)
    feature = Staged(first, second)
    running = asyncio.create_task(made.run([feature], asyncio.Event()))
    async with asyncio.timeout(5):
        await first.begun.wait()
        await second.begun.wait()
        assert notes == ["first held back", "second held back", "first goes on"]
        assert made.watches == [first]  # The other is not missed by probes yet.
        first.synced.set()
        while notes[-1] != "second goes on":
            await asyncio.sleep(0)
        assert not feature.acts.is_set()
        second.synced.set()
        await feature.acts.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


class Preparing(Feature):
    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)

    async def prepare(self) -> None:
        if self.errors:
            raise self.errors.pop(0)


async def test_a_preparation_is_tried_again_unless_only_the_user_can_help(
    made: supervisor.Supervisor,
) -> None:
    feature = Preparing(ValueError("odd"))
    await asyncio.wait_for(made._prepare(feature, asyncio.Event()), 5)
    assert feature.errors == []

    with pytest.raises(ConfigError):
        await made._prepare(Preparing(ConfigError("no such file")), asyncio.Event())
