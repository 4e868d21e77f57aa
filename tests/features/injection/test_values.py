"""Values and templates: what they make, and what they refuse with a sentence."""

from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reroll.core.model.injection import LARGEST, Injection, Manifest, read
from reroll.core.model.key import Key
from reroll.features.injection.decide import BlockedError
from reroll.features.injection.templates import DEEPEST, FILTERS, TemplateError, render
from reroll.features.injection.values import make

SOURCE = Key("Secret", "shop", "s")


def an(*keys: str, **spec: Any) -> Injection:
    to = {"apiVersion": "example.com/v1", "kind": "Gadget", "name": "g", "path": ".spec.token"}
    made = {"from": [{"name": "s", "key": key} for key in keys], "to": to, **spec}
    meta = {"name": "one", "namespace": "shop"}
    return read(msgspec.convert({"metadata": meta, "spec": made}, Manifest))


def made(one: Injection, **content: bytes) -> Any:
    return make(one, {SOURCE: content}).desired


@pytest.mark.parametrize(
    ("encoding", "content", "value"),
    [
        ("string", "söme text\n".encode(), "söme text\n"),
        ("base64", b"\x00\xff", "AP8="),
        ("json", b" 12 ", 12),
        ("json", b'{"a": [true, null]}', {"a": [True, None]}),
        ("json", b'"text"', "text"),
    ],
)
def test_a_key_becomes_a_value(encoding: str, content: bytes, value: Any) -> None:
    assert made(an("k", encoding=encoding), k=content) == value


@pytest.mark.parametrize(
    ("encoding", "content", "sentence"),
    [
        ("string", b"ab\xff", "the value is binary, but"),
        ("json", b"9" * 4400, "the value is not JSON, as encoding: json requires"),
        ("json", b"[" * 65 + b"1" + b"]" * 65, "the value is JSON that is nested more than 64"),
        ("json", b"[" * 9999 + b"]" * 9999, "the value is JSON that is nested more than 64"),
        ("json", b'{"pass', "the value is not JSON, as encoding: json requires"),
        ("json", b"hunter2", "the value is not JSON, as encoding: json requires"),
        ("json", b"\xff", "the value is not JSON, as encoding: json requires"),
        ("json", b"null", "the value is the JSON null"),
        (
            "string",
            b"x" * (LARGEST + 1),
            "the keys hold more than the 262144 bytes that are allowed",
        ),
    ],
)
def test_what_makes_no_value_is_told_without_it(
    encoding: str, content: bytes, sentence: str
) -> None:
    with pytest.raises(BlockedError) as error:
        made(an("k", encoding=encoding), k=content)
    assert str(error.value).startswith(sentence)
    assert "hunter2" not in str(error.value)


def test_a_template_joins_keys_and_calls_them_by_names_that_can_be_written() -> None:
    one = an("user", "pass-word", template="{{ user }}:{{ pass_word|trim }}\n", encoding="base64")

    assert made(one, user=b"shop", **{"pass-word": b" pw\n"}) == "c2hvcDpwdwo="


def test_binary_has_no_place_in_a_template() -> None:
    with pytest.raises(BlockedError, match="key k of Secret shop/s is binary"):
        made(an("k", template="{{ k }}"), k=b"\xff")


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{{ a }}{{ b }}", 'x&"y'),
        ("{{ a|upper|b64encode|b64decode|lower }}", 'x&"'),
        ("{{ a|tojson }} {{ a|urlencode }}", '"x&\\"" x%26%22'),
        ("{% if a == 'no' or not b %}1{% elif b %}2{% else %}3{% endif %}", "2"),
        ("{# a comment #}{% raw %}{{ a }}{% endraw %}", "{{ a }}"),
        ("no variable at all\n", "no variable at all\n"),
    ],
)
def test_a_template_makes_text(template: str, text: str) -> None:
    assert render(template, {"a": 'x&"', "b": "y"}) == text


@pytest.mark.parametrize(
    ("template", "sentence"),
    [
        ("a\n{{ c }}", "line 2: there is no variable c; spec.from has a, b"),
        ("\n\n{{ a", "line 3: unexpected end of template"),
        ("{{ a.__class__ }}", "line 1: an attribute (`.name`) cannot be used in a template"),
        ("{{ a['x'] }}", "line 1: an item (`[…]`) cannot be used in a template"),
        ("{{ a() }}", "line 1: a call cannot be used in a template"),
        ("{% for x in a %}{{ x }}{% endfor %}", "line 1: a loop cannot be used in a template"),
        ("{% set c = a %}", "line 1: `assign` cannot be used in a template"),
        ("{% include 'x' %}", "line 1: `include` cannot be used in a template"),
        ("{{ a * 1000000000 }}", "line 1: `mul` cannot be used in a template"),
        ("{{ a ~ a }}", "line 1: `concat` cannot be used in a template"),
        ("{{ '%9999d' % 1 }}", "line 1: `mod` cannot be used in a template"),
        ("{{ a is defined }}", "line 1: "),
        ("{{ a|center(10000000) }}", "line 1: "),
        ("{{ a|trim('x') }}", "line 1: the filter trim takes no arguments"),
        ("{{ a" + "|b64encode" * (DEEPEST + 1) + " }}", "line 1: more than 4 filters in a row"),
        ("x\n{{ a|b64decode }}", "line 2: b64decode: the input is not text in base64"),
        ("x\n{{ a < 1 }}", "line 2: it compares or filters something that is not text"),
        ("{{ 5|upper }}", "line 1: it compares or filters something that is not text"),
        ("{{ none|trim }}", "line 1: it compares or filters something that is not text"),
        ("{{ " + "not " * 2000 + "a }}", "it is nested too deeply"),
        ("{% if a %}" * 120 + "x" + "{% endif %}" * 120, "it is nested too deeply"),
        ("{{ a" + " and a" * 2000 + " }}", "it is nested too deeply"),
        ("{{ " + "9" * 4400 + " }}", "it has a number or a character that cannot be used"),
        (r"{{ '\ud800' }}", "it has a number or a character that cannot be used"),
    ],
)
def test_what_a_template_may_not_do_is_told_with_its_line(template: str, sentence: str) -> None:
    with pytest.raises(TemplateError) as error:
        render(template, {"a": "hunter2!", "b": "y"})
    assert str(error.value).startswith(f"spec.template: {sentence}")
    assert "hunter2" not in str(error.value)


def test_a_template_that_makes_too_much_ends_before_it_is_made() -> None:
    with pytest.raises(TemplateError, match="its result has more than 262144 bytes"):
        render("{{ a }}" * 1000, {"a": "x" * LARGEST})


@given(st.text(max_size=200))
def test_whatever_somebody_writes_as_a_template_is_a_text_or_a_sentence(template: str) -> None:
    with suppress(TemplateError):
        assert isinstance(render(template, {"a": "1"}), str)


def test_every_filter_takes_any_text() -> None:
    for name in FILTERS.keys() - {"b64decode"}:
        assert isinstance(render("{{ a|%s }}" % name, {"a": "ä\n\0\"'<"}), str)  # noqa: UP031
