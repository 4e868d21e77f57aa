"""Paths: what can be written is read, what cannot is told with its place."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reroll.core.model.fieldpaths import (
    Filter,
    Index,
    Name,
    Path,
    PathError,
    addition,
    document,
    locate,
    overlap,
    parse,
    pointer_text,
    text,
)


@pytest.mark.parametrize(
    ("written", "path"),
    [
        (".spec.a", (Name("spec"), Name("a"))),
        ("spec.a", (Name("spec"), Name("a"))),
        ("$.spec.a", (Name("spec"), Name("a"))),
        ("{.spec.a}", (Name("spec"), Name("a"))),
        (" {$.spec.a} ", (Name("spec"), Name("a"))),
        (".data['a.b']", (Name("data"), Name("a.b"))),
        ('.data["a\\"b"]', (Name("data"), Name('a"b'))),
        (".spec.list[12].x", (Name("spec"), Name("list"), Index(12), Name("x"))),
        (
            '.spec.env[?(@.name=="KEY")].value',
            (Name("spec"), Name("env"), Filter("name", "KEY"), Name("value")),
        ),
        (
            ".spec.env[ ?( @.name == 'K' ) ].value",
            (Name("spec"), Name("env"), Filter("name", "K"), Name("value")),
        ),
        (".spec.ports[?(@.port==80)]", (Name("spec"), Name("ports"), Filter("port", 80))),
        (".spec.x-y/z_1", (Name("spec"), Name("x-y/z_1"))),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_a_path_is_read(written: str, path: Path) -> None:
    assert parse(written) == path
    assert parse(text(path)) == path


@pytest.mark.parametrize(
    ("written", "sentence"),
    [
        ("", "the path is empty; write e.g. .spec.storage.accessKey"),
        ("$", "the path is empty; write e.g. .spec.storage.accessKey"),
        ("[0].a", "the path starts with [0]; it must start with a field such as .spec"),
        (".spec..a", "at character 6 of the path: `..` matches several places"),
        (".spec.*", "at character 7 of the path: a wildcard matches several places"),
        (".spec.a[*]", "at character 8 of the path: a wildcard matches several places"),
        (".spec.", "at character 7 of the path: the name of a field is missing"),
        (".spec.a[1:2]", "at character 8 of the path: a slice matches several places"),
        (".spec.a[?(@.n>3)]", "at character 8 of the path: this filter is not supported"),
        (".spec.a]", "at character 8 of the path: ']' is not a step such as"),
        ("{$.spec.a[}", "at character 10 of the path: a step such as"),
        ("." + "a" * 600, "the path has 601 characters; at most 512 are allowed"),
    ],
)
def test_a_mistake_is_told_with_its_place(written: str, sentence: str) -> None:
    with pytest.raises(PathError) as error:
        parse(written)
    assert str(error.value).startswith(sentence)


@given(st.text(max_size=60))
def test_whatever_somebody_writes_is_a_path_or_a_sentence(written: str) -> None:
    with suppress(PathError):
        path = parse(written)
        assert parse(text(path)) == path


OBJECT = {
    "spec": {
        "a": {"b": "1", "none": None},
        "list": [{"name": "x", "v": 1}, {"name": "y"}, {"name": "y"}, "text"],
    }
}


@pytest.mark.parametrize(
    ("written", "pointer", "value"),
    [
        (".spec.a.b", "/spec/a/b", "NEW"),
        (".spec.a.new", "/spec/a/new", "NEW"),
        (".spec.a.none.deep", "/spec/a/none", {"deep": "NEW"}),
        (".spec.p.q['r~/s'].t", "/spec/p", {"q": {"r~/s": {"t": "NEW"}}}),
        ('.spec.list[?(@.name=="x")].v', "/spec/list/0/v", "NEW"),
        (".spec.list[1].new", "/spec/list/1/new", "NEW"),
    ],
)
def test_a_place_that_is_not_there_is_made_with_one_operation(
    written: str, pointer: str, value: object
) -> None:
    assert addition(locate(OBJECT, parse(written)), "NEW") == (pointer, value)


@pytest.mark.parametrize(
    ("written", "sentence"),
    [
        (".spec.a.b.c", ".spec.a.b is a string, so it has no field .c"),
        (".spec.list.c", ".spec.list is a list, so it has no field .c"),
        (".spec.a[0]", ".spec.a is an object, not a list"),
        (".spec.list[4].v", ".spec.list has 4 items, so there is no [4]"),
        (
            '.spec.list[?(@.name=="z")].v',
            '.spec.list has no item with [?(@.name=="z")]; exactly one is needed',
        ),
        (
            '.spec.list[?(@.name=="y")].v',
            '.spec.list has 2 items with [?(@.name=="y")]; exactly one is needed',
        ),
        (".spec.other[0].v", "there is no list at .spec.other"),
    ],
)
def test_a_place_that_cannot_be_is_told(written: str, sentence: str) -> None:
    with pytest.raises(PathError) as error:
        locate(OBJECT, parse(written))
    assert str(error.value) == sentence


def test_the_smallest_document_holds_a_value_at_its_path_and_nothing_else() -> None:
    path = parse('.spec.env[?(@.name=="KEY")].value')

    made = document(path, 3)
    assert made == {"spec": {"env": [{"name": "KEY", "value": 3}]}}
    assert locate(made, path).value == 3


def test_a_pointer_escapes_what_has_a_meaning_in_it() -> None:
    assert pointer_text(("a/b", 3, "~")) == "/a~1b/3/~0"


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (".spec.a", ".spec.a", True),
        (".spec.a", ".spec.b", False),
        (".spec.a", ".spec.a.b.c", True),
        (".spec.l[0].v", ".spec.l[1].v", False),
        (".spec.l[0].v", '.spec.l[?(@.name=="x")].v', True),
        ('.spec.l[?(@.name=="y")].v', '.spec.l[?(@.name=="x")].v', False),
        (".spec.l[0].v", ".spec.l[0].w", False),
    ],
)
def test_places_overlap_where_writing_one_may_change_the_other(
    one: str, other: str, expected: bool
) -> None:
    assert overlap(parse(one), parse(other)) is expected
    assert overlap(parse(other), parse(one)) is expected
