"""A document as a tree that knows where each part of it stands in the text.

Positions are offsets into the decoded text. Aliases are kept as aliases, so that a tree is never
larger than its text and an edit can see what is shared. The tree of a mapping is flat: key, value,
key, value.
"""

from collections.abc import Iterator
from typing import ClassVar, TypeAlias

import msgspec


class Scalar(msgspec.Struct, gc=False):
    start: int
    end: int
    text: str
    style: str
    """Empty: plain; otherwise the character that begins it."""
    tag: str | None = None
    anchor: str | None = None


class Mapping(msgspec.Struct, gc=False):
    start: int
    end: int
    inside: int
    """Where the text after the opening brace begins, if it has braces."""
    flow: bool
    children: "list[Node]"
    anchor: str | None = None
    text: ClassVar[None] = None

    def pairs(self) -> "Iterator[tuple[Scalar | Alias, Node]]":
        children = iter(self.children)
        return zip(children, children, strict=True)  # type: ignore[arg-type]  # the composer saw to it

    def pair(self, name: str) -> "tuple[Scalar | Alias, Node] | None":
        for pair in self.pairs():
            if pair[0].text == name:
                return pair
        return None


class Sequence(msgspec.Struct, gc=False):
    start: int
    end: int
    flow: bool
    children: "list[Node]"
    anchor: str | None = None
    text: ClassVar[None] = None


class Alias(msgspec.Struct, gc=False):
    start: int
    end: int
    target: "Scalar | Mapping | Sequence"
    text: str | None
    """Of what it stands for, if that is a scalar."""


Node: TypeAlias = Scalar | Mapping | Sequence | Alias
Step: TypeAlias = str | int
Path: TypeAlias = tuple[Step, ...]
MERGE = "<<"


def aimed(node: Node) -> Scalar | Mapping | Sequence:
    """The node itself, or what an alias stands for."""
    return node.target if isinstance(node, Alias) else node


def text_of(node: Node) -> str | None:
    """The text of a scalar, whatever it means."""
    return node.text


def is_merge(key: Node) -> bool:
    return isinstance(key, Scalar) and key.text == MERGE and not key.style


def child(node: Node, step: Step) -> Node | None:
    """What stands at one step below a node; merge keys count, after the mapping's own."""
    here = aimed(node)
    if isinstance(here, Sequence):
        fits = isinstance(step, int) and 0 <= step < len(here.children)
        return here.children[step] if fits and isinstance(step, int) else None
    if not isinstance(here, Mapping) or not isinstance(step, str):
        return None
    if pair := here.pair(step):
        return pair[1]
    for merged in merged_into(here):
        if (found := child(merged, step)) is not None:
            return found
    return None


def merged_into(mapping: Mapping) -> Iterator[Mapping]:
    """The mappings that merge keys bring in, the one that counts most first."""
    for key, value in mapping.pairs():
        if not is_merge(key):
            continue
        target = aimed(value)
        for part in target.children if isinstance(target, Sequence) else [target]:
            if isinstance(found := aimed(part), Mapping):
                yield found


def at(node: Node, path: Path) -> Node | None:
    here: Node | None = node
    for step in path:
        here = child(here, step) if here is not None else None
    return here
