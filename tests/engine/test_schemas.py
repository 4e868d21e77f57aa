"""The paths of rows against schemas as API servers publish them."""

from typing import Any

import msgspec
import pytest
from tests.scenarios.custom import EXAMPLE_KINDS
from tests.support.crds import kinds as crds

from reroll.core.tables.custom import tables
from reroll.core.tables.kinds import Kind
from reroll.core.tables.source_kinds import SourceKind
from reroll.engine.schemas import Document, problems

ROW = {"group": "example.com", "version": "v1", "kind": "Machine", "resource": "machines"}
TEXT, NUMBER = {"type": "string"}, {"type": "integer"}


def published(schema: Any, row: Kind | SourceKind, **more: Any) -> Document:
    """As `/openapi/v3/apis/<group>/<version>` has it."""
    names = {"group": row.group, "version": row.version, "kind": row.kind}
    whole = {**schema, "x-kubernetes-group-version-kind": [names]}
    schemas = {"com.example.Other": {"type": "object"}, "com.example.It": whole, **more}
    text = msgspec.json.encode({"paths": {}, "components": {"schemas": schemas}})
    return msgspec.json.decode(text, type=Document)


def told(schema: Any, *, more: Any = None, **row: Any) -> list[str]:
    (found,) = tables([{**ROW, **row}], None)[0].custom.values()
    return problems(found, published(schema, found, **(more or {})))


def spec(**properties: Any) -> Any:
    return {"type": "object", "properties": {"spec": crds.fields(**properties)}}


@pytest.mark.parametrize("row", EXAMPLE_KINDS, ids=lambda row: row.name)
def test_every_ready_row_fits_the_definition_of_its_kind(row: Kind) -> None:
    definition = next(
        one
        for one in crds.DEFINITIONS
        if one["metadata"]["name"] == f"{row.plural}.{row.group}"
        and one["spec"]["versions"][0]["name"] == row.version
    )
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]

    assert problems(row, published(schema, row)) == []


@pytest.mark.parametrize(
    ("properties", "row", "problem"),
    [
        pytest.param(
            {"template": crds.ANY, "size": NUMBER},
            {"template": "spec.tmplate"},
            "template: spec has no tmplate; it has size, template",
            id="a field that is not there",
        ),
        pytest.param(
            {"pods": crds.each(crds.ANY)},
            {"template": "spec.pods.template"},
            "template: spec.pods is a list; write spec.pods[*]",
            id="a list without [*]",
        ),
        pytest.param(
            {"login": crds.ONE_KEY},
            {"references": [{"source": "secret", "path": "spec.login[*].name"}]},
            "references[0].path: spec.login is not a list; take [*] out",
            id="[*] without a list",
        ),
        pytest.param(
            {"size": NUMBER},
            {"paused": "spec.size.x"},
            "paused: spec.size has no x; it is of the type integer",
            id="below a number",
        ),
        pytest.param(
            {"paused": TEXT},
            {"paused": "spec.paused"},
            "paused: spec.paused is of the type string, not boolean",
            id="another type",
        ),
        pytest.param(
            dict.fromkeys("abcdefghijklmn", TEXT),
            {"paused": "spec.x"},
            "paused: spec has no x; it has a, b, c, d, e, f, g, h, i, j, k, l, …",
            id="many fields",
        ),
    ],
)
def test_a_path_that_cannot_be_names_itself_and_what_is_there(
    properties: Any, row: Any, problem: str
) -> None:
    assert told(spec(**properties), **row) == [problem]


@pytest.mark.parametrize(
    ("schema", "row"),
    [
        pytest.param(spec(template=crds.ANY), {"template": "spec.template.pod"}, id="anything"),
        pytest.param({"type": "object"}, {"template": "spec.pod"}, id="a schema that says nothing"),
        pytest.param(
            spec(teams={"type": "object", "additionalProperties": crds.ONE_KEY}),
            {"references": [{"source": "secret", "path": "spec.teams[*].name"}]},
            id="a map",
        ),
        pytest.param(
            spec(more={"type": "object", "additionalProperties": True}),
            {"paused": "spec.more.paused"},
            id="a map of anything",
        ),
        pytest.param(spec(), {"stamp": {"annotations": "metadata.annotations"}}, id="the metadata"),
        pytest.param(spec(parts=crds.PART), {"health": {}, "paused": ""}, id="no paths"),
    ],
)
def test_what_a_schema_does_not_tell_is_no_problem(schema: Any, row: Any) -> None:
    assert told(schema, **row) == []


def test_schemas_that_stand_for_others_are_followed() -> None:
    link = {"$ref": "#/components/schemas/com.example.Spec"}
    schema = {"type": "object", "properties": {"spec": {"default": {}, "allOf": [link]}}}
    more = {"com.example.Spec": crds.fields(pod=crds.ANY), "com.example.Loop": link}

    assert told(schema, more=more, template="spec.pod") == []
    assert told(schema, more=more, template="spec.pot") == ["template: spec has no pot; it has pod"]


def test_a_kind_that_is_not_in_the_document_has_no_problems() -> None:
    (row,) = tables([{**ROW, "template": "spec.x"}], None)[0].custom.values()

    assert problems(row, Document()) == []


def test_the_paths_of_sources_are_looked_at_too() -> None:
    row = {**ROW, "paths": ["spec.level", "spec.lvl"]}
    (found,) = tables(None, [row])[0].custom.values()

    assert problems(found, published(spec(level=TEXT), found)) == [
        "paths[1]: spec has no lvl; it has level"
    ]
