"""Fields that a row of a config file tells: what they name, and what of a path is not there."""

from typing import Any

import pytest

from reroll.core.policy.beside import lacking, named, shown, values_at
from reroll.core.policy.references import Use
from reroll.core.tables.kinds import Naming, Path


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param("db", Use("Secret", "db", "spec.login"), id="a name"),
        pytest.param({"name": "db"}, Use("Secret", "db", "spec.login"), id="an object with a name"),
        pytest.param({"secretName": "db"}, Use("Secret", "db", "spec.login"), id="as in a volume"),
        pytest.param(
            {"name": "db", "key": "password", "optional": True},
            Use(
                "Secret", "db", "spec.login", frozenset(("password",)), optional=True,
                needs=frozenset(("password",)),
            ),
            id="one key, that may be missing",
        ),
        pytest.param(
            {"name": "db", "items": [{"key": "a"}, {"key": "b"}, 3, {}]},
            Use("Secret", "db", "spec.login", frozenset("ab"), needs=frozenset("ab")),
            id="items",
        ),
        pytest.param("", None, id="no name"),
        pytest.param({"name": ""}, None, id="an object with none"),
        pytest.param({"name": 3}, None, id="a number"),
        pytest.param(["db"], None, id="a list where none was told"),
        pytest.param(None, None, id="nothing"),
    ],
)  # fmt: skip
def test_a_field_names_a_source_by_text_or_by_an_object(value: Any, expected: Use | None) -> None:
    found = list(named((Naming("Secret", ("spec", "login")),), {"spec": {"login": value}}))

    assert found == ([expected] if expected else [])


def test_each_item_of_lists_and_maps_is_looked_at_and_told_by_its_place() -> None:
    document = {"spec": {"files": [{"from": "a"}, {}, {"from": "b"}], "more": {"x": "c"}}}
    fields = (
        Naming("ConfigMap", ("spec", "files", "*", "from"), optional=True),
        Naming("ConfigMap", ("spec", "more", "*")),
    )

    found = [(use.name, use.how, use.optional) for use in named(fields, document)]

    assert found == [
        ("a", "spec.files[0].from", True),
        ("b", "spec.files[2].from", True),
        ("c", "spec.more.x", False),
    ]


@pytest.mark.parametrize("document", [None, 3, "x", [], {"spec": 3}, {"spec": {"files": "x"}}])
def test_what_has_another_shape_names_nothing(document: Any) -> None:
    assert list(values_at(document, ("spec", "files", "*", "from"))) == []


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({"spec": {"podMetadata": {"annotations": {}}}}, 0),
        ({"spec": {"podMetadata": {}}}, 1),
        ({"spec": {"podMetadata": None}}, 2),
        ({"spec": {}}, 2),
        ({"spec": None}, 3),
        ({}, 3),
    ],
)
def test_what_is_not_there_of_a_path_is_counted_from_its_end(document: Any, expected: int) -> None:
    assert lacking(document, ("spec", "podMetadata", "annotations")) == expected


@pytest.mark.parametrize(
    ("path", "text"), [(("spec",), "spec"), (("spec", "a", "*", "b"), "spec.a[*].b")]
)
def test_paths_are_shown_as_people_write_them(path: Path, text: str) -> None:
    assert shown(path) == text
