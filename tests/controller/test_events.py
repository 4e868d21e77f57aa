"""Events: on which object and with which words, and that they make way for rolls, not for ever."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from tests.kube.fakes import StillClock

from reroll.clock import Clock, SystemClock
from reroll.controller.events import QUIET, Lines, Recorder, Regarding
from reroll.controller.report import Report, Result
from reroll.core.model.key import Key, Problem
from reroll.core.tables import limits
from reroll.core.tables.reasons import Reason

LEASE = Regarding(Key("Lease", "shop", "reroll"), "coordination.k8s.io/v1", "")
WEB, MAP = Key("Deployment", "shop", "web"), Key("ConfigMap", "shop", "app")


class Kept(Recorder):
    """Keeps what it would send."""

    def __init__(
        self, is_busy: Callable[[], bool] = lambda: False, clock: Clock | None = None
    ) -> None:
        super().__init__(
            None,  # type: ignore[arg-type]  nothing is sent
            clock or SystemClock(),
            "test",
            identify=lambda _: ("v1", "uid-of-a-source"),
            is_busy=is_busy,
        )
        self.sent: list[dict[str, Any]] = []

    async def _send(self, event: dict[str, Any]) -> None:
        self.sent.append(event)

    @property
    def messages(self) -> list[str]:
        return [event["message"] for event in self.sent]


async def sent(*reports: Report, problem: Problem | None = None) -> list[dict[str, Any]]:
    recorder = Kept()
    running = asyncio.create_task(recorder.run())
    for report in reports:
        recorder.report(report)
        recorder.news(report)
        if problem:
            recorder.problems(report, (problem,))
    await asyncio.wait_for(recorder.flush(), 30)
    running.cancel()
    return recorder.sent


def a_report(reason: Reason, result: Result, strategy: str = "", name: str = "web") -> Report:
    key = WEB._replace(name=name)
    return Report(
        key, "uid", "apps/v1", reason, "its words", result, strategy, (MAP,) if strategy else ()
    )


async def test_an_event_waits_while_something_is_about_to_roll() -> None:
    busy = [True]
    recorder = Kept(is_busy=lambda: busy[0])
    running = asyncio.create_task(recorder.run())
    recorder.announce(LEASE, Reason.FEATURE_OFF, "first")

    await asyncio.sleep(0.1)
    assert recorder.messages == []
    busy[0] = False
    await recorder.flush()
    assert recorder.messages == ["first"]

    busy[0] = True
    recorder.announce(LEASE, Reason.FEATURE_OFF, "second")
    await asyncio.wait_for(recorder.flush(), 30)
    assert recorder.messages == ["first", "second"]
    running.cancel()


async def test_an_event_of_a_roll_waits_for_those_that_come_right_after_it() -> None:
    clock = StillClock()
    recorder = Kept(clock=clock)
    running = asyncio.create_task(recorder.run())
    for name in ("first", "second"):
        recorder.news(a_report(Reason.CONFIG_CHANGED, Result.DONE, "patch", name))
        await asyncio.sleep(0.1)
        assert recorder.messages == []
        clock.move(QUIET / 2)

    clock.move(QUIET)
    await asyncio.wait_for(recorder.flush(), 30)
    assert len(recorder.messages) >= 2
    running.cancel()


async def test_a_roll_is_an_event_on_the_workload_and_one_on_its_source() -> None:
    names = [f"web-{n}" for n in range(7)]
    reports = [a_report(Reason.CONFIG_CHANGED, Result.DONE, "patch", name) for name in names]
    *rolls, source = await sent(*reports, reports[0])

    assert len(rolls) == 8
    assert rolls[0]["involvedObject"] == {
        "kind": "Deployment", "apiVersion": "apps/v1", "namespace": "shop", "name": "web-0",
        "uid": "uid",
    }  # fmt: skip
    shown = (rolls[0]["type"], rolls[0]["reason"], rolls[0]["action"], rolls[0]["message"])
    assert shown == ("Normal", "ConfigChanged", "Roll-patch", "its words")
    assert source["involvedObject"]["uid"] == "uid-of-a-source"
    assert source["message"].startswith("its change rolled Deployment web-0, Deployment web-1")
    assert source["message"].endswith(" and 2 more")


async def test_a_source_is_told_what_was_done_to_each_of_its_users() -> None:
    done = {
        "api": "asking 2 pods to reload: ",
        "nightly": "its next run uses it: ",
        "web": "rolled: ",
    }
    reports = [
        msgspec.structs.replace(
            a_report(Reason.CONFIG_CHANGED, Result.DONE, "patch", name), done=words
        )
        for name, words in done.items()
    ]

    *_, source = await sent(*reports)

    assert source["message"].split("; ") == [
        "its change rolled Deployment web",
        "Deployment api: asking 2 pods to reload",
        "Deployment nightly: its next run uses it",
    ]


AT = datetime(2026, 11, 17, tzinfo=UTC)


def rolled(name: str, strategy: str = "stamp") -> Report:
    report = a_report(Reason.CONFIG_CHANGED, Result.DONE, strategy, name)
    return msgspec.structs.replace(report, done="rolled: ", at=AT)


def ended(name: str, seconds: float, reason: Reason = Reason.COMPLETE) -> Report:
    at = AT + timedelta(seconds=seconds)
    return msgspec.structs.replace(a_report(reason, Result.NOTHING, name=name), at=at)


async def test_what_became_of_a_change_is_told_with_its_source_and_costs_no_event_more() -> None:
    names = [f"web-{n}" for n in range(7)]
    reports = [*map(rolled, names), *(ended(name, 12 + n) for n, name in enumerate(names))]

    *rolls, source = await sent(*reports, rolled("db", "evict"), ended("db", 40))

    assert len(rolls) == 8, "one for each roll, none for its end"
    assert (source["type"], source["reason"]) == ("Normal", "ConfigChanged")
    assert source["message"].split("; ")[1] == (
        "complete: Deployment web-0 after 12s, Deployment web-1 after 13s,"
        " Deployment web-2 after 14s, Deployment web-3 after 15s, Deployment web-4 after 16s"
        " and 3 more"
    )


async def test_a_rollout_that_takes_another_change_with_it_is_complete_for_both() -> None:
    later = AT + timedelta(seconds=10)
    second = msgspec.structs.replace(rolled("web"), at=later, sources=(MAP._replace(name="db"),))

    *_, app, db = await sent(rolled("web"), second, ended("web", 30))

    assert app["message"] == "its change rolled Deployment web; complete: Deployment web after 30s"
    assert db["message"] == "its change rolled Deployment web; complete: Deployment web after 20s"


async def test_a_rollout_that_ends_later_is_another_event_on_the_source() -> None:
    recorder = Kept()
    running = asyncio.create_task(recorder.run())
    recorder.news(rolled("web"))
    await asyncio.wait_for(recorder.flush(), 30)
    recorder.report(ended("web", 95))
    await asyncio.wait_for(recorder.flush(), 30)
    running.cancel()

    *_, source = recorder.sent
    assert source["involvedObject"]["kind"] == "ConfigMap"
    assert (source["type"], source["reason"]) == ("Normal", "Complete")
    assert source["message"] == "complete: Deployment web after 95s"


@pytest.mark.parametrize(
    "reports",
    [
        [ended("web", 12)],
        [rolled("web", "notify"), ended("web", 12)],
        [rolled("web"), ended("web", 12, Reason.FAILING), ended("web", 90)],
        [rolled("web"), ended("web", 12, Reason.HEALTHY), ended("web", 90)],
    ],
    ids=["not ours", "nothing was replaced", "failed", "judged"],
)
async def test_a_rollout_that_is_not_that_of_a_roll_or_told_otherwise_is_not_told_again(
    reports: list[Report],
) -> None:
    """A Deployment that is scaled has a rollout too."""
    assert not [event for event in await sent(*reports) if "complete" in event["message"]]


@pytest.mark.parametrize(
    ("reason", "result", "severities"),
    [
        (Reason.HELD, Result.HELD, ["Warning"]),
        (Reason.UNDONE, Result.DONE, ["Warning"]),
        (Reason.RESUMED, Result.DONE, ["Normal"]),
        (Reason.KEY_LOST, Result.DONE, ["Warning"]),
        (Reason.FORBIDDEN, Result.FAILED, ["Warning"]),
        (Reason.ADOPTED, Result.DONE, []),
    ],
)
async def test_what_is_an_event_without_a_roll(
    reason: Reason, result: Result, severities: list[str]
) -> None:
    events = await sent(a_report(reason, result))
    assert [event["type"] for event in events] == severities
    assert [event["message"] for event in events] == ["its words"] * len(severities)


async def test_a_problem_is_a_warning_whatever_became_of_the_workload() -> None:
    problem = Problem("a bad value", Reason.COPY_RESTORED)
    (event,) = await sent(a_report(Reason.UP_TO_DATE, Result.NOTHING), problem=problem)
    assert (event["type"], event["reason"]) == ("Warning", "CopyRestored")
    assert (event["action"], event["message"]) == ("Reading", "a bad value")


async def test_an_event_without_a_uid_names_none() -> None:
    recorder = Kept()
    running = asyncio.create_task(recorder.run())
    recorder.announce(LEASE, Reason.FEATURE_OFF, "evict is off")
    await recorder.flush()
    running.cancel()
    assert "uid" not in recorder.sent[0]["involvedObject"]
    assert recorder.sent[0]["type"] == "Warning"


def an_event(namespace: str, number: int = 0) -> dict[str, Any]:
    return {"metadata": {"namespace": namespace, "name": str(number)}}


def test_a_namespace_that_floods_loses_only_its_own() -> None:
    lines = Lines()
    assert not lines.add(an_event("quiet"), 0.0)
    dropped = sum(lines.add(an_event("loud", n), 0.0) for n in range(46_656))

    assert dropped == 46_656 - limits.NAMESPACE_EVENTS.number
    assert len(lines) == limits.NAMESPACE_EVENTS.number + 1
    assert lines.take()[0]["metadata"]["namespace"] == "quiet"
    assert lines.take()[0]["metadata"]["name"] == str(46_656 - limits.NAMESPACE_EVENTS.number)


def test_many_namespaces_share_what_waits_and_the_longest_line_gets_shorter() -> None:
    lines = Lines()
    for number in range(limits.EVENTS.number - 1):
        assert not lines.add(an_event(f"n{number}"), 0.0)
    assert not lines.add(an_event("n0", 1), 0.0)
    assert lines.add(an_event("late"), 0.0)

    places = [lines.take()[0]["metadata"]["namespace"] for _ in range(len(lines))]
    assert len(places) == limits.EVENTS.number == len(set(places))
    assert lines.add(an_event("late"), 0.0) is False


def test_each_namespace_has_its_turn() -> None:
    lines = Lines()
    for number in range(3):
        lines.add(an_event("loud", number), 0.0)
    lines.add(an_event("quiet"), 0.0)
    order = [lines.take()[0]["metadata"]["namespace"] for _ in range(4)]
    assert order == ["loud", "quiet", "loud", "loud"]
