"""`reroll promote` and `reroll abort`: decide on a canary by hand.

It is written into the record of the workload, so it holds for what the canary tries and no longer.
"""

import argparse

from reroll.cli.command import Context
from reroll.cli.flags import add_config_flag, add_dry_run_flag, add_flags
from reroll.cli.show import Answer, Table, add_output_flag, target
from reroll.cli.targets import workload_target
from reroll.core.model.key import Key
from reroll.core.model.record import PROMOTED
from reroll.kube.view import View
from reroll.pipeline import canary

DESCRIPTION = """\
Roll a workload now with the configuration that its canary tries, whatever state the canary is in:
even if it failed, or its time is not over. The next change gets a canary of its own.

  reroll promote deployment/web -n shop"""


def configure(parser: argparse.ArgumentParser) -> None:
    add_arguments(parser)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "workloads", nargs="+", metavar="KIND/NAME", help="a workload, such as deployment/web"
    )
    add_dry_run_flag(parser)
    add_config_flag(parser)
    add_output_flag(parser)
    add_flags(parser, everywhere=False)


def run(args: argparse.Namespace) -> int:
    return decide(args, PROMOTED)


def decide(args: argparse.Namespace, word: str) -> int:
    """Write this verdict on the canaries of the workloads of the arguments."""
    context = Context(args)
    targets = [workload_target(text, context.tables) for text in args.workloads]

    async def ask(view: View) -> Answer:
        done = []
        for kind, name in targets:
            key = Key(kind.name, view.namespace or view.home, name)
            said = await canary.decide(view, context.clock, kind, key, word, dry_run=args.dry_run)
            done.append((key, said.of))
        result = f"would be {word}" if args.dry_run else word
        rows = [(target(key), result, of) for key, of in done]
        facts = [{**key._asdict(), "result": result, "of": of} for key, of in done]
        table = Table(("WORKLOAD", "RESULT", "TRIED"), rows)
        return Answer({"workloads": facts}, [table], [target(key) for key, _ in done])

    return context.answer(ask)
