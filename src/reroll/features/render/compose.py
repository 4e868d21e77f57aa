"""Text to trees: YAML by libyaml's events, JSON by a small scanner of our own.

libyaml's events come with marks, cost a third of what loading costs, and are read one document at
a time. JSON has a reader of its own because a stream of JSON needs no separators and its strings
may hold surrogate pairs, neither of which YAML knows.

What cannot be read is a `TextError`: where, and a sentence. Depth and what aliases blow up are
bounded, so that no input costs more than its size.
"""

import itertools
import re
from collections.abc import Iterator
from typing import Any, NoReturn

import msgspec

from reroll.features.render.nodes import Alias, Mapping, Node, Scalar, Sequence

DEEPEST = 200
LARGEST = 1_000_000
"""How many parts a document may have once its aliases are written out."""


class TextError(Exception):
    """Text that is not what it should be."""

    def __init__(self, position: int, sentence: str, *, is_broken: bool = False) -> None:
        super().__init__(sentence)
        self.position = position
        self.is_broken = is_broken
        """It is not even YAML as Kubernetes knows it."""


class Document(msgspec.Struct, gc=False):
    """One document of a stream; its `---` is not part of it."""

    start: int
    end: int
    root: Node | None
    has_aliases: bool = False
    is_json: bool = False


def compose(text: str) -> Iterator[Document]:
    """The documents of a stream without a byte order mark, in order. Empty ones are left out."""
    if _looks_like_json(text, 0):
        found = _json(text, 0, len(text))
        if found is not None:
            yield from found
            return
    if not _SURROGATE.search(text):
        yield from _yaml(text, 0, len(text))
        return
    marks = [0, *(found.start() for found in _MARK.finditer(text)), len(text)]
    for start, end in itertools.pairwise(marks):
        mark = _MARK.match(text, start)
        inside = mark.end() if mark else start
        found = _json(text, inside, end) if _looks_like_json(text, inside) else None
        yield from found if found is not None else _yaml(text, start, end)


def _looks_like_json(text: str, start: int) -> bool:
    found = _SPACE.match(text, start)
    return found is not None and text[found.end() : found.end() + 1] in {"{", "["}


def _json(text: str, start: int, end: int) -> list[Document] | None:
    """The JSON documents there; `None` if that is no JSON."""
    try:
        return list(_Json(text).documents(start, end))
    except _NotJsonError:
        return None


def _yaml(text: str, start: int, end: int) -> Iterator[Document]:
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        parser = loader(text[start:end])
        try:
            yield from _Composer(parser.get_event, start).documents()
        finally:
            parser.dispose()
    except yaml.MarkedYAMLError as problem:
        position = _position(problem.problem_mark, problem.context_mark)
        told = ": ".join(part for part in (problem.context, problem.problem) if part)
        raise TextError(start + position, f"broken YAML: {told}", is_broken=True) from None
    except yaml.reader.ReaderError as problem:
        raise TextError(start + problem.position, f"broken YAML: {problem.reason}") from None


def _position(*marks: Any) -> int:
    return next((mark.index for mark in marks if mark), 0)


class _Composer:
    """Events of one stream to trees."""

    def __init__(self, next_event: Any, base: int) -> None:
        self._next = next_event
        self._base = base
        self._anchors: dict[str, Scalar | Mapping | Sequence] = {}
        self._aliases = 0

    def documents(self) -> Iterator[Document]:
        from yaml import DocumentStartEvent, StreamEndEvent

        while not isinstance(event := self._next(), StreamEndEvent):
            if not isinstance(event, DocumentStartEvent):
                continue
            start = self._base + _position(event.end_mark)
            self._anchors, self._aliases = {}, 0
            root, end = self._document()
            if self._aliases:
                _bounded(root)
            if not (isinstance(root, Scalar) and not root.text and not root.style):
                yield Document(start, end, root, self._aliases > 0)

    def _document(self) -> tuple[Node, int]:
        """The root, and where the document ends."""
        from yaml import (
            AliasEvent,
            DocumentEndEvent,
            MappingEndEvent,
            MappingStartEvent,
            ScalarEvent,
            SequenceStartEvent,
        )

        top: list[Node] = []
        open_: list[Mapping | Sequence] = []
        siblings, base = top, self._base
        while True:
            event = self._next()
            kind = event.__class__
            if kind is DocumentEndEvent:
                return top[0], base + event.start_mark.index
            start, end = base + event.start_mark.index, base + event.end_mark.index
            if kind is ScalarEvent:
                scalar = Scalar(start, end, event.value, event.style or "", event.tag, event.anchor)
                if event.anchor:
                    self._anchors[event.anchor] = scalar
                siblings.append(scalar)
            elif kind is MappingStartEvent or kind is SequenceStartEvent:
                flow = bool(event.flow_style)
                node: Mapping | Sequence
                if kind is MappingStartEvent:
                    node = Mapping(start, end, end, flow, [], event.anchor)
                else:
                    node = Sequence(start, end, flow, [], event.anchor)
                if event.anchor:
                    self._anchors[event.anchor] = node
                siblings.append(node)
                open_.append(node)
                siblings = node.children
                if len(open_) > DEEPEST:
                    raise TextError(
                        start, f"nested more than {DEEPEST} levels deep; make it flatter"
                    )
            elif kind is AliasEvent:
                siblings.append(self._alias(event.anchor, start, end, open_))
            else:
                done = open_.pop()
                done.end = end
                if kind is MappingEndEvent:
                    _look_at_keys(done.children[::2])
                siblings = open_[-1].children if open_ else top

    def _alias(self, name: str, start: int, end: int, open_: list[Mapping | Sequence]) -> Alias:
        target = self._anchors.get(name)
        if target is None:
            raise TextError(
                start, f"alias *{name} has no anchor &{name} before it; write the anchor"
            )
        if any(target is parent for parent in open_):
            raise TextError(start, f"alias *{name} stands inside what it stands for; write it out")
        self._aliases += 1
        return Alias(start, end, target, target.text)


def _look_at_keys(keys: list[Node]) -> None:
    names = {key.text for key in keys}
    if len(names) == len(keys) and None not in names:
        return
    seen: set[str] = set()
    for key in keys:
        name = key.text
        if name is None:
            sentence = "a list or a mapping is used as a key; keys have to be text"
            raise TextError(key.start, sentence, is_broken=True)
        if name in seen:
            raise TextError(key.start, f"the key {name[:80]!r} is there twice; take one away")
        seen.add(name)


def _bounded(root: Node) -> None:
    """See that a tree is of a sane size once its aliases are written out."""
    sizes: dict[int, int] = {}

    def size(node: Node) -> int:
        if isinstance(node, Alias):
            return size(node.target)
        if isinstance(node, Scalar):
            return 1
        if id(node) not in sizes:
            sizes[id(node)] = 1 + sum(size(each) for each in node.children)
        return sizes[id(node)]

    if size(root) > LARGEST:
        raise TextError(
            root.start, f"its aliases write out to more than {LARGEST} parts; use fewer"
        )


_MARK = re.compile(r"^---(?=\s|$)", re.MULTILINE)
_SURROGATE = re.compile(r"\\u[dD][89aAbB]")


class _NotJsonError(Exception):
    """It is not JSON; perhaps it is YAML."""


_SPACE = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"')
_OTHER = re.compile(r"true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")


class _Json:
    """A stream of JSON documents, with nothing but white space between them."""

    def __init__(self, text: str) -> None:
        self._text = text

    def documents(self, start: int, end: int) -> Iterator[Document]:
        start = self._skip(start)
        while start < end:
            if self._text[start] not in "{[":
                raise _NotJsonError
            root = self._node(start, 1)
            yield Document(start, root.end, root, is_json=True)
            start = self._skip(root.end)

    def _skip(self, position: int) -> int:
        found = _SPACE.match(self._text, position)
        return found.end() if found else position

    def _node(self, position: int, depth: int) -> Node:
        if depth > DEEPEST:
            raise TextError(position, f"nested more than {DEEPEST} levels deep; make it flatter")
        match self._text[position : position + 1]:
            case "{":
                return self._mapping(position, depth)
            case "[":
                return self._sequence(position, depth)
            case '"':
                return self._string(position)
        found = _OTHER.match(self._text, position)
        if found is None:
            raise _NotJsonError
        return Scalar(position, found.end(), found[0], "")

    def _string(self, position: int) -> Scalar:
        found = _STRING.match(self._text, position)
        if found is None:
            raise _NotJsonError
        raw = found[0]
        if "\\" in raw:
            try:
                value = msgspec.json.decode(raw.encode(), type=str)
            except msgspec.DecodeError:
                _lone_surrogate(position)
        else:
            value = raw[1:-1]
        return Scalar(position, found.end(), value, '"')

    def _mapping(self, start: int, depth: int) -> Mapping:
        children: list[Node] = []
        for position in self._members(start, "}"):
            key = self._string(position)
            colon = self._skip(key.end)
            if self._text[colon : colon + 1] != ":":
                raise _NotJsonError
            children += (key, self._node(self._skip(colon + 1), depth + 1))
            self._last = children[-1].end
        _look_at_keys(children[::2])
        return Mapping(start, self._last, start + 1, flow=True, children=children)

    def _sequence(self, start: int, depth: int) -> Sequence:
        children: list[Node] = []
        for position in self._members(start, "]"):
            children.append(self._node(position, depth + 1))
            self._last = children[-1].end
        return Sequence(start, self._last, flow=True, children=children)

    def _members(self, start: int, closing: str) -> Iterator[int]:
        """Where each member begins; whoever takes one says in `_last` where it ended."""
        position = self._skip(start + 1)
        if self._text[position : position + 1] == closing:
            self._last = position + 1
            return
        while True:
            yield position
            position = self._skip(self._last)
            mark = self._text[position : position + 1]
            if mark == closing:
                self._last = position + 1
                return
            if mark != ",":
                raise _NotJsonError
            position = self._skip(position + 1)


def _lone_surrogate(position: int) -> NoReturn:
    raise TextError(
        position, "broken JSON: half of a surrogate pair in a string; write it in UTF-8"
    )
