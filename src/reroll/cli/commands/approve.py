"""`reroll approve`: let workloads roll with what a source holds."""

import argparse

from reroll.cli.approving import say
from reroll.cli.command import Context
from reroll.cli.flags import add_controller_flags, add_dry_run_flag, add_flags
from reroll.cli.show import add_output_flag

DESCRIPTION = """\
Approve the content that a ConfigMap or Secret has now, so that the workloads that wait for it roll.
The approval is written to the source, with your name, and covers this content only: the next change
waits again. `reroll status --unapproved` lists what waits.

  reroll approve configmap/app -n shop
  reroll approve secret/db -n shop --content 5f9c2d1a7b
  reroll approve configmap/app -n shop --dry-run"""


def configure(parser: argparse.ArgumentParser) -> None:
    add_arguments(parser)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "sources", nargs="+", metavar="KIND/NAME", help="a source, such as configmap/app"
    )
    parser.add_argument(
        "--content",
        metavar="ID",
        help="only this content, as in `reroll status --unapproved` (default: the current one)",
    )
    add_dry_run_flag(parser)
    add_output_flag(parser)
    add_flags(parser, everywhere=False)
    add_controller_flags(parser)


def run(args: argparse.Namespace) -> int:
    context = Context(args)
    return context.answer(lambda view: say(view, context, None))
