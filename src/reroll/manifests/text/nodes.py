"""A document as a tree whose nodes know their position in the text.

Positions are offsets into the decoded text. Aliases stay aliases, so that a tree is never larger
than its text and an edit can see what is shared. The children of a mapping are flat: key, value,
key, value. Every node has a `text`, which is `None` for a collection.
"""

from collections.abc import Iterator
from typing import ClassVar, TypeAlias

import msgspec

from reroll.manifests.text.errors import TextError


class ScalarNode(msgspec.Struct, gc=False):
    start: int
    end: int
    text: str
    style: str
    """Empty: plain; otherwise the character that begins it."""
    tag: str | None = None
    anchor: str | None = None


class MappingNode(msgspec.Struct, gc=False):
    start: int
    end: int
    inside: int
    """Where the text after the opening brace or bracket begins, if it has one."""
    flow: bool
    children: "list[Node]"
    anchor: str | None = None
    repeated: "list[Node] | None" = None
    """Keys that stood there before. Who reads or edits such an entry gets a `TextError`."""
    text: ClassVar[None] = None

    def pairs(self) -> "Iterator[tuple[KeyNode, Node]]":
        children = iter(self.children)
        return zip(children, children, strict=True)  # type: ignore[arg-type]  # the composer saw to it

    def pair(self, name: str) -> "tuple[KeyNode, Node] | None":
        if self.repeated:
            self.check_unique(name)
        for key, value in self.pairs():
            if key.text == name:
                return key, value
        return None

    def check_unique(self, name: str | None = None) -> None:
        """Refuse that this entry, or any, is there twice."""
        for key in self.repeated or ():
            if name in {None, key.text}:
                text = (key.text or "")[:80]
                raise TextError(key.start, f"the key {text!r} is there twice; take one away")


class SequenceNode(msgspec.Struct, gc=False):
    start: int
    end: int
    inside: int
    flow: bool
    children: "list[Node]"
    anchor: str | None = None
    text: ClassVar[None] = None


class AliasNode(msgspec.Struct, gc=False):
    start: int
    end: int
    target: "ScalarNode | MappingNode | SequenceNode"
    text: str | None
    """Of what it stands for, if that is a scalar."""


CollectionNode: TypeAlias = MappingNode | SequenceNode
KeyNode: TypeAlias = ScalarNode | AliasNode
Node: TypeAlias = ScalarNode | MappingNode | SequenceNode | AliasNode
Step: TypeAlias = str | int
Path: TypeAlias = tuple[Step, ...]
MERGE = "<<"
NULLS = frozenset(("", "~", "null", "Null", "NULL"))
"""How "nothing" is written without quotes."""


def resolve(node: Node) -> ScalarNode | MappingNode | SequenceNode:
    """The node itself, or what an alias stands for."""
    return node.target if isinstance(node, AliasNode) else node


def is_merge(key: Node) -> bool:
    return isinstance(key, ScalarNode) and key.text == MERGE and not key.style


def is_null(node: Node) -> bool:
    """Whether Kubernetes reads it as absent: `value:` and `value: null` say nothing."""
    here = resolve(node)
    return isinstance(here, ScalarNode) and here.text in NULLS and not (here.style or here.tag)


def child(node: Node, step: Step) -> Node | None:
    """What stands at one step below a node; merge keys count, after the mapping's own."""
    here = resolve(node)
    if isinstance(here, SequenceNode):
        fits = isinstance(step, int) and 0 <= step < len(here.children)
        return here.children[step] if fits and isinstance(step, int) else None
    if not isinstance(here, MappingNode) or not isinstance(step, str):
        return None
    if pair := here.pair(step):
        return pair[1]
    for merged in merged_into(here):
        if (found := child(merged, step)) is not None:
            return found
    return None


def merged_into(mapping: MappingNode) -> Iterator[MappingNode]:
    """The mappings that merge keys bring in, the one that counts most first."""
    for key, value in mapping.pairs():
        if not is_merge(key):
            continue
        target = resolve(value)
        for part in target.children if isinstance(target, SequenceNode) else [target]:
            if isinstance(found := resolve(part), MappingNode):
                yield found


def at(node: Node, path: Path) -> Node | None:
    """What stands at a path below a node."""
    here: Node | None = node
    for step in path:
        here = child(here, step) if here is not None else None
    return here


def text_at(node: Node, path: Path) -> str:
    """The text of the scalar at a path; empty if there is none, or null."""
    found = at(node, path)
    return text_of(found) if found is not None else ""


def text_of(node: Node) -> str:
    """The text of a scalar; empty if it is none, or null."""
    return "" if is_null(node) else node.text or ""


def resolve_at(node: Node, path: Path) -> ScalarNode | CollectionNode | None:
    """What stands at a path, also through an alias."""
    found = at(node, path)
    return resolve(found) if found is not None else None


def items_at(node: Node, path: Path) -> "list[Node] | None":
    """The items of the list at a path, also through an alias."""
    here = resolve_at(node, path)
    return here.children if isinstance(here, SequenceNode) else None


def repeated_keys(keys: list[Node]) -> list[Node]:
    """The keys of a mapping that stood there before; none may be a collection."""
    names = {key.text for key in keys}
    if len(names) == len(keys) and None not in names:
        return []
    known: set[str] = set()
    repeated = []
    for key in keys:
        name = key.text
        if name is None:
            sentence = "a list or a mapping is used as a key; keys have to be text"
            raise TextError(key.start, sentence, is_broken=True)
        if name in known:
            repeated.append(key)
        known.add(name)
    return repeated
