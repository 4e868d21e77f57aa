"""What stands in the code blocks of a page: files, and commands with what they print."""

import re
from pathlib import Path
from typing import NamedTuple

DOCS = Path(__file__).parents[2] / "docs"
_BLOCK = re.compile(
    r"^```(?P<language>\w+)(?: title=\"(?P<title>[^\"]+)\")?\n(?P<text>.*?)^```",
    re.MULTILINE | re.DOTALL,
)


class Step(NamedTuple):
    command: str
    output: str


def files(page: str) -> dict[str, str]:
    """The blocks with a title, which is the name of a file."""
    return {m["title"]: m["text"] for m in _BLOCK.finditer(page) if m["title"]}


def transcripts(page: str) -> list[list[Step]]:
    """The blocks in which commands begin with `$`."""
    found = []
    for match in _BLOCK.finditer(page):
        if match["language"] == "console" and match["text"].startswith("$ "):
            parts = re.split(r"^\$ ", match["text"], flags=re.MULTILINE)[1:]
            steps = (part.partition("\n") for part in parts)
            found.append([Step(command, output) for command, _, output in steps])
    return found
