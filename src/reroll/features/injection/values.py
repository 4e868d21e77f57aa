"""The value of an Injection, made from the content of its sources.

Nothing is kept: a value lives from reading its sources to writing its target. No sentence of an
error holds a part of one.
"""

import base64
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from reroll.core.model.injection import LARGEST, From, Injection
from reroll.core.model.key import Key
from reroll.core.model.unreadable import UNREADABLE
from reroll.core.tables.reasons import Reason
from reroll.features.injection.decide import BlockedError

DEEPEST = 64
"""Levels of a value that is JSON."""
Contents = Mapping[Key, Mapping[str, bytes]]


class Value(NamedTuple):
    """What is written, and what it was made from, which redaction needs."""

    desired: Any
    raw: tuple[bytes, ...]

    def __repr__(self) -> str:
        return "Value(…)"


def make(injection: Injection, contents: Contents) -> Value:
    """The value that belongs in the target; `BlockedError` if none can be made."""
    home, spec = injection.key.namespace, injection.spec
    raw = tuple(contents[each.source(home)][each.key] for each in spec.from_)
    if sum(map(len, raw)) > LARGEST:
        raise _invalid(
            f"the keys hold more than the {LARGEST} bytes that are allowed, because every watcher "
            "of an object receives all of it"
        )
    if spec.template is None:
        return Value(_encoded(spec.encoding, raw[0]), raw)
    text = _rendered(spec.template, injection, raw).encode()
    return Value(_encoded(spec.encoding, text), (*raw, text))


def _rendered(template: str, injection: Injection, raw: tuple[bytes, ...]) -> str:
    # Some 50 ms and 2 MB, paid only where an Injection has a template.
    from reroll.features.injection.templates import TemplateError, render

    variables = {
        each.template_name: _text(each, value, injection.key.namespace)
        for each, value in zip(injection.spec.from_, raw, strict=True)
    }
    try:
        return render(template, variables)
    except TemplateError as error:
        raise _invalid(str(error)) from None


def _text(each: From, value: bytes, home: str) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise _invalid(
            f"key {each.key} of {each.source(home)} is binary, but a template makes text; use the "
            "key alone, with encoding: base64"
        ) from None


def _encoded(encoding: str, value: bytes) -> Any:
    if encoding == "base64":
        return base64.b64encode(value).decode()
    if encoding == "json":
        return _decoded(value)
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise _invalid(
            "the value is binary, but a string must be text; use encoding: base64"
        ) from None


def _decoded(value: bytes) -> Any:
    try:
        decoded = msgspec.json.decode(value)
    except RecursionError:
        raise _too_deep() from None
    except UNREADABLE:
        raise _invalid("the value is not JSON, as encoding: json requires") from None
    if decoded is None:
        raise _invalid("the value is the JSON null, which would remove the field")
    if _is_deep(decoded):
        raise _too_deep()
    return decoded


def _too_deep() -> BlockedError:
    return _invalid(f"the value is JSON that is nested more than {DEEPEST} levels deep")


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(DEEPEST):
        level = [
            inner
            for each in level
            if isinstance(each, dict | list)
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
    return bool(level)


def _invalid(message: str) -> BlockedError:
    return BlockedError(Reason.INVALID_VALUE, message)
