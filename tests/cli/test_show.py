"""How a command shows its answer: one table of forms for all of them."""

import json
from datetime import UTC, datetime

import pytest
import yaml

from reroll.answers.documents import plain
from reroll.cli.show import Answer, Place, Table, show, target
from reroll.core.model.key import Key

NOON = datetime(2026, 11, 17, 12, tzinfo=UTC)
WEB, DB = Key("Deployment", "shop", "web"), Key("StatefulSet", "shop", "db")
ANSWER = Answer(
    document={
        "key": WEB,
        "at": NOON,
        "keys": frozenset(("b", "a")),
        "parts": (1, [None, {"deep": NOON}]),
    },
    text=(
        Table(("NAME", "STRATEGY", "STATE"), [("web", "stamp", "held")], wide={"STRATEGY"}),
        "1 workload",
    ),
    names=[target(WEB), target(DB), target(WEB)],
    warnings=["look out"],
    code=3,
)
PROGRAM = {
    "key": {"kind": "Deployment", "namespace": "shop", "name": "web"},
    "at": "2026-11-17T12:00:00Z",
    "keys": ["a", "b"],
    "parts": [1, [None, {"deep": "2026-11-17T12:00:00Z"}]],
}
FORMS = {
    "table": [["NAME", "STATE"], ["web", "held"], ["1", "workload"]],
    "wide": [["NAME", "STRATEGY", "STATE"], ["web", "stamp", "held"], ["1", "workload"]],
    "name": [["deployment/web"], ["statefulset/db"]],
}


@pytest.mark.parametrize("form", FORMS)
def test_people_get_what_they_asked_for(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert show(form, ANSWER) == 3
    printed = capsys.readouterr()
    assert [line.split() for line in printed.out.splitlines()] == FORMS[form]
    assert printed.err == "reroll: look out\n"


def test_programs_get_the_document_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    show("json", ANSWER)
    assert json.loads(capsys.readouterr().out) == PROGRAM
    show("yaml", ANSWER)
    assert yaml.safe_load(capsys.readouterr().out) == PROGRAM


def test_a_namespace_is_shown_where_there_is_more_than_one() -> None:
    other = Key("Deployment", "stage", "web")
    assert Place.of([WEB, DB]).cells(WEB) == ("deployment/web",)
    assert Place.of([WEB, other]).columns == ("NAMESPACE", "WORKLOAD")
    assert Place.of([WEB], everywhere=True).cells(WEB) == ("shop", "deployment/web")


def test_a_value_that_json_has_stays_as_it_is() -> None:
    assert plain({"a": [1, "b", None, True]}) == {"a": [1, "b", None, True]}
