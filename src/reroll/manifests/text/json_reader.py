"""Parse a stream of JSON documents into trees.

Nearly all JSON is YAML, but a stream of it needs no separators and its strings may hold surrogate
pairs, and YAML has neither.
"""

import re
from collections.abc import Iterator

import msgspec

from reroll.manifests.text.errors import TextError, check_depth
from reroll.manifests.text.nodes import MappingNode, Node, ScalarNode, SequenceNode, repeated_keys


class NotJsonError(Exception):
    """It is not JSON; perhaps it is YAML."""


SPACE = re.compile(r"[ \t\r\n]*")
# Possessive, or each character would be remembered for a second try.
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+"')
_OTHER = re.compile(r"true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")


class JsonReader:
    """A stream of JSON documents, with nothing but white space between them."""

    def __init__(self, text: str) -> None:
        self._text = text

    def roots(self, start: int, end: int) -> Iterator[tuple[Node, list[Node]]]:
        """Each document, and the keys that its mappings have twice."""
        start = self._skip(start)
        while start < end:
            if self._text[start] not in "{[":
                raise NotJsonError
            self._repeated: list[Node] = []
            root = self._node(start, 1)
            yield root, self._repeated
            start = self._skip(root.end)

    def _skip(self, position: int) -> int:
        found = SPACE.match(self._text, position)
        return found.end() if found else position

    def _node(self, position: int, depth: int) -> Node:
        check_depth(position, depth)
        match self._text[position : position + 1]:
            case "{":
                return self._mapping(position, depth)
            case "[":
                return self._sequence(position, depth)
            case '"':
                return self._string(position)
        found = _OTHER.match(self._text, position)
        if found is None:
            raise NotJsonError
        return ScalarNode(position, found.end(), found[0], "")

    def _string(self, position: int) -> ScalarNode:
        found = _STRING.match(self._text, position)
        if found is None:
            raise NotJsonError
        raw = found[0]
        if "\\" in raw:
            try:
                value = msgspec.json.decode(raw.encode(), type=str)
            except msgspec.DecodeError:
                raise TextError(
                    position,
                    "broken JSON: half of a surrogate pair in a string; write it in UTF-8",
                ) from None
        else:
            value = raw[1:-1]
        return ScalarNode(position, found.end(), value, '"')

    def _mapping(self, start: int, depth: int) -> MappingNode:
        children: list[Node] = []
        for position in self._members(start, "}"):
            key = self._string(position)
            colon = self._skip(key.end)
            if self._text[colon : colon + 1] != ":":
                raise NotJsonError
            children += (key, self._node(self._skip(colon + 1), depth + 1))
            self._last = children[-1].end
        repeated = repeated_keys(children[::2])
        self._repeated += repeated
        node = MappingNode(start, self._last, start + 1, flow=True, children=children)
        node.repeated = repeated or None
        return node

    def _sequence(self, start: int, depth: int) -> SequenceNode:
        children: list[Node] = []
        for position in self._members(start, "]"):
            children.append(self._node(position, depth + 1))
            self._last = children[-1].end
        return SequenceNode(start, self._last, start + 1, flow=True, children=children)

    def _members(self, start: int, closing: str) -> Iterator[int]:
        """Where each member begins; the caller sets `_last` to where it ended."""
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
                raise NotJsonError
            position = self._skip(position + 1)
