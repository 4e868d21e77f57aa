"""`reroll release`: end a hold, of a roll or at a revision."""

import argparse

from reroll.cli.command import Context
from reroll.cli.commands import hold
from reroll.cli.flags import add_flags
from reroll.cli.show import add_output_flag

DESCRIPTION = """\
End a hold on workloads, a namespace or a source, and let workloads go that an undo keeps at a
revision. What changed in the meantime rolls once: now if a controller runs, otherwise with the next
`reroll sync`.

  reroll release -n shop deployment/web
  reroll release namespace/shop
  reroll release -n shop configmap/app
  reroll release --all            end the hold on the whole cluster
  reroll release -A --dry-run     every workload and namespace that is held"""


def configure(parser: argparse.ArgumentParser) -> None:
    hold.add_targets(parser)
    add_output_flag(parser)
    add_flags(parser)


def run(args: argparse.Namespace) -> int:
    return hold.change(Context(args), None)
