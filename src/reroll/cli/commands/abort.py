"""`reroll abort`: remove a canary, and keep the workload as it is."""

import argparse

from reroll.cli.commands.promote import add_arguments, decide
from reroll.core.model.record import ABORTED

DESCRIPTION = """\
Remove the canary of a workload, and keep the workload from rolling with what the canary tried. It
is `Stopped` until its configuration changes again, or until `reroll promote`.

  reroll abort deployment/web -n shop"""


def configure(parser: argparse.ArgumentParser) -> None:
    add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    return decide(args, ABORTED)
