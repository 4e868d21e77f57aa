"""The error and the checks that the YAML and the JSON reader share."""

from reroll.manifests.text.nodes import Node

DEEPEST = 200


class TextError(Exception):
    """Text that is not what it should be."""

    def __init__(self, position: int, sentence: str, *, is_broken: bool = False) -> None:
        super().__init__(sentence)
        self.position = position
        self.is_broken = is_broken
        """It is not even YAML as Kubernetes knows it."""


def check_depth(position: int, depth: int) -> None:
    if depth > DEEPEST:
        raise TextError(position, f"nested more than {DEEPEST} levels deep; make it flatter")


def check_keys(keys: list[Node]) -> None:
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
