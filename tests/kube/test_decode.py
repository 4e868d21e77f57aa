import json
from itertools import pairwise

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.kube.models import ConfigMap

from reroll.kube.decode import (
    Added,
    Bookmark,
    Decoder,
    Deleted,
    Failure,
    LineSplitter,
    Modified,
    Page,
)
from reroll.kube.errors import Malformed

DECODER = Decoder(ConfigMap)


def line(kind, obj):
    return json.dumps({"type": kind, "object": obj}).encode()


def configmap(name="app", version="7", **more):
    meta = {"name": name, "namespace": "shop", "resourceVersion": version}
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": meta, **more}


# Lines


@given(
    st.lists(st.binary(max_size=20).map(lambda b: b.replace(b"\n", b"."))),
    st.binary(max_size=5).map(lambda b: b.replace(b"\n", b".")),
    st.data(),
)
def test_any_chunking_gives_the_same_lines(lines, tail, data):
    stream = b"".join(line + b"\n" for line in lines) + tail
    cuts = data.draw(st.lists(st.integers(0, len(stream))).map(sorted))
    edges = [0, *cuts, len(stream)]
    splitter = LineSplitter()

    seen = []
    for start, end in pairwise(edges):
        seen += splitter.feed(stream[start:end])

    assert seen == [line for line in lines if line]


@given(st.integers(0, 30), st.data())
def test_the_longest_line_does_not_depend_on_the_chunking(length, data):
    stream = b"x" * length + b"\n"
    cuts = data.draw(st.lists(st.integers(0, len(stream))).map(sorted))
    edges = [0, *cuts, len(stream)]
    splitter = LineSplitter(limit=20)

    def feed():
        return [line for start, end in pairwise(edges) for line in splitter.feed(stream[start:end])]

    if length > 20:
        with pytest.raises(Malformed, match="longer than 20 bytes"):
            feed()
    else:
        assert feed() == [stream[:-1]] * bool(length)


def test_a_line_of_many_megabytes_is_put_together_once():
    splitter = LineSplitter()
    piece = b"x" * 64 * 1024

    assert all(splitter.feed(piece) == [] for _ in range(512))
    (whole,) = splitter.feed(b"\n")

    assert len(whole) == 512 * 64 * 1024
    assert splitter._parts == []


def test_a_line_without_end_is_refused():
    splitter = LineSplitter(limit=1000)

    for _ in range(10):
        splitter.feed(b"x" * 100)

    with pytest.raises(Malformed):
        splitter.feed(b"x")


# Events


@pytest.mark.parametrize(
    ("kind", "expected"), [("ADDED", Added), ("MODIFIED", Modified), ("DELETED", Deleted)]
)
def test_an_event_is_decoded_into_the_type_that_was_asked_for(kind, expected):
    event = DECODER.event(line(kind, configmap(data={"a": "b"}, immutable=True)))

    assert type(event) is expected
    assert event.object.metadata.resource_version == "7"
    assert event.object.data == {"a": "b"}


def test_a_bookmark_needs_none_of_the_objects_fields():
    event = DECODER.event(line("BOOKMARK", {"kind": "X", "metadata": {"resourceVersion": "9"}}))

    assert isinstance(event, Bookmark)
    assert (event.resource_version, event.ends_initial_events) == ("9", False)


def test_the_bookmark_that_ends_the_initial_events_says_so():
    meta = {"resourceVersion": "9", "annotations": {"k8s.io/initial-events-end": "true"}}
    event = DECODER.event(line("BOOKMARK", {"kind": "ConfigMap", "metadata": meta}))

    assert isinstance(event, Bookmark)
    assert event.ends_initial_events


def test_an_error_event_holds_the_status():
    status = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}
    event = DECODER.event(line("ERROR", status))

    assert isinstance(event, Failure)
    assert (event.object.code, event.object.reason) == (410, "Expired")


@pytest.mark.parametrize(
    ("raw", "identity"),
    [
        (line("ADDED", configmap(data=5)), ("ConfigMap", "shop", "app")),
        (line("SURPRISE", configmap()), ("ConfigMap", "shop", "app")),
        (line("ADDED", {"kind": 5, "metadata": {"name": ["x"]}}), ("", "", "")),
        (line("ADDED", None), ("", "", "")),
        (b"[]", ("", "", "")),
        (b'{"type":"ADDED","object":{"kind":"ConfigMap","meta', ("", "", "")),
        (b"\xff\xfe", ("", "", "")),
        (b"", ("", "", "")),
        (b"[" * 100_000, ("", "", "")),
    ],
    ids=[
        "a field of the wrong type",
        "an unknown type of event",
        "an identity of the wrong type",
        "no object",
        "no event",
        "a line cut short",
        "no text",
        "nothing",
        "nesting without end",
    ],
)
def test_what_cannot_be_read_is_a_value_that_says_as_much_as_it_can(raw, identity):
    event = DECODER.event(raw)

    assert isinstance(event, Malformed)
    assert (event.kind, event.namespace, event.name) == identity


@given(st.binary())
@example(b'{"type":"ADDED","object":"\\ud800"}')
@example(b'{"type":"ADDED","object":{"metadata":{"name":"\xed\xa0\x80"}}}')
def test_no_bytes_make_the_decoder_raise(raw):
    assert isinstance(
        DECODER.event(raw), Malformed | Added | Modified | Deleted | Bookmark | Failure
    )


words = st.text("ax\u2603\U0001f600", max_size=5)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=5,
)
near_events = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"])
        | json_values,
        "object": st.fixed_dictionaries(
            {},
            optional={
                "kind": json_values,
                "code": json_values,
                "details": json_values,
                "metadata": json_values
                | st.fixed_dictionaries(
                    {}, optional={"name": json_values, "resourceVersion": json_values}
                ),
            },
        )
        | json_values,
    },
)


@given(near_events)
def test_nothing_that_looks_like_an_event_makes_the_decoder_raise(event):
    raw = json.dumps(event).encode()

    assert isinstance(
        DECODER.event(raw), Malformed | Added | Modified | Deleted | Bookmark | Failure
    )


def test_a_malformed_object_never_shows_its_values():
    event = DECODER.event(line("ADDED", configmap(data={"password": 1, "x": "hunter2"})))

    assert isinstance(event, Malformed)
    assert "hunter2" not in str(event) + repr(vars(event))


# Lists


def page(items, **meta):
    return DECODER.page(json.dumps({"kind": "List", "metadata": meta, "items": items}).encode())


def test_a_page_holds_its_items_the_version_and_the_token_of_the_next():
    left = {"continue": "more", "remainingItemCount": 3}
    got = page([configmap("a"), configmap("b")], resourceVersion="12", **left)

    assert [item.metadata.name for item in got.items] == ["a", "b"]
    assert (got.remaining, page([]).remaining) == (3, 0)
    assert (got.resource_version, got.continue_, list(got.malformed)) == ("12", "more", [])


def test_one_bad_item_does_not_cost_the_others():
    got = page([configmap("a"), configmap("b", data=[]), configmap("c")], resourceVersion="12")

    assert [item.metadata.name for item in got.items] == ["a", "c"]
    assert [odd.name for odd in got.malformed] == ["b"]
    assert got.resource_version == "12"


def test_an_empty_list_may_be_null():
    assert list(page(None, resourceVersion="1").items) == []


@given(st.binary())
def test_what_is_no_list_is_malformed(raw):
    try:
        got = DECODER.page(raw)
    except Malformed:
        return
    assert isinstance(got, Page)


def test_one_object_is_decoded_too():
    assert DECODER.item(msgspec.json.encode(configmap())).metadata.name == "app"
    assert isinstance(DECODER.item(b"{}"), Malformed)
