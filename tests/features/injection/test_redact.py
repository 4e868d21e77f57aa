"""Words of the API server, as it said them on a real one, without the value."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reroll.features.injection.redact import HIDDEN, redact, refused_by

VALUE = "correct-horse"


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (
            f"failed to create typed patch object: .spec.deep: expected map, got &{{{VALUE}}}",
            f"failed to create typed patch object: .spec.deep: expected map, got {HIDDEN}",
        ),
        (
            f'spec.mode: Unsupported value: "{VALUE}": supported values: "a", "b"',
            f'spec.mode: Unsupported value: {HIDDEN}: supported values: "a", "b"',
        ),
        (
            'spec.n: Invalid value: "string": spec.n in body must be of type integer: "string"',
            f'spec.n: Invalid value: {HIDDEN}: spec.n in body must be of type integer: "string"',
        ),
        (f"a webhook does not like {VALUE}!", f"a webhook does not like {HIDDEN}!"),
        (
            "spec.key: Too long: may not be more than 10",
            "spec.key: Too long: may not be more than 10",
        ),
        (f"it was cut in the mid: {VALUE[:7]}…", ""),
        ('admission webhook "x.example.com" denied the request: no port "rect"', ""),
        ("a part in capitals: CORRECT", ""),
        ("a part that is too short to tell: hor", "a part that is too short to tell: hor"),
    ],
)
def test_the_words_stay_and_the_value_goes(words: str, shown: str) -> None:
    assert redact(words, [VALUE.encode()], VALUE) == shown


def test_words_that_could_hold_a_short_value_anywhere_are_left_out() -> None:
    assert redact("spec.n: 42 is too large", [b"42"], 42) == ""


def test_parts_of_an_object_are_values_too() -> None:
    made = {"password": "hunter2222", "more": ["another-one"]}

    shown = redact("no hunter2222, no another-one", [json.dumps(made).encode()], made)
    assert shown == f"no {HIDDEN}, no {HIDDEN}"


def test_the_webhook_that_refused_is_named() -> None:
    words = f'admission webhook "urls.example.com" denied the request: port "{VALUE}"'
    assert refused_by(words) == "admission webhook urls.example.com"
    assert refused_by(f"spec.key: Invalid value: {VALUE}") == ""


@given(st.text(min_size=8, max_size=60), st.data())
def test_no_part_of_a_value_is_shown(value: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(value) - 4))
    part = value[start : start + 4]
    shown = redact(f"<<{part}>>", [value.encode(errors="replace")], value)
    assert part not in shown or part in HIDDEN


@given(st.text(min_size=4, max_size=40), st.sampled_from(["plain", "json", "go", "base64"]))
def test_no_value_is_repeated_however_it_is_quoted(value: str, how: str) -> None:
    quoted = {
        "plain": value,
        "json": json.dumps(value),
        "go": json.dumps(value, ensure_ascii=False),
        "base64": base64.b64encode(value.encode(errors="replace")).decode(),
    }[how]

    raw = value.encode(errors="replace")
    shown = redact(f"<<{quoted}>>", [raw], value)
    inner = quoted.strip('"')
    assert inner not in shown.removeprefix("<<").removesuffix(">>") or inner in HIDDEN
