"""Removes a value from messages of the API server.

Pure. A refusal often repeats the value that it refuses: quoted, escaped, or as it is. A very short
value could be anywhere in a message, so then nothing of the message is left.
"""

import base64
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

HIDDEN = "(hidden)"
SHORTEST = 4
_QUOTED = re.compile(r'(\b\w+ value: )"(?:[^"\\]|\\.)*(?:"|$)', re.DOTALL)
_DUMPED = re.compile(r"&\{.*\}|&\{.*$", re.DOTALL)


def redact(message: str, values: Iterable[bytes], written: Any) -> str:
    """`message` without what was read and what was made of it; empty where that is not certain."""
    forms = sorted({form for text in _texts(values, written) for form in _forms(text)}, key=len)
    if forms and len(forms[0]) < SHORTEST:
        return ""
    message = _DUMPED.sub(HIDDEN, _QUOTED.sub(rf"\1{HIDDEN}", message))
    for form in reversed(forms):
        message = message.replace(form, HIDDEN)
    return _without_start_of_value(message, forms)


def _without_start_of_value(message: str, forms: Iterable[str]) -> str:
    """A message that was cut may end with the start of a value."""
    body = message.removesuffix("…")
    if body == message:
        return message
    for form in forms:
        for length in range(min(len(form), len(body)), SHORTEST - 1, -1):
            if body.endswith(form[:length]):
                return body[:-length] + HIDDEN
    return message


def _texts(values: Iterable[bytes], written: Any) -> Iterator[str]:
    for value in values:
        yield value.decode(errors="replace")
        yield base64.b64encode(value).decode()
    yield from _leaves(written)


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield key
            yield from _leaves(each)
    elif isinstance(value, list):
        for each in value:
            yield from _leaves(each)
    elif value is not None and not isinstance(value, bool):
        yield str(value)


def _forms(text: str) -> Iterator[str]:
    """A text as it is, and as JSON and Go quote it."""
    if not text:
        return
    yield text
    escaped = json.dumps(text, ensure_ascii=False)[1:-1]
    yield escaped
    yield json.dumps(escaped, ensure_ascii=False)[1:-1]
    yield json.dumps(text)[1:-1]
    yield from (part for part in (line.strip() for line in text.splitlines()) if len(part) > 7)
