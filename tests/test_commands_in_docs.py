"""Every `reroll` command that the documentation tells people to run is one that there is."""

import io
import re
import shlex
from collections.abc import Iterator
from contextlib import redirect_stdout, suppress
from pathlib import Path

import pytest

from reroll.cli.app import parser_for
from reroll.cli.errors import CommandError

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    *sorted(
        path
        for path in (ROOT / "docs").rglob("*.md")
        if path.parts[-2] not in {"decisions", "reference"}
    ),
]
BLOCK = re.compile(r"^```(?:console|sh|bash|shell)\n(.*?)^```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`((?:kubectl )?reroll [a-z][^`]*)`")
REST = re.compile(r"\s(?:\||>|<|&|&&|\|\||;|2>|#)(?:\s|$).*", re.DOTALL)
ABOUT = re.compile(r"[…<>]|\.\.\.|^reroll [A-Z]")
"""What is no command as it stands: a shape, or a sentence about several."""


def commands(page: Path) -> Iterator[str]:
    text = page.read_text(encoding="utf-8")
    for block in BLOCK.findall(text):
        for line in block.replace("\\\n", " ").splitlines():
            match = re.search(r"(?:^|[|;&(]\s*|\$ |-- )((?:kubectl )?reroll [a-z].*)", line.strip())
            if match:
                yield match[1]
    for line in INLINE.findall(text):
        yield line


def problem(command: str) -> str:
    """What the parser says against it; empty if nothing, or if it only wants more."""
    shown = REST.sub("", f"{command} ").strip().rstrip(")")
    try:
        words = shlex.split(shown)[1 if shown.startswith("reroll") else 2 :]
    except ValueError:
        return ""  # a text that goes on in the next line
    try:
        with redirect_stdout(io.StringIO()), suppress(SystemExit):  # `--help` and `--version`
            parser_for(words).parse_args(words)
    except CommandError as error:
        if "arguments are required" not in str(error):
            return f"`{shown}`: {error}"
    return ""


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_commands_of_a_page_can_be_given(page: Path) -> None:
    found = [line for line in commands(page) if not ABOUT.search(line)]

    assert [told for line in found if (told := problem(line))] == []


def test_a_command_that_there_is_not_is_noticed() -> None:
    assert "unrecognized arguments: --no-such" in problem("reroll doctor --no-such | less")
    assert "invalid choice" in problem("reroll docter")
    assert problem("kubectl reroll doctor -o json > file") == ""
