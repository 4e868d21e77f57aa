"""Words of others that may quote a value: without it.

Pure. The API server tells why it refuses a value, and often repeats it: quoted, escaped, or as it
is. What is short could be anywhere, so then nothing is repeated.
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


def hidden(words: str, values: Iterable[bytes], written: Any) -> str:
    """`words` without what was read and what was made of it; empty where that cannot be sure."""
    forms = sorted({form for text in _texts(values, written) for form in _forms(text)}, key=len)
    if forms and len(forms[0]) < SHORTEST:
        return ""
    found = _DUMPED.sub(HIDDEN, _QUOTED.sub(rf"\1{HIDDEN}", words))
    for form in reversed(forms):
        found = found.replace(form, HIDDEN)
    return _without_beginning(found, forms)


def _without_beginning(words: str, forms: Iterable[str]) -> str:
    """A message that was cut may end with a part of a value."""
    body = words.removesuffix("…")
    if body == words:
        return words
    for form in forms:
        for length in range(min(len(form), len(body)), SHORTEST - 1, -1):
            if body.endswith(form[:length]):
                return body[:-length] + HIDDEN
    return words


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
