"""The flags that say whose settings count and which workloads; and what they mean.

The functions that take `args` resolve them on each call: `command.Context` does it once.
"""

import argparse

from reroll.answers.errors import missing_sentence
from reroll.cli.command import Context, Selection
from reroll.core.tables.catalog import Tables
from reroll.settings.table import Settings

__all__ = [
    "add_config_flag", "add_controller_flags", "add_selector_flag", "choice",
    "missing_sentence", "settings_of", "tables_of",
]  # fmt: skip


def add_controller_flags(parser: argparse.ArgumentParser) -> None:
    """Whose decisions these are."""
    group = parser.add_argument_group("engine")
    group.add_argument(
        "--controller-namespace",
        metavar="NAME",
        help="where the controller runs and its digest key is (also $REROLL_NAMESPACE; "
        "default: namespace of the context)",
    )
    group.add_argument(
        "--config",
        metavar="FILE",
        help="the controller's settings, so that decisions are the same (also $REROLL_CONFIG, "
        "and every $REROLL_… of `reroll run`)",
    )


def add_config_flag(parser: argparse.ArgumentParser) -> None:
    """For a command that decides nothing."""
    parser.add_argument(
        "--config",
        metavar="FILE",
        help="the controller's settings, for the kinds that they add (also $REROLL_CONFIG)",
    )


def add_selector_flag(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-l", "--selector", metavar="LABELS", help="only workloads with these labels"
    )


def settings_of(args: argparse.Namespace) -> Settings:
    return Context(args).settings


def tables_of(args: argparse.Namespace) -> Tables:
    return Context(args).tables


def choice(args: argparse.Namespace) -> Selection:
    return Context(args).selection
