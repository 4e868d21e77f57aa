"""Sentences beside the answer: on standard error, and safe to look at. Imports next to nothing."""

import sys
from collections.abc import Iterable


def visible(text: str) -> str:
    """With escapes for what is no character.

    What somebody wrote into an annotation must not move the cursor of whoever looks at it, hide
    text from them, or write over it.
    """
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text
    )


def warn(sentences: Iterable[str]) -> None:
    """What the user should know beside the answer."""
    for sentence in sentences:
        print(f"reroll: {visible(sentence)}", file=sys.stderr)
