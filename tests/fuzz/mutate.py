"""Documents that are almost right: a valid one with a few structure-aware mutations, as bytes.

A mutation knows what JSON is made of: a field is dropped, null, of another type, there twice, huge,
deep, or an extreme of its own type. What the bytes say need not be valid: no UTF-8, half a
surrogate, numbers without an end.
"""

import json
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from tests.fuzz.seeded import Gen

DEEP = 3000


class Raw:
    """Bytes that stand in a document as they are."""

    def __init__(self, text: bytes) -> None:
        self.text = text

    def __repr__(self) -> str:
        return f"Raw({self.text[:40]!r})"


class Twice:
    """A value whose field is there twice; the first one is null."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"Twice({self.value!r})"


def encode(value: Any) -> bytes:
    """JSON, with what no JSON library would write."""
    if isinstance(value, Raw):
        return value.text
    if isinstance(value, Twice):
        return encode(value.value)
    if isinstance(value, dict):
        return b"{" + b",".join(_field(name, each) for name, each in value.items()) + b"}"
    if isinstance(value, list):
        return b"[" + b",".join(map(encode, value)) + b"]"
    return json.dumps(value).encode()


def _field(name: str, value: Any) -> bytes:
    key = json.dumps(name).encode()
    once = key + b":" + encode(value)
    return key + b":null," + once if isinstance(value, Twice) else once


def _deep(opening: bytes, closing: bytes) -> Raw:
    return Raw(opening * DEEP + b"1" + closing * DEEP)


ODD: list[Any] = [
    None,
    True,
    False,
    0,
    -1,
    2**31,
    2**63,
    2**64,
    10**400,
    1.5,
    -1e308,
    "",
    " ",
    "null",
    "-1",
    "9" * 5000,
    "٣٤",
    "\x00",
    "\u202e\U0001f4a5",
    "x" * 10_000,
    "../../x",
    "a/b/c/d#e#f",
    "*",
    "[",
    "(a+)+$",
    "true",
    "false",
    "1h",
    "106751991167h",
    "999999999d",
    "0001-01-01T00:00:00Z",
    "0001-01-01T00:00:00+23:59",
    "9999-12-31T23:59:59.999999-23:59",
    "9999-12-31T23:59:59Z",
    "2026-01-01T00:00:00",
    "2026-13-41T99:99:99Z",
    '{"n":1}',
    "{" * 2000,
    [],
    [None],
    [[]],
    [{}],
    [""],
    [1, "a", None, {}],
    {},
    {"": ""},
    {"": None},
    {"a": {"b": {"c": {}}}},
    {"name": None},
    Raw(b"1e999"),
    Raw(b"-0"),
    Raw(b"-"),
    Raw(b"9" * 5000),
    Raw(b"1" + b"0" * 400 + b".5"),
    Raw(b'"\\ud800"'),
    Raw(b'"\\udc00\\ud800"'),
    Raw(b'"\xff\xfe"'),
    Raw(b'"\xed\xa0\x80"'),
    Raw(b'{"\xff":1}'),
    Raw(b'"unfinished'),
    Raw(b"NaN"),
    Raw(b""),
    _deep(b"[", b"]"),
    _deep(b'{"a":', b"}"),
]
odd = st.sampled_from(ODD)
Place = tuple[Any, Any]
"""What holds a value, and under which name or number."""


def places(value: Any) -> list[Place]:
    """Every place of a document that can be another, the outer ones first."""
    found: list[Place] = []
    waiting = [value]
    while waiting:
        here = waiting.pop(0)
        if isinstance(here, dict):
            inside = list(here.items())
        elif isinstance(here, list):
            inside = list(enumerate(here))
        else:
            continue
        found += [(here, name) for name, _ in inside]
        waiting += [each for _, each in inside]
    return found


def _set(place: Place, value: Any) -> None:
    place[0][place[1]] = value


def _wrap(place: Place) -> None:
    _set(place, [place[0][place[1]]])


def _drop(place: Place) -> None:
    del place[0][place[1]]


def _twice(place: Place) -> None:
    _set(place, Twice(place[0][place[1]]))


def _many(place: Place) -> None:
    value = place[0][place[1]]
    if isinstance(value, list) and value:
        value *= 200
    elif isinstance(value, dict):
        value.update({f"extra-{number}": "x" for number in range(500)})
    elif isinstance(value, str):
        _set(place, (value or "x") * 500)


OPERATIONS: list[Callable[[Place], None]] = [_drop, _wrap, _twice, _many]


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _copy(each) for name, each in value.items()}
    return [_copy(each) for each in value] if isinstance(value, list) else value


def mutate(document: Any, below: Callable[[int], int], most: int = 3) -> Any:
    """A copy with one to `most` mutations; `below(n)` chooses a number from 0 to n - 1."""
    document = _copy(document)
    for _ in range(1 + below(most)):
        there = places(document)
        if not there:
            return _copy(ODD[below(len(ODD))])
        place, how = there[below(len(there))], below(2 * len(OPERATIONS))
        if how < len(OPERATIONS):
            OPERATIONS[how](place)
        else:
            _set(place, _copy(ODD[below(len(ODD))]))
    return document


@st.composite
def _mutated(draw: st.DrawFn, documents: st.SearchStrategy[Any]) -> Any:
    return mutate(draw(documents), lambda most: draw(st.integers(0, most - 1)))


def mutated(documents: Gen[Any]) -> st.SearchStrategy[Any]:
    """One of these with a few mutations; to be encoded with `encode`."""
    return _mutated(documents.documents)


def mutated_by(documents: Gen[Any]) -> Gen[Any]:
    """The same, for a document that is a part of another."""
    return Gen(lambda random: mutate(documents.make(random), random.randrange))


def near(documents: Gen[Any]) -> st.SearchStrategy[Any]:
    """One of these, as it is or with a few mutations."""
    return documents.documents | mutated(documents)


def bodies(documents: Gen[Any]) -> st.SearchStrategy[bytes]:
    """Such a document as bytes, or what is left of one, or something else."""
    return near(documents).map(encode) | cut(mutated(documents).map(encode)) | odd.map(encode)


def cut(documents: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    """Some of them as a connection that breaks would leave them, or with other bytes inside."""
    spoil = st.tuples(documents, st.integers(0, 2**16), st.binary(max_size=3))
    return documents | spoil.map(lambda t: t[0][: t[1] % (len(t[0]) + 1)] + t[2])
