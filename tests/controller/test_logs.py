"""Log lines: JSON that machines read, one line that people read, the same fields in both."""

import io
import json
import logging
from collections.abc import Iterator

import pytest

from reroll.controller.logs import Log, configure


@pytest.fixture(autouse=True)
def untouched() -> Iterator[None]:
    """Leave logging as it was."""
    root = logging.getLogger("reroll")
    before = (root.handlers[:], root.level, root.propagate)
    yield
    root.handlers[:], root.level, root.propagate = before


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_json_line_has_time_level_message_and_the_fields_as_they_are() -> None:
    out = io.StringIO()
    configure("json", "info", out)

    Log("reroll").info("rolled", workload="Deployment shop/web", seconds=0.25, tries=2)

    line = json.loads(out.getvalue())
    assert line.pop("time").endswith("+00:00")
    assert line == {
        "level": "info",
        "msg": "rolled",
        "workload": "Deployment shop/web",
        "seconds": 0.25,
        "tries": 2,
    }


def test_a_line_for_people_is_one_line_without_empty_fields() -> None:
    out = io.StringIO()
    configure("text", "info", out)

    Log("reroll.sub").warning("held", workload="Deployment shop/web", stamp="", why="Paused")

    (line,) = out.getvalue().splitlines()
    assert line.endswith('WARNING held       workload="Deployment shop/web" why=Paused')


@pytest.mark.parametrize("form", ["json", "text"])
def test_a_value_with_line_breaks_and_quotes_stays_on_its_line(form: str) -> None:
    out = io.StringIO()
    configure(form, "info", out)

    Log("reroll").info("odd", value='a "b"\nfaked=line\r\x1b[31m')

    assert len(out.getvalue().splitlines()) == 1
    assert "\x1b" not in out.getvalue()


def test_what_json_does_not_know_becomes_text() -> None:
    out = io.StringIO()
    configure("json", "info", out)

    Log("reroll").info("odd", value=ValueError("why"))

    assert json.loads(out.getvalue())["value"] == "why"


@pytest.mark.parametrize(
    ("form", "stream", "is_json"),
    [
        pytest.param("auto", io.StringIO, True, id="auto elsewhere is JSON"),
        pytest.param("auto", Terminal, False, id="auto in a terminal is text"),
        pytest.param("json", Terminal, True, id="json is JSON in a terminal too"),
        pytest.param("text", io.StringIO, False, id="text is text elsewhere too"),
    ],
)
def test_the_form_follows_the_setting_and_then_the_terminal(
    form: str, stream: type[io.StringIO], is_json: bool
) -> None:
    out = stream()
    configure(form, "info", out)

    Log("reroll").info("hello")

    assert out.getvalue().startswith("{") is is_json


def test_lines_below_the_level_are_not_written() -> None:
    out = io.StringIO()
    configure("json", "warning", out)
    log = Log("reroll")
    for say in (log.debug, log.info, log.warning, log.error):
        say("line")

    levels = [json.loads(line)["level"] for line in out.getvalue().splitlines()]
    assert levels == ["warning", "error"]


def test_a_field_that_is_empty_is_left_out_so_that_its_type_is_always_the_same() -> None:
    out = io.StringIO()
    configure("json", "info", out)

    Log("reroll").info("held", strategy="", stamp="", seconds=None, tries=0)

    line = json.loads(out.getvalue())
    assert line.keys() == {"time", "level", "msg", "tries"}
