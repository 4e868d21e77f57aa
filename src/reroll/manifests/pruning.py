"""Forget what of a document is not needed any more, so that a large stream costs little memory.

For when nothing but checksums will be written: all that is edited then is the metadata of pod
templates, and what was there to be read has been read.
"""

from collections.abc import Iterable

from reroll.manifests.text.nodes import Mapping, Node, Path, Scalar, Sequence, Step

_GONE = Scalar(0, 0, "", "")


def keep_only(node: Node, paths: Iterable[Path]) -> None:
    """Let go of everything but the ways to these paths and what stands there. No aliases, please.

    Keys stay, because their places tell where to add others.
    """
    wanted = list(paths)
    if () in wanted or not isinstance(node, Mapping | Sequence):
        return
    if not wanted:
        node.children.clear()
    for index, child in enumerate(node.children):
        step: Step | None = index
        if isinstance(node, Mapping):
            if index % 2 == 0:
                continue
            step = node.children[index - 1].text
        below = [path[1:] for path in wanted if path[0] == step]
        keep_only(child, below)
        if not below:
            node.children[index] = _GONE
