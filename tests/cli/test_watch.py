"""`--watch` in a pipe: what is new is said once, and the age of a row is nothing new."""

import asyncio
import json
from argparse import Namespace
from collections.abc import Iterable

import pytest

from reroll.cli import watch
from reroll.cli.show import Answer, Table
from reroll.kube.errors import Forbidden, Unavailable
from reroll.kube.view import View

VIEW = View(None, "shop", "shop")  # type: ignore[arg-type]  nothing here asks a cluster


def answer(age: str, **states: str) -> Answer:
    facts = [{"name": name, "state": state} for name, state in states.items()]
    rows = [(name, f"{age} ago", state) for name, state in states.items()]
    table = Table(("NAME", "ROLLED", "STATE"), rows, facts=facts)
    words = f"{len(rows)} workloads"
    return Answer({"workloads": facts}, [table, "", words], list(states), ["a right is missing"])


def printed(
    capsys: pytest.CaptureFixture[str], output: str, answers: Iterable[Answer | Exception]
) -> tuple[list[str], list[str]]:
    """What is printed of these, one after the other; the last one ends it."""
    coming = iter(answers)

    async def ask(_: View) -> Answer:
        now = next(coming)
        if isinstance(now, Exception):
            raise now
        return now

    end = Forbidden("that is all")
    coming = iter([*answers, end])
    with pytest.raises(Forbidden):
        asyncio.run(watch.present(Namespace(output=output, watch=True), VIEW, ask))
    done = capsys.readouterr()
    return done.out.splitlines(), done.err.splitlines()


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "EVERY", 0.0)


STEPS = [
    answer("1s", web="held", db="up to date"),
    answer("3s", web="held", db="up to date"),
    answer("5s", web="up to date", db="up to date"),
]


def test_only_rows_that_changed_are_printed_again(capsys: pytest.CaptureFixture[str]) -> None:
    out, err = printed(capsys, "table", STEPS)
    assert [line.split(maxsplit=3) for line in out] == [
        ["NAME", "ROLLED", "STATE"],
        ["web", "1s", "ago", "held"],
        ["db", "1s", "ago", "up to date"],
        ["2", "workloads"],
        ["web", "5s", "ago", "up to date"],
    ]
    assert err == ["reroll: a right is missing"]


def test_programs_get_a_document_for_each_change(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = printed(capsys, "json", STEPS)
    assert [json.loads(line)["workloads"][0]["state"] for line in out] == ["held", "up to date"]
    names, _ = printed(capsys, "name", [*STEPS, answer("9s", web="held", new="held")])
    assert names == ["web", "db", "new"]
    documents, _ = printed(capsys, "yaml", STEPS)
    assert documents.count("---") == 2


def test_an_api_server_that_goes_away_is_said_once_and_waited_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    away = Unavailable("no answer")
    out, err = printed(capsys, "table", [STEPS[0], away, away, STEPS[2]])
    assert err == ["reroll: a right is missing", "reroll: no answer; trying again", err[0]]
    assert out[-1].split()[0] == "web"
