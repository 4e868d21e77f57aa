"""Edits of text: the fewest characters, whatever the style, and nothing else is touched."""

# ruff: noqa: E501  a case reads best as one line before and one after

import pytest
import yaml

from reroll.manifests.text.compose import compose
from reroll.manifests.text.edits import Put, apply_text_edits, put
from reroll.manifests.text.errors import TextError

PATH = ("spec", "template", "metadata", "annotations")
SUM = {"checksum/config": "abc"}


def edited(text: str, path: tuple[str | int, ...] = PATH, entries=None) -> str:
    (document,) = compose(text)
    return apply_text_edits(text, put(text, document.root, Put(path, entries or SUM)))


CASES = {
    "annotations are there": (
        "spec:\n  template:\n    metadata:\n      annotations:\n        a: b\n",
        'spec:\n  template:\n    metadata:\n      annotations:\n        checksum/config: "abc"\n        a: b\n',
    ),
    "a comment above the first annotation stays with it": (
        "spec:\n  template:\n    metadata:\n      annotations: # these\n        # about a\n        a: b\n",
        'spec:\n  template:\n    metadata:\n      annotations: # these\n        checksum/config: "abc"\n        # about a\n        a: b\n',
    ),
    "metadata has no annotations": (
        "spec:\n    template:\n        metadata:\n            labels: {}\n        spec: {}\n",
        'spec:\n    template:\n        metadata:\n            annotations:\n                checksum/config: "abc"\n            labels: {}\n        spec: {}\n',
    ),
    "the template has no metadata": (
        "spec:\n  template:\n    spec: {}\n",
        'spec:\n  template:\n    metadata:\n      annotations:\n        checksum/config: "abc"\n    spec: {}\n',
    ),
    "annotations are empty braces": (
        "spec: \n  template:\n    metadata:\n      annotations: {}  # none\n    spec: {}\n",
        'spec: \n  template:\n    metadata:\n      annotations: {"checksum/config": "abc"}  # none\n    spec: {}\n',
    ),
    "annotations are null": (
        "spec:\n  template:\n    metadata:\n      annotations: null # none\n",
        'spec:\n  template:\n    metadata:\n      annotations: {"checksum/config": "abc"} # none\n',
    ),
    "annotations have no value": (
        "spec:\n  template:\n    metadata:\n      annotations:   # none\n      name: x\n",
        'spec:\n  template:\n    metadata:\n      annotations:   # none\n        checksum/config: "abc"\n      name: x\n',
    ),
    "annotations have no value and no line break": (
        "spec:\n  template:\n    metadata:\n      annotations:",
        'spec:\n  template:\n    metadata:\n      annotations:\n        checksum/config: "abc"',
    ),
    "metadata is null": (
        "spec:\n  template:\n    metadata: ~\n    spec: {}\n",
        'spec:\n  template:\n    metadata: {"annotations": {"checksum/config": "abc"}}\n    spec: {}\n',
    ),
    "the file has CRLF": (
        "spec:\r\n  template:\r\n    metadata:\r\n      labels:\r\n        a: b\r\n",
        'spec:\r\n  template:\r\n    metadata:\r\n      annotations:\r\n        checksum/config: "abc"\r\n      labels:\r\n        a: b\r\n',
    ),
    "a plain checksum is replaced": (
        "spec:\n  template:\n    metadata:\n      annotations:\n        checksum/config: old # sum\n        a: b\n",
        "spec:\n  template:\n    metadata:\n      annotations:\n        checksum/config: abc # sum\n        a: b\n",
    ),
    "a checksum in double quotes is replaced": (
        'spec: {template: {metadata: {annotations: {"checksum/config": "old", a: b}}}}\n',
        'spec: {template: {metadata: {annotations: {"checksum/config": "abc", a: b}}}}\n',
    ),
    "a checksum in single quotes is replaced": (
        "spec:\n  template:\n    metadata:\n      annotations:\n        'checksum/config': 'old'\n",
        "spec:\n  template:\n    metadata:\n      annotations:\n        'checksum/config': 'abc'\n",
    ),
    "a checksum without a value is filled in": (
        "spec:\n  template:\n    metadata:\n      annotations:\n        checksum/config:\n        a: b\n",
        'spec:\n  template:\n    metadata:\n      annotations:\n        checksum/config: "abc"\n        a: b\n',
    ),
    "a checksum in a block scalar is replaced": (
        "spec:\n  template:\n    metadata:\n      annotations:\n        checksum/config: |-\n          old\n\n        a: b\n",
        'spec:\n  template:\n    metadata:\n      annotations:\n        checksum/config: "abc"\n\n        a: b\n',
    ),
    "a checksum with a tag keeps it": (
        "spec: {template: {metadata: {annotations: {checksum/config: !!str old}}}}\n",
        "spec: {template: {metadata: {annotations: {checksum/config: !!str abc}}}}\n",
    ),
    "a checksum that is an alias is replaced": (
        "old: &x 1\nspec:\n  template:\n    metadata:\n      annotations: {checksum/config: *x, a: b}\n",
        'old: &x 1\nspec:\n  template:\n    metadata:\n      annotations: {checksum/config: "abc", a: b}\n',
    ),
    "annotations that are an alias get a mapping of their own": (
        "common: &c\n  a: b\nspec:\n  template:\n    metadata:\n      annotations: *c # shared\n",
        'common: &c\n  a: b\nspec:\n  template:\n    metadata:\n      annotations: {<<: *c, "checksum/config": "abc"} # shared\n',
    ),
    "annotations with an anchor of their own": (
        "spec:\n  template:\n    metadata:\n      annotations: &a\n        a: b\n",
        'spec:\n  template:\n    metadata:\n      annotations: &a\n        checksum/config: "abc"\n        a: b\n',
    ),
    "an anchor on a line of its own": (
        "spec:\n  template:\n    metadata:\n      annotations:\n        &a\n        a: b\n",
        'spec:\n  template:\n    metadata:\n      annotations:\n        &a\n        checksum/config: "abc"\n        a: b\n',
    ),
    "braces inside blocks": (
        "spec:\n  template: { metadata: { labels: {a: b} }, spec: {} }\n",
        'spec:\n  template: { metadata: { "annotations": {"checksum/config": "abc"}, labels: {a: b} }, spec: {} }\n',
    ),
    "braces over several lines": (
        "spec: {\n  template: {\n\tmetadata: {\n      labels: {a: b}\n    }\n  }\n}\n",
        'spec: {\n  template: {\n\tmetadata: {\n      "annotations": {"checksum/config": "abc"},\n      labels: {a: b}\n    }\n  }\n}\n',
    ),
    "JSON": (
        '{"spec": {"template": {"metadata": {"annotations": {"a": "b"}}}}}',
        '{"spec": {"template": {"metadata": {"annotations": {"checksum/config": "abc", "a": "b"}}}}}',
    ),
    "JSON with null": (
        '{"spec": {"template": {"metadata": null}}}',
        '{"spec": {"template": {"metadata": {"annotations": {"checksum/config": "abc"}}}}}',
    ),
    "JSON with an empty template": (
        '{"spec": {"template": {}}}\n',
        '{"spec": {"template": {"metadata": {"annotations": {"checksum/config": "abc"}}}}}\n',
    ),
    "keys in quotes": (
        "\"spec\":\n  'template':\n    \"metadata\":\n      'annotations':\n        a: b\n",
        "\"spec\":\n  'template':\n    \"metadata\":\n      'annotations':\n        checksum/config: \"abc\"\n        a: b\n",
    ),
    "line breaks that only YAML knows": (
        "# a\u2028spec:\u2028  template:\x85    metadata: # b\u2029      labels: {}\n",
        '# a\u2028spec:\u2028  template:\x85    metadata: # b\n      annotations:\n        checksum/config: "abc"\u2029      labels: {}\n',
    ),
    "line breaks of old Macs": (
        "spec:\r  template:\r    metadata:\r      labels: {}\r",
        'spec:\r  template:\r    metadata:\n      annotations:\n        checksum/config: "abc"\r      labels: {}\r',
    ),
    "text that is not ASCII, before the place": (
        "x: 'Ærø 🚢'\nspec:\n  template:\n    metadata:\n      annotations:\n        a: b\n",
        "x: 'Ærø 🚢'\nspec:\n  template:\n    metadata:\n      annotations:\n        checksum/config: \"abc\"\n        a: b\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_checksum_is_put_into_whatever_is_there(name: str) -> None:
    before, after = CASES[name]
    assert edited(before) == after
    wanted = yaml.load(before, yaml.CSafeLoader)
    place = wanted
    for step in PATH:
        if place.get(step) is None:
            place[step] = {}
        place = place[step]
    # An alias is one object: what is put into the copy must not be in what it is a copy of.
    found = yaml.load(after, yaml.CSafeLoader)
    if name.startswith("annotations that are an alias"):
        assert found["common"] == {"a": "b"}
    else:
        place |= SUM
        assert found == wanted


@pytest.mark.parametrize("name", CASES)
def test_what_is_put_twice_changes_nothing_the_second_time(name: str) -> None:
    assert edited(CASES[name][1]) == CASES[name][1]


@pytest.mark.parametrize("name", CASES)
def test_text_outside_the_edits_is_the_same(name: str) -> None:
    before = CASES[name][0]
    (document,) = compose(before)
    edits = put(before, document.root, Put(PATH, SUM))
    after, moved = apply_text_edits(before, edits), 0
    kept = after
    for edit in sorted(edits):
        start = edit.start + moved
        kept_end = start + len(edit.text)
        assert kept[start:kept_end] == edit.text
        kept = kept[:start] + before[edit.start : edit.end] + kept[kept_end:]
    assert kept == before


def test_an_item_of_a_list_gets_an_entry_before_its_metadata() -> None:
    before = "items:\n- apiVersion: v1\n  kind: Secret\n  metadata: {name: a}\n"
    after = "items:\n- apiVersion: v1\n  kind: Secret\n  immutable: true\n  metadata: {name: a}\n"
    assert edited(before, ("items", 0), {"immutable": True}) == after


def test_an_item_of_a_list_of_texts_is_replaced() -> None:
    assert edited("a: [b, 'c']\n", ("a",), {1: "d"}) == "a: [b, 'd']\n"


def test_a_value_that_would_read_as_a_number_is_put_in_quotes() -> None:
    assert edited("a: x\n", (), {"a": "123e45"}) == 'a: "123e45"\n'
    assert edited("a: x\n", (), {"a": "abc"}) == "a: abc\n"


@pytest.mark.parametrize("written", ['"\\x61bc"', "|-\n  abc", "!!str abc", "'abc'", "&x abc"])
def test_what_says_the_same_in_another_way_is_left_alone(written: str) -> None:
    text = f"a: {written}\n"
    assert edited(text, (), {"a": "abc"}) == text


def test_several_entries_stand_in_the_order_in_which_they_were_given() -> None:
    assert edited("a:\n  b: c\n", ("a",), {"z": "1", "x": "2"}) == (
        'a:\n  z: "1"\n  x: "2"\n  b: c\n'
    )


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("spec: [a]\n", "this has to be a mapping"),
        ("spec: text\n", "this has to be a mapping"),
        ("spec:\n  template:\n    metadata:\n      annotations: [a]\n", "has to be a mapping"),
        (
            "spec:\n  template:\n    metadata:\n      annotations: {checksum/config: [a]}\n",
            "this has to be a single value",
        ),
        ("spec:\n  ? template\n  ? other\n", "this key has no value"),
        ("spec:\n  template:\n    ? labels\n    : a\n", "question mark"),
    ],
)
def test_what_cannot_be_edited_is_told(text: str, line: str) -> None:
    with pytest.raises(TextError, match=line):
        edited(text)


def test_an_empty_key_with_a_question_mark_is_told_too() -> None:
    with pytest.raises(TextError, match="question mark"):
        edited("? # why\nspec: a\nmetadata: b\n", (), {"immutable": True})
