"""How `--help` is laid out: prose fills the terminal, and what is indented stays as it is."""

import argparse
import textwrap
from itertools import groupby

WIDEST = 98
"""Columns of prose, however wide the terminal is."""


class Help(argparse.HelpFormatter):
    """For descriptions of paragraphs, with examples and tables that are indented."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        widest, filled = min(width, WIDEST), []
        for is_prose, lines in groupby(text.splitlines(), key=_is_prose):
            if is_prose:
                filled.append(textwrap.fill(" ".join(lines), widest, break_on_hyphens=False))
            else:
                filled += lines
        return "\n".join(f"{indent}{line}" for line in filled)


def _is_prose(line: str) -> bool:
    return bool(line) and not line.startswith(" ")
