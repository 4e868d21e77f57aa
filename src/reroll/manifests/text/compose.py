"""Parse text into trees: YAML from libyaml's events, JSON with a reader of its own.

The events carry positions, cost a third of a full load, and come one document at a time. Text that
cannot be parsed is a `TextError` with its position. Depth and the expansion of aliases are bounded,
so that no input costs more than its size.
"""

import itertools
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from reroll.manifests.text.errors import TextError, check_depth
from reroll.manifests.text.nodes import (
    AliasNode,
    CollectionNode,
    MappingNode,
    Node,
    ScalarNode,
    SequenceNode,
    repeated_keys,
    resolve,
)

LARGEST = 1_000_000
"""How many parts a document may have once its aliases are written out, beyond its length."""

_FIRST = re.compile(r"[ \t\r\n]*(.?)")
_SURROGATE = re.compile(r"\\u[dD][89aAbB]")


_HINTS = {
    "unknown escape character": "; write it without the backslash",
    "found unexpected ':'": "; put the word in quotes",
}
"""For what kubectl's reader takes and this one does not."""


class Document(msgspec.Struct, gc=False):
    """One document of a stream; its `---` is not part of it."""

    start: int
    end: int
    root: Node
    has_aliases: bool = False
    is_json: bool = False
    repeated: list[Node] = []
    """Keys that their mappings have twice."""


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
    begins = re.compile(r"^---(?=\s|$)", re.MULTILINE)
    marks = [0, *(found.start() for found in begins.finditer(text)), len(text)]
    for start, end in itertools.pairwise(marks):
        mark = begins.match(text, start)
        inside = mark.end() if mark else start
        found = _json(text, inside, end) if _looks_like_json(text, inside) else None
        yield from found if found is not None else _yaml(text, start, end)


def _looks_like_json(text: str, start: int) -> bool:
    found = _FIRST.match(text, start)
    return found is not None and found[1] in {"{", "["}


def _json(text: str, start: int, end: int) -> list[Document] | None:
    """The JSON documents there; `None` if that is no JSON."""
    from reroll.manifests.text.json_reader import JsonReader, NotJsonError

    try:
        return [
            Document(root.start, root.end, root, is_json=True, repeated=repeated)
            for root, repeated in JsonReader(text).roots(start, end)
        ]
    except NotJsonError:
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
        message = ": ".join(part for part in (problem.context, problem.problem) if part)
        hint = next((hint for words, hint in _HINTS.items() if words in message), "")
        raise TextError(start + position, f"broken YAML: {message}{hint}", is_broken=True) from None
    except yaml.reader.ReaderError as problem:
        raise TextError(start + problem.position, f"broken YAML: {problem.reason}") from None


def _position(*marks: Any) -> int:
    return next((mark.index for mark in marks if mark), 0)


class _Composer:
    """Events of one stream to trees."""

    def __init__(self, next_event: Any, base: int) -> None:
        self._next = next_event
        self._base = base
        self._anchors: dict[str, ScalarNode | CollectionNode] = {}
        self._aliases = 0
        self._repeated: list[Node] = []

    def documents(self) -> Iterator[Document]:
        from yaml import DocumentStartEvent, StreamEndEvent

        while not isinstance(event := self._next(), StreamEndEvent):
            if not isinstance(event, DocumentStartEvent):
                continue
            start = self._base + _position(event.end_mark)
            self._anchors, self._aliases, self._repeated = {}, 0, []
            root, end = self._document()
            if self._aliases:
                _check_expansion(root, end - start)
            if not (isinstance(root, ScalarNode) and not root.text and not root.style):
                yield Document(start, end, root, self._aliases > 0, repeated=self._repeated)

    def _document(self) -> tuple[Node, int]:
        """The root, and where the document ends."""
        from yaml import events

        mapping, sequence, scalar = (
            events.MappingStartEvent, events.SequenceStartEvent, events.ScalarEvent
        )  # fmt: skip
        top: list[Node] = []
        open_: list[CollectionNode] = []
        siblings, base = top, self._base
        while True:
            event = self._next()
            kind = event.__class__
            if kind is events.DocumentEndEvent:
                return top[0], base + event.start_mark.index
            start, end = base + event.start_mark.index, base + event.end_mark.index
            if kind is scalar:
                style = event.style or ""
                leaf = ScalarNode(start, end, event.value, style, event.tag, event.anchor)
                if event.anchor:
                    self._anchors[event.anchor] = leaf
                siblings.append(leaf)
            elif kind is mapping or kind is sequence:
                make = MappingNode if kind is mapping else SequenceNode
                node = make(start, end, end, bool(event.flow_style), [], event.anchor)
                if event.anchor:
                    self._anchors[event.anchor] = node
                siblings.append(node)
                open_.append(node)
                siblings = node.children
                check_depth(start, len(open_))
            elif kind is events.AliasEvent:
                siblings.append(self._alias(event.anchor, start, end, open_))
            else:
                closed = open_.pop()
                closed.end = end
                if isinstance(closed, MappingNode) and (
                    repeated := repeated_keys(closed.children[::2])
                ):
                    closed.repeated = repeated
                    self._repeated += repeated
                siblings = open_[-1].children if open_ else top

    def _alias(self, name: str, start: int, end: int, open_: list[CollectionNode]) -> AliasNode:
        target = self._anchors.get(name)
        if target is None:
            raise TextError(
                start, f"alias *{name} has no anchor &{name} before it; write the anchor"
            )
        if any(target is parent for parent in open_):
            raise TextError(start, f"alias *{name} stands inside what it stands for; write it out")
        self._aliases += 1
        return AliasNode(start, end, target, target.text)


def _check_expansion(root: Node, length: int) -> None:
    """Refuse a tree whose aliases expand to too many parts, or to too many levels."""
    known: dict[int, tuple[int, int]] = {}
    waiting = [resolve(root)]
    while waiting:
        node = waiting[-1]
        inside = [] if isinstance(node, ScalarNode) else [resolve(each) for each in node.children]
        below = [each for each in inside if not isinstance(each, ScalarNode)]
        if missing := [each for each in below if id(each) not in known]:
            waiting += missing
            continue
        parts = 1 + len(inside) - len(below) + sum(known[id(each)][0] for each in below)
        depth = 1 + max((known[id(each)][1] for each in below), default=0)
        check_depth(node.start, depth)
        known[id(node)] = parts, depth
        waiting.pop()
    if known[id(resolve(root))][0] > LARGEST + length:
        raise TextError(
            root.start, f"its aliases write out to more than {LARGEST} parts; use fewer"
        )
