"""`reroll version`: which one this is."""

import argparse

from reroll import __version__
from reroll.cli.errors import Exit

DESCRIPTION = "Print the version of this program, as `reroll --version` does."


def configure(_: argparse.ArgumentParser) -> None:
    """It takes no arguments."""


def run(_: argparse.Namespace) -> int:
    print(f"reroll {__version__}")
    return Exit.OK
