"""Forget the parts of a document that are not needed, so that a large stream costs little memory.

For a stream that gets checksums only: all that is edited then is the metadata of pod templates, and
everything else has been read.
"""

import re
from collections.abc import Iterable
from functools import cache

from reroll.core.tables.annotations import NAMES
from reroll.manifests.text.nodes import MappingNode, Node, Path, ScalarNode, SequenceNode, Step

_GONE = ScalarNode(0, 0, "", "")


def _spellings(char: str) -> str:
    """A character as it is, behind a backslash, or as a code."""
    code = "".join(f"[{digit}{digit.upper()}]" for digit in f"{ord(char):x}")
    return rf"(?:{re.escape(char)}|\\(?:{re.escape(char)}|[xuU]0*{code}))"


_ESCAPE = r"\\[/xuU\s]"


@cache
def _escaped_names() -> re.Pattern[str]:
    """The annotation in every way in which YAML and JSON can write it, also over several lines."""
    return re.compile(r"(?:\\\s+)*".join(map(_spellings, NAMES)))


def may_request_names(text: str) -> bool:
    """Whether a source in this text may request a content name by its annotation."""
    if NAMES in text:
        return True
    # The search for escaped names is slow, and most texts have no such escapes.
    return bool("\\" in text and re.search(_ESCAPE, text) and _escaped_names().search(text))


def keep_only(node: Node, paths: Iterable[Path]) -> None:
    """Drop everything but these paths and what is below them. The tree must have no aliases.

    Keys stay, because new entries are added beside them.
    """
    wanted = list(paths)
    if () in wanted or not isinstance(node, MappingNode | SequenceNode):
        return
    if not wanted:
        node.children.clear()
    for index, child in enumerate(node.children):
        step: Step | None = index
        if isinstance(node, MappingNode):
            if index % 2 == 0:
                continue
            step = node.children[index - 1].text
        below = [path[1:] for path in wanted if path[0] == step]
        keep_only(child, below)
        if not below:
            node.children[index] = _GONE
