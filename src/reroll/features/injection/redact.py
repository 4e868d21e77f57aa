"""Removes a value from messages of the API server.

Pure. A refusal often repeats the value that it refuses: quoted, escaped, or as it is; an admission
webhook may also quote a part of it. What is left of a message is shown only if it has no part of
the value in it.
"""

import base64
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

HIDDEN = "(hidden)"
SHORTEST = 4
_QUOTED = re.compile(r'(\b\w+ value: )"(?:[^"\\]|\\.)*(?:"|$)', re.DOTALL)
_ADMISSION = re.compile(
    r"(admission webhook|ValidatingAdmissionPolicy) [\"'](?P<name>[-a-z0-9.]{1,253})[\"']"
)
_DUMPED = re.compile(r"&\{.*\}|&\{.*$", re.DOTALL)


def redact(message: str, values: Iterable[bytes], written: Any) -> str:
    """`message` without what was read and what was made of it; empty where that is not certain."""
    forms = sorted({form for text in _texts(values, written) for form in _forms(text)}, key=len)
    if forms and len(forms[0]) < SHORTEST:
        return ""
    message = _DUMPED.sub(HIDDEN, _QUOTED.sub(rf"\1{HIDDEN}", message))
    for form in reversed(forms):
        message = message.replace(form, HIDDEN)
    return "" if _has_part_of(message, forms) else message


def refused_by(message: str) -> str:
    """The admission webhook or policy that refused a request; empty if it was none."""
    found = _ADMISSION.search(message)
    return f"{found[1]} {found['name']}" if found else ""


def _has_part_of(message: str, forms: Iterable[str]) -> bool:
    """Whether some characters in a row are those of a value, in upper or lower case."""
    folded = [form.casefold() for form in forms]
    parts = {
        piece[start : start + SHORTEST]
        for piece in message.casefold().split(HIDDEN)
        for start in range(len(piece) - SHORTEST + 1)
    }
    return any(part in form for part in parts for form in folded)


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
