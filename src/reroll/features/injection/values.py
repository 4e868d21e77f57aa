"""The value of an Injection, from the content of its sources.

Nothing here is kept: a value lives from reading its sources to writing its target. No sentence of
an error holds a part of one.
"""

import base64
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from reroll.core.model.injection import LARGEST, From, Injection
from reroll.core.model.key import Key

Contents = Mapping[Key, Mapping[str, bytes]]


class UnusableError(ValueError):
    """Why there is no value, in a sentence."""


class Made(NamedTuple):
    """A value, and what it was made from, which is needed to hide it."""

    value: Any
    raw: tuple[bytes, ...]

    def __repr__(self) -> str:
        return "Made(…)"


def make(one: Injection, contents: Contents) -> Made:
    """The value that should be in the target."""
    home = one.key.namespace
    raw = tuple(contents[each.source(home)][each.key] for each in one.spec.from_)
    if (size := sum(map(len, raw))) > LARGEST:
        raise UnusableError(
            f"the keys hold {size} bytes; at most {LARGEST} are written, because an object is "
            "sent whole to everybody who watches it"
        )
    if one.spec.template is None:
        return Made(_encoded(one, raw[0]), raw)
    text = _rendered(one, raw)
    return Made(_encoded(one, text.encode()), (*raw, text.encode()))


def _rendered(one: Injection, raw: tuple[bytes, ...]) -> str:
    # Some 50 ms and 2 MB, which only those pay who have a template.
    from reroll.features.injection.templates import TemplateError, render

    variables = {
        each.called: _text(each, value, one.key.namespace)
        for each, value in zip(one.spec.from_, raw, strict=True)
    }
    try:
        return render(one.spec.template or "", variables)
    except TemplateError as error:
        raise UnusableError(str(error)) from None


def _text(each: From, value: bytes, home: str) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise UnusableError(
            f"key {each.key} of {each.source(home)} is binary, and a template makes text; "
            "use it alone, with encoding: base64"
        ) from None


def _encoded(one: Injection, value: bytes) -> Any:
    match one.spec.encoding:
        case "base64":
            return base64.b64encode(value).decode()
        case "json":
            return _decoded(value)
    try:
        return value.decode()
    except UnicodeDecodeError as error:
        raise UnusableError(
            f"the value is binary (byte {error.start} is not UTF-8), and a string in a spec must "
            "be text; use encoding: base64"
        ) from None


def _decoded(value: bytes) -> Any:
    try:
        found = msgspec.json.decode(value)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UnusableError(f"the value is not JSON, which encoding: json wants: {error}") from None
    if found is None:
        raise UnusableError("the value is the JSON null, which would remove the field")
    return found
