"""Apply edits to the text of a stream; what is not edited stays byte for byte.

A document with aliases is parsed again afterwards, and refused if an edit changed another place
that shares the text by an anchor.
"""

import re
from collections.abc import Iterator
from typing import Any

from reroll.manifests.model import Edit, Manifests, refuse
from reroll.manifests.text.compose import Document, compose
from reroll.manifests.text.edits import TWICE, Put, TextEdit, apply_text_edits, put
from reroll.manifests.text.errors import TextError
from reroll.manifests.text.nodes import Path
from reroll.manifests.text.scalars import value_of

_BEGINS = r"(?:[ \t]*+(?:#[^\n]*+)?\r?\n)*+(---(?=\s|$)|%)?"


def apply_edits(manifests: Manifests, edits: list[Edit]) -> bytes:
    """The stream with all edits."""
    by_input: dict[int, list[TextEdit]] = {}
    shared: dict[int, list[Edit]] = {}
    edits, problems = _merged(manifests, edits)
    for edit in edits:
        input_, document = edit.object.input, edit.object.document
        try:
            made = put(manifests.texts[input_], document.root, edit.put)
            by_input.setdefault(input_, []).extend(made)
        except TextError as error:
            problems.append(f"{manifests.position(input_, error.position)}: {error}")
        if document.has_aliases:
            shared.setdefault(id(document), []).append(edit)
    refuse(problems)
    for together in shared.values():
        problems += _side_effects(manifests, together, by_input[together[0].object.input])
    refuse(problems)
    texts = list(manifests.texts)
    for number, text_edits in by_input.items():
        try:
            texts[number] = apply_text_edits(texts[number], text_edits)
        except TextError as error:
            problems.append(f"{manifests.position(number, error.position)}: {error}")
    refuse(problems)
    return (manifests.mark + _joined(texts)).encode()


def _merged(manifests: Manifests, edits: list[Edit]) -> tuple[list[Edit], list[str]]:
    """The edits, one for each mapping, and the problem where two want different values."""
    by_place: dict[tuple[int, Path], Edit] = {}
    problems = []
    for edit in edits:
        path, entries = edit.put
        place = id(edit.object.document), path
        there = by_place.setdefault(place, Edit(edit.object, Put(path, {}))).put.entries
        if any(there.get(step, value) != value for step, value in entries.items()):
            problems.append(f"{manifests.where(edit.object)}: {TWICE}")
        there |= entries
    return list(by_place.values()), problems


def _side_effects(
    manifests: Manifests, together: list[Edit], text_edits: list[TextEdit]
) -> Iterator[str]:
    """The problem if the edits of a document with aliases do more than they should."""
    first = together[0].object
    document = first.document
    try:
        wanted = value_of(document.root)
        for edit in together:
            put_value(wanted, edit.put)
        after = _edited(manifests.texts[first.input], document, text_edits)
        is_wanted = [value_of(each.root) for each in compose(after)] == [wanted]
    except TextError:
        is_wanted = False
    if not is_wanted:
        yield (
            f"{manifests.where(first)}: this cannot be edited without changing another place that "
            "shares it by a YAML anchor; write out what is shared"
        )


def _edited(text: str, document: Document, text_edits: list[TextEdit]) -> str:
    """The text of one document with its edits."""
    start, end = document.start, document.end
    line = text.rfind("\n", 0, start) + 1
    if not text[line:start].strip():
        start = line  # Its indentation is a part of it.
    inside = [
        TextEdit(e.start - start, e.end - start, e.text)
        for e in text_edits
        if start <= e.start <= end
    ]
    return apply_text_edits(text[start:end], inside)


def put_value(value: Any, change: Put) -> None:
    """Do to a value what `put` does to text."""
    for step in change.path:
        if isinstance(value, dict) and value.get(step) is None:
            value[step] = {}
        value = value[step]
    for step, new in reversed(change.entries.items()):
        if isinstance(new, tuple) and isinstance(step, int):
            value[step : step + 1] = new  # From the last to the first, so that numbers stay.
        else:
            value[step] = new


def _joined(texts: list[str]) -> str:
    """Several inputs as one stream, each beginning a document; one alone stays as it is."""
    parts: list[str] = []
    for text in texts:
        if not parts:
            parts.append(text)
        elif text.strip():
            found = re.match(_BEGINS, text)
            begins = found[1] if found else None
            broken = "\n" if parts[-1] and not parts[-1].endswith("\n") else ""
            mark = {"---": "", "%": "...\n"}.get(begins or "", "---\n")
            parts += (broken + mark, text)
    return "".join(parts)
