"""`reroll reject`: keep workloads from rolling with what a source holds, and say why."""

import argparse

from reroll.cli.approving import say
from reroll.cli.command import Context
from reroll.cli.commands.approve import add_arguments
from reroll.cli.errors import CommandError, Exit
from reroll.core.policy.approval import LONGEST_WHY

DESCRIPTION = """\
Reject the content that a ConfigMap or Secret has now: no workload that needs an approval rolls with
it, and each says who rejected it and why. The next change of the source waits for its own approval;
`reroll approve` takes a rejection back.

  reroll reject configmap/app -n shop --reason "wrong pool size"
  reroll reject secret/db -n shop --content 5f9c2d1a7b --reason "too early"
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--reason", required=True, metavar="TEXT", help="why; shown on every workload that waits"
    )
    add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    why = " ".join(args.reason.split())[:LONGEST_WHY]
    if not why:
        raise CommandError("--reason: say in words why it is rejected", Exit.USAGE)
    context = Context(args)
    return context.answer(lambda view: say(view, context, why))
