"""What no code expected is one log line without a value, and a count; it ends nothing else."""

import asyncio
import io
import json
from collections.abc import Iterator
from typing import Any

import pytest

from reroll.clock import SystemClock
from reroll.controller import bugs, logs
from reroll.controller.bugs import Part
from reroll.controller.bus import Bus, Sink
from reroll.controller.metrics import Metrics
from reroll.controller.report import Report, Result
from reroll.core.model.key import Key
from reroll.core.tables.reasons import Reason

WEB = Key("Deployment", "shop", "web")
REPORT = Report(WEB, "uid", "apps/v1", Reason.FAILED, "why", result=Result.FAILED)


@pytest.fixture
def out(monkeypatch: pytest.MonkeyPatch) -> Iterator[io.StringIO]:
    monkeypatch.setattr(bugs, "_lines", {})
    stream = io.StringIO()
    logs.configure("json", "info", stream)
    yield stream
    logs.configure("json", "info")


def lines(out: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.getvalue().splitlines()]


def fail() -> None:
    raise ValueError("invalid literal: 'hunter2'")


def test_a_line_names_the_object_and_the_place_and_quotes_nothing(out: io.StringIO) -> None:
    before = bugs.counts()[Part.WATCH]
    with bugs.contained(Part.WATCH, object="Secret shop/db"):
        fail()

    (line,) = lines(out)
    assert (line["msg"], line["object"], line["error"]) == ("bug", "Secret shop/db", "ValueError")
    assert line["trace"].endswith(" fail")
    assert "hunter2" not in out.getvalue()
    assert bugs.counts()[Part.WATCH] == before + 1


def test_of_several_at_once_all_kinds_are_named(out: io.StringIO) -> None:
    bugs.report(Part.FEATURE, ExceptionGroup("two", [KeyError("hunter2"), ValueError()]))
    assert lines(out)[0]["error"] == "ExceptionGroup(KeyError, ValueError)"


def test_one_that_comes_again_and_again_is_counted_and_logged_a_few_times(out: io.StringIO) -> None:
    before = bugs.counts()[Part.WORK]
    for number in range(100):
        with bugs.contained(Part.WORK, workload=str(number)):
            fail()

    assert len(lines(out)) == bugs.LINES
    assert bugs.counts()[Part.WORK] == before + 100


def test_the_metric_has_every_part() -> None:
    text = Metrics().registry.render().decode()
    for part in Part:
        assert f'reroll_bugs_total{{part="{part.value}"}} {float(bugs.counts()[part])}\n' in text


async def test_an_error_in_a_callback_of_the_event_loop_is_a_bug_too(out: io.StringIO) -> None:
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(bugs.in_loop)
    loop.call_soon(fail)
    await asyncio.sleep(0)
    await asyncio.sleep(0)

    (line,) = lines(out)
    assert (line["part"], line["error"]) == ("loop", "ValueError")
    assert "hunter2" not in out.getvalue()


def test_a_sink_that_fails_keeps_nothing_from_the_others(out: io.StringIO) -> None:
    class Broken(Sink):
        def report(self, _: Report) -> None:
            fail()

        def forget(self, _: Key) -> None:
            fail()

    class Noting(Sink):
        def __init__(self) -> None:
            self.noted: list[Key] = []

        def report(self, report: Report) -> None:
            self.noted.append(report.key)

        def forget(self, key: Key) -> None:
            self.noted.append(key)

    noting = Noting()
    bus = Bus(SystemClock(), Broken(), noting)
    bus.publish(REPORT)
    bus.forget(WEB)

    assert noting.noted == [WEB, WEB]
    assert {line["object"] for line in lines(out)} == {str(WEB)}
