"""How a command shows its answer."""

import json
from datetime import UTC, datetime

from reroll.cli.show import Table, plain, show
from reroll.core.model.key import Key

NOON = datetime(2026, 11, 17, 12, tzinfo=UTC)
DOCUMENT = {
    "key": Key("Deployment", "shop", "web"),
    "at": NOON,
    "keys": frozenset(("b", "a")),
    "parts": (1, [None, {"deep": NOON}]),
}
PARTS = (Table(("NAME", "STATE"), [("web", "held")]), "1 workload")


def test_json_is_the_document_and_nothing_else(capsys):
    show("json", DOCUMENT, PARTS)
    printed = json.loads(capsys.readouterr().out)
    assert printed == {
        "key": {"kind": "Deployment", "namespace": "shop", "name": "web"},
        "at": "2026-11-17T12:00:00Z",
        "keys": ["a", "b"],
        "parts": [1, [None, {"deep": "2026-11-17T12:00:00Z"}]],
    }


def test_people_get_the_tables_and_lines_in_their_order(capsys):
    show("table", DOCUMENT, PARTS)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines] == [
        ["NAME", "STATE"],
        ["web", "held"],
        ["1", "workload"],
    ]


def test_a_value_that_json_has_stays_as_it_is():
    assert plain({"a": [1, "b", None, True]}) == {"a": [1, "b", None, True]}
