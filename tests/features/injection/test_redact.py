"""Words of the API server, as it said them on a real one, without the value."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reroll.features.injection.redact import HIDDEN, redact

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
        (f"it was cut in the mid: {VALUE[:7]}…", f"it was cut in the mid: {HIDDEN}"),
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
