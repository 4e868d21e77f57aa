"""`reroll release`: end a hold, of a roll or at a revision."""

import argparse

from reroll.cli.command import Context
from reroll.cli.commands import hold
from reroll.cli.flags import add_flags
from reroll.cli.show import add_output_flag


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "End the hold of workloads, or of a namespace; and that a workload is held at a revision,\n"
        "after an undo. What changed meanwhile rolls now, once: by the controller if there is\n"
        "one, else with the next `reroll sync`.\n\n"
        "  reroll release -n shop deployment/web\n"
        "  reroll release namespace/shop\n"
        "  reroll release -n shop configmap/app\n"
        "  reroll release --all                   end the hold of the whole cluster\n"
        "  reroll release -A --dry-run            each workload and namespace that is held"
    )
    hold.add_targets(parser)
    add_output_flag(parser)
    add_flags(parser)


def run(args: argparse.Namespace) -> int:
    return hold.change(Context(args), None)
