"""What stands in the code blocks of a page: files, and commands with what they print.

A block `console` holds commands alone, so that they can be copied; the block `text` below it is
what they print.
"""

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
    """Commands that are followed by what they print, a block each; those with no text between."""
    found: list[list[Step]] = [[]]
    end, command = 0, ""
    for match in _BLOCK.finditer(page):
        if page[end : match.start()].strip() or match["language"] not in {"console", "text"}:
            found.append([])
        if match["language"] == "text" and command and not page[end : match.start()].strip():
            found[-1].append(Step(command.rstrip("\n"), match["text"]))
        command = match["text"] if match["language"] == "console" else ""
        end = match.end()
    return [steps for steps in found if steps]


def commands(page: str) -> list[str]:
    """The lines of blocks with commands."""
    blocks = (m["text"] for m in _BLOCK.finditer(page) if m["language"] == "console")
    return [line for text in blocks for line in text.splitlines()]


def prompts(page: str) -> list[str]:
    """Commands that begin with a prompt: a reader would copy it."""
    return [line for line in commands(page) if line.startswith("$ ")]


def remarks(page: str) -> list[str]:
    """Commands that have a comment."""
    return [line for line in commands(page) if re.search(r"(?:^|\s)#\s", line)]


def walk(page: str) -> list[Step]:
    """Every block with commands, and what it prints where that is on the page."""
    found: list[Step] = []
    end = 0
    for match in _BLOCK.finditer(page):
        if match["language"] == "console":
            found.append(Step(match["text"].rstrip("\n"), ""))
        elif match["language"] == "text" and not page[end : match.start()].strip():
            found[-1] = found[-1]._replace(output=match["text"])
        end = match.end()
    return found
