"""Turn a change of a tree into the smallest edits of its text.

`put` sets entries of one mapping. What is there already is replaced in the style it is written in,
what is missing is added as lines of its own (or inside the braces, where there are braces), and
what says the same already is left alone. Nothing else of the text is touched.

An edit inside something that an alias refers to would change the other place too, and `put` does
not notice: the caller compares the outcome in a document with aliases, see `apply_edits`.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

import msgspec

from reroll.manifests.text.errors import TextError
from reroll.manifests.text.nodes import (
    AliasNode,
    KeyNode,
    MappingNode,
    Node,
    Path,
    ScalarNode,
    SequenceNode,
    Step,
    merged_into,
    resolve,
)
from reroll.manifests.text.scalars import meaning, plain_meaning

Value: TypeAlias = str | bool | tuple[str, ...]
"""Several texts stand in the place of one item of a list."""
Entries: TypeAlias = "dict[str, Value | Entries]"

_PLAIN = re.compile(r"[A-Za-z0-9][-A-Za-z0-9_./]*")
_NOTHING = re.compile(r"(?:\s++|(?<=\s)#[^\n]*+)*+")
_PROPERTIES = r"(?:[&!]\S*\s+)*"
_COLON = r"[ \t]*:"
_DASH = r"(.*-[ \t]+)\Z"
"""Few streams need these, and to compile them takes others time."""
_ODD_BREAKS = "\r\x85\u2028\u2029"
"""What YAML takes for the end of a line besides a line feed."""
INDENT = 2
TWICE = "this would have to be edited in two ways at once; write out what is shared, or report it"


class TextEdit(NamedTuple):
    """`text` in the place of what stands from `start` to `end`."""

    start: int
    end: int
    text: str


class Put(NamedTuple):
    """Entries to be set in the mapping at a path, which is made if it is not there.

    Items of a list, which are there, can be set too: by their numbers.
    """

    path: Path
    entries: dict[Step, Value]


def apply_text_edits(text: str, edits: Iterable[TextEdit]) -> str:
    """The text with all edits; a `TextError` if two of them are of one place."""
    parts: list[str] = []
    done = 0
    for edit in sorted(set(edits)):
        if edit.start < done:
            raise TextError(edit.start, TWICE)
        parts += (text[done : edit.start], edit.text)
        done = edit.end
    return "".join((*parts, text[done:]))


def put(text: str, root: Node, change: Put) -> list[TextEdit]:
    """The edits for one change; none if the text says it already."""
    return _Editor(text).put(root, change)


class _Editor:
    def __init__(self, text: str) -> None:
        self._text = text

    def put(self, root: Node, change: Put) -> list[TextEdit]:
        here, key = resolve(root), None
        if not isinstance(here, MappingNode):
            raise TextError(root.start, "this has to be a mapping; write `name: value` lines")
        for index, step in enumerate(change.path):
            found = _step(here, step)
            if found is None:
                assert isinstance(here, MappingNode)  # noqa: S101  lists are only gone into
                return [self._add(here, key, _nested(change.path[index:], change.entries))]
            parent, (key, value) = here, found
            if isinstance(value, AliasNode) and index == len(change.path) - 1:
                return self._instead_of_alias(value, change.entries)
            here = resolve(value)
            if isinstance(here, ScalarNode):
                rest = _nested(change.path[index + 1 :], change.entries)
                return [self._fill(parent, key, here, rest)]
        return self._set(here, key, change.entries)

    def _set(self, here: Node, key: KeyNode | None, entries: dict[Step, Value]) -> list[TextEdit]:
        edits: list[TextEdit] = []
        missing: Entries = {}
        for name, value in entries.items():
            if pair := _step(here, name):
                edits += self._replace(pair[1], value, here)
            else:
                missing[str(name)] = value
        if missing:
            assert isinstance(here, MappingNode)  # noqa: S101  what is in a list is there
            edits.append(self._add(here, key, missing))
        return edits

    def _instead_of_alias(self, alias: AliasNode, entries: dict[Step, Value]) -> list[TextEdit]:
        """A mapping of its own that merges in what the alias stands for, or nothing."""
        target = alias.target
        if isinstance(target, MappingNode) and all(
            _says(target, *each) for each in entries.items()
        ):
            return []
        name = self._text[alias.start : alias.end]
        # The merge comes first: some readers let it win over what stands before it.
        return [
            TextEdit(alias.start, alias.end, f"{{<<: {name}, {_braced(_nested((), entries))[1:]}")
        ]

    def _replace(self, old: Node, value: Value, parent: Node) -> list[TextEdit]:
        if isinstance(value, tuple):
            first, *others = value
            return [*self._replace(old, first, parent), self._behind(old, others, parent)]
        if isinstance(old, AliasNode):
            same = isinstance(old.target, ScalarNode) and meaning(old.target) == value
            return [] if same else [TextEdit(old.start, old.end, _literal(value))]
        if not isinstance(old, ScalarNode):
            raise TextError(old.start, "this has to be a single value; write one")
        if meaning(old) == value:
            return []
        raw = self._text[old.start : old.end]
        properties = re.match(_PROPERTIES, raw)
        start = old.start + (properties.end() if properties and (old.anchor or old.tag) else 0)
        if old.style in {"|", ">"}:
            return [TextEdit(start, old.end, _literal(value) + raw[len(raw.rstrip()) :])]
        if start >= old.end:
            return [TextEdit(old.end, old.end, f" {_literal(value)}")]
        return [TextEdit(start, old.end, _literal(value, old.style))]

    def _behind(self, old: Node, others: Iterable[str], parent: Node) -> TextEdit:
        """More items of a list, after one of it."""
        if isinstance(parent, SequenceNode) and parent.flow:
            return TextEdit(old.end, old.end, "".join(f", {_literal(each)}" for each in others))
        dash = re.match(_DASH, self._text[self._line_start(old.start) : old.start])
        if dash is None or (isinstance(old, ScalarNode) and old.style in {"|", ">"}):
            raise TextError(old.start, "this item of a list cannot be edited; write `- name`")
        end, item = self._line_end(old.end), dash[1].rpartition("-")
        start = self._break(old.end) + " " * len(item[0]) + "-" + item[2]
        return TextEdit(end, end, "".join(start + _literal(each) for each in others))

    def _fill(self, parent: Node, key: Node | None, old: ScalarNode, entries: Entries) -> TextEdit:
        """A mapping in the place of nothing."""
        if meaning(old) is not None or old.anchor:
            raise TextError(old.start, "this has to be a mapping; write `name: value` lines")
        if old.start < old.end:
            return TextEdit(old.start, old.end, _braced(entries))
        if key is None:
            return TextEdit(old.start, old.start, f" {_braced(entries)}")
        if not re.compile(_COLON).match(self._text, key.end):
            raise TextError(key.start, "this key has no value; write one after a colon")
        if isinstance(parent, MappingNode) and parent.flow:
            return TextEdit(old.start, old.start, f" {_braced(entries)}")
        return self._below(key, self._column(key.start) + INDENT, entries, INDENT)

    def _add(self, here: MappingNode, key: KeyNode | None, entries: Entries) -> TextEdit:
        """New entries in a mapping, before those that it has."""
        first = here.children[0] if here.children else None
        if here.flow:
            return self._add_in_braces(here, first, entries)
        assert first is not None  # noqa: S101  without braces there is no empty mapping
        if self._text[self._line_start(first.start) : first.start].rstrip(" \t").endswith("?"):
            sentence = "a key with a question mark cannot be edited; write `name: value`"
            raise TextError(first.start, sentence)
        column = self._column(first.start)
        step = column - self._column(key.start) if key else INDENT
        if key is not None and key.end < first.start:
            end = self._line_end(key.end)
            if end < first.start and _NOTHING.fullmatch(self._text, end, first.start):
                return self._below(key, column, entries, max(step, 1))
        before = here.pair("metadata") if key is None else None
        place = before[0].start if before else first.start
        lines = _lines(entries, column, INDENT)
        break_ = self._break(place)
        return TextEdit(place, place, break_.join(lines).lstrip(" ") + break_ + " " * column)

    def _add_in_braces(self, here: MappingNode, first: Node | None, entries: Entries) -> TextEdit:
        body = _braced(entries)[1:-1]
        if first is None:
            return TextEdit(here.inside, here.inside, body)
        space = self._text[here.inside : first.start]
        between = space if space and not space.strip() else " "
        return TextEdit(first.start, first.start, f"{body},{between}")

    def _below(self, key: Node, column: int, entries: Entries, step: int) -> TextEdit:
        """Lines of their own right after the line on which a key stands."""
        end, break_ = self._line_end(key.end), self._break(key.end)
        lines = _lines(entries, column, step)
        return TextEdit(end, end, "".join(break_ + line for line in lines))

    def _line_end(self, position: int) -> int:
        end = self._text.find("\n", position)
        end = end if end >= 0 else len(self._text)
        odd = (self._text.find(each, position, end) for each in _ODD_BREAKS)
        return min((found for found in odd if found >= 0), default=end)

    def _break(self, position: int) -> str:
        """The line break that is used around there."""
        end = self._text.find("\n", position)
        if end < 0:
            end = self._text.rfind("\n", 0, position)
        return "\r\n" if end > 0 and self._text[end - 1] == "\r" else "\n"

    def _column(self, position: int) -> int:
        return position - self._line_start(position)

    def _line_start(self, position: int) -> int:
        start = self._text.rfind("\n", 0, position) + 1
        odd = (self._text.rfind(each, start, position) for each in _ODD_BREAKS)
        return max(start, *(found + 1 for found in odd))


def _step(here: Node, step: Step) -> tuple[KeyNode | None, Node] | None:
    """The key and the value at a step, also where a merge key brings it in from."""
    if isinstance(here, SequenceNode) and isinstance(step, int):
        return None, here.children[step]
    if isinstance(here, MappingNode) and isinstance(step, str):
        return next((p for m in (here, *merged_into(here)) if (p := m.pair(step))), None)
    raise TextError(here.start, "this has to be a mapping; write `name: value` lines")


def _says(mapping: MappingNode, name: Step, value: Value) -> bool:
    pair = _step(mapping, name)
    found = resolve(pair[1]) if pair else None
    return isinstance(found, ScalarNode) and meaning(found) == value


def _nested(path: Path, entries: dict[Step, Value]) -> Entries:
    nested: Entries = {str(name): value for name, value in entries.items()}
    for step in reversed(path):
        nested = {str(step): nested}
    return nested


def _literal(value: Value, style: str = '"') -> str:
    """A value as text; in single quotes or none only where that is what was there, and safe."""
    if isinstance(value, str) and style != '"' and _PLAIN.fullmatch(value):
        if style == "'":
            return f"'{value}'"
        if plain_meaning(value) == value:
            return value
    return msgspec.json.encode(value).decode()


def _braced(entries: Entries) -> str:
    """As JSON, with a space behind each comma and colon."""
    pairs = (
        f"{_literal(name)}: {_braced(value) if isinstance(value, dict) else _literal(value)}"
        for name, value in entries.items()
    )
    return f"{{{', '.join(pairs)}}}"


def _lines(entries: Entries, column: int, step: int) -> list[str]:
    lines: list[str] = []
    for name, value in entries.items():
        key = " " * column + _literal(name, "")
        if isinstance(value, dict):
            lines += (f"{key}:", *_lines(value, column + step, step))
        else:
            lines.append(f"{key}: {_literal(value)}")
    return lines
