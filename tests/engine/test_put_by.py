"""Answers that are put by: what a watch brings meanwhile neither overtakes them nor is lost."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from tests.support import build

from reroll.clock import SystemClock
from reroll.core.model.key import Key
from reroll.core.model.metadata import Manifest
from reroll.core.tables.annotations import STATE
from reroll.core.tables.kinds import KINDS
from reroll.engine.effort import is_usual
from reroll.engine.scope import scope
from reroll.engine.world import World
from reroll.settings.resolve import resolve

DEPLOYMENT = KINDS[0]
WEB = Key("Deployment", "shop", "web")


class Seen:
    """A world that knows one Deployment, of version 1."""

    def __init__(self) -> None:
        self.woken: list[Key] = []
        self.world = World(
            SystemClock(),
            scope(resolve({}, {}, {}, "reroll.yaml")),
            Key("Secret", "reroll", "keys"),
            wake=lambda key, _: self.woken.append(key),
            want=lambda _: None,
        )
        self.watch(1)
        self.woken.clear()

    def watch(self, version: int, state: str | None = None) -> None:
        self.world.workload_seen(DEPLOYMENT, manifest(version, state), watched=True)

    def put_by(self, version: int, state: str | None = None) -> None:
        answer = manifest(version, state)
        self.world.put_by.add(
            WEB, version, lambda: self.world.workload_seen(DEPLOYMENT, answer, watched=True)
        )

    @property
    def version(self) -> int:
        return self.world.workloads[WEB].workload.version

    @property
    def text(self) -> str | None:
        return self.world.workloads[WEB].workload.record_text


def manifest(version: int, state: str | None = None) -> Manifest:
    given = {"reroll.dev/enabled": "true"}
    if state is not None:
        given[STATE] = state
    made: dict[str, Any] = build.deployment("web", uses="configmap/app", annotations=given)
    made["metadata"] |= {"namespace": "shop", "resourceVersion": str(version)}
    return msgspec.json.decode(json.dumps(made), type=Manifest)


@pytest.fixture
def seen() -> Seen:
    return Seen()


def test_the_echo_of_a_patch_waits_for_its_answer(seen: Seen) -> None:
    seen.put_by(5, state="ours")
    seen.watch(5, state="ours")
    seen.watch(4)
    assert (seen.version, seen.woken) == (1, [])

    seen.world.put_by.take_in(WEB)

    assert (seen.version, seen.text) == (5, "ours")


def test_what_is_newer_comes_after_the_answer(seen: Seen) -> None:
    taken: list[int] = []
    seen.put_by(5, state="ours")
    _, take_in = seen.world.put_by._answers[WEB]
    seen.world.put_by.add(WEB, 5, lambda: (take_in(), taken.append(seen.version))[0])
    seen.watch(6, state="theirs")

    assert taken == [5]
    assert (seen.version, seen.text) == (6, "theirs")
    seen.world.put_by.take_in(WEB)
    assert seen.version == 6


def test_a_workload_that_goes_takes_its_answer_along(seen: Seen) -> None:
    seen.put_by(5, state="ours")
    seen.world.workload_gone(WEB)
    seen.world.put_by.take_in(WEB)
    assert WEB not in seen.world.workloads

    seen.watch(7)
    assert seen.version == 7


@pytest.mark.parametrize("part", ["spec", "annotations"])
def test_an_answer_that_is_large_is_not_put_by(part: str) -> None:
    made: dict[str, Any] = build.deployment("web", annotations={"note": "small"})
    made["metadata"] |= {"namespace": "shop", "resourceVersion": "1"}
    assert is_usual(msgspec.json.decode(json.dumps(made), type=Manifest))
    if part == "spec":
        made["spec"]["template"]["metadata"]["annotations"] = {"note": "x" * 100_000}
    else:
        made["metadata"]["annotations"]["note"] = "x" * 100_000

    assert not is_usual(msgspec.json.decode(json.dumps(made), type=Manifest))


def test_a_change_that_comes_while_others_are_first_is_still_waited_for(seen: Seen) -> None:
    tracked, first = seen.world.workloads[WEB], datetime(2030, 1, 1, tzinfo=UTC)
    tracked.source_changed(first)
    tracked.source_changed(second := first + timedelta(seconds=1))

    seen.world.settled(WEB, first)
    assert (tracked.waiting_since, tracked.quiet_since) == (second, second)
    seen.world.settled(WEB, second)
    assert (tracked.waiting_since, tracked.quiet_since) == (None, None)
