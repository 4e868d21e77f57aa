"""Who owns a field, and whether it can be applied alone: trees as the API server writes them."""

from typing import Any

import pytest

from reroll.core.model.fieldpaths import parse
from reroll.features.injection.ownership import Managed, Owner, can_be_applied, owners

WHOLE = {
    "f:spec": {
        ".": {},
        "f:key": {},
        "f:deep": {".": {}, "f:a": {}},
        "f:atom": {},
        "f:plain": {},
        "f:bare": {".": {}},
        "f:keyed": {".": {}, 'k:{"name":"x"}': {".": {}, "f:name": {}, "f:value": {}}},
        "f:ports": {'k:{"port":80,"protocol":"TCP"}': {"f:port": {}, "f:name": {}}},
    }
}
OBJECT = {
    "spec": {
        "key": "1",
        "deep": {"a": "1"},
        "atom": {"a": "1"},
        "alone": {"a": "1"},
        "unknown": {"a": "1"},
        "bare": {"z": "1"},
        "plain": [{"name": "x"}],
        "keyed": [{"name": "x"}],
        "ports": [{"port": 80, "name": "http"}],
    }
}


def entry(
    manager: str, fields: dict[str, Any], operation: str = "Update", sub: str = ""
) -> Managed:
    return Managed(manager=manager, operation=operation, subresource=sub, fields=fields)


def names(path: str, *managed: Managed) -> list[str]:
    return [owner.manager for owner in owners(managed, parse(path))]


def test_whoever_wrote_a_field_owns_it() -> None:
    one = entry("helm", WHOLE)

    assert owners([one], parse(".spec.key")) == [Owner("helm", "Update")]
    assert names(".spec.deep.a", one) == ["helm"]
    assert names('.spec.keyed[?(@.name=="x")].value', one) == ["helm"]
    assert names(".spec.deep.b", one) == []
    assert names('.spec.keyed[?(@.name=="y")].value', one) == []
    assert names(".spec.bare.z", one) == []


def test_an_atomic_list_or_map_is_owned_as_a_whole() -> None:
    one = entry("helm", WHOLE)

    assert names(".spec.atom.a", one) == ["helm"]
    assert names(".spec.plain[0].value", one) == ["helm"]


def test_who_owned_an_empty_map_does_not_own_what_came_into_it() -> None:
    empty = entry("creator", {"f:spec": {}})
    ours = entry("ours", {"f:spec": {"f:key": {}}}, "Apply")

    assert names(".spec.key", empty, ours) == ["ours"]


def test_what_belongs_to_a_status_counts_for_nothing() -> None:
    assert names(".spec.key", entry("operator", WHOLE, sub="status")) == []


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (".spec.key", True),
        (".spec.deep.b", True),
        (".spec.bare.a", True),
        (".spec.new.a.b", True),
        (".spec.alone.a", True),
        ('.spec.keyed[?(@.name=="x")].value', True),
        (".spec.atom.b", False),
        (".spec.unknown.b", False),
        (".spec.plain[0].value", False),
        ('.spec.plain[?(@.name=="x")].value', False),
        (".spec.keyed[0].value", False),
        ('.spec.keyed[?(@.name=="x")]', False),
        ('.spec.keyed[?(@.value=="x")].value', False),
        ('.spec.ports[?(@.name=="http")].targetPort', False),
    ],
)
def test_a_field_is_applied_where_that_leaves_its_neighbours_alone(
    path: str, expected: bool
) -> None:
    assert can_be_applied([entry("helm", WHOLE)], OBJECT, parse(path)) is expected
