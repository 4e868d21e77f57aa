"""Apply edits to the text of a stream; what is not edited stays byte for byte.

A document with aliases is parsed again afterwards, and refused if an edit changed another place
that shares the text by an anchor.
"""

import re
from collections.abc import Iterator
from typing import Any

from reroll.manifests.model import Edit, Manifests, refuse
from reroll.manifests.text.compose import Document, compose
from reroll.manifests.text.edits import Put, TextEdit, apply_text_edits, put
from reroll.manifests.text.errors import TextError
from reroll.manifests.text.scalars import value_of

_BEGINS = re.compile(r"(?:[ \t]*+(?:#[^\n]*+)?\r?\n)*+(---(?=\s|$)|%)?")


def apply_edits(manifests: Manifests, edits: list[Edit]) -> bytes:
    """The stream with all edits."""
    by_input: dict[int, list[TextEdit]] = {}
    shared: dict[int, list[Edit]] = {}
    problems = []
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
    texts = [
        apply_text_edits(text, by_input[number]) if number in by_input else text
        for number, text in enumerate(manifests.texts)
    ]
    return (manifests.mark + _joined(texts)).encode()


def _side_effects(
    manifests: Manifests, together: list[Edit], text_edits: list[TextEdit]
) -> Iterator[str]:
    """The problem if the edits of a document with aliases do more than they should."""
    first = together[0].object
    document = first.document
    wanted = value_of(document.root)
    for edit in together:
        put_value(wanted, edit.put)
    after = _edited(manifests.texts[first.input], document, text_edits)
    if [value_of(each.root) for each in compose(after)] != [wanted]:
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
    for step, new in change.entries.items():
        value[step] = new


def _joined(texts: list[str]) -> str:
    """Several inputs as one stream, each beginning a document; one alone stays as it is."""
    parts: list[str] = []
    for text in texts:
        if not parts:
            parts.append(text)
        elif text.strip():
            found = _BEGINS.match(text)
            begins = found[1] if found else None
            broken = "\n" if parts[-1] and not parts[-1].endswith("\n") else ""
            mark = {"---": "", "%": "...\n"}.get(begins or "", "---\n")
            parts += (broken + mark, text)
    return "".join(parts)
