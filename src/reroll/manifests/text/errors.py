"""The error and the check that the YAML and the JSON reader share."""

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
