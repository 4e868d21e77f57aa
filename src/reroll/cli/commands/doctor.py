"""`reroll doctor`: whether an installation is well, and what to do where it is not."""

import argparse
import os
import sys
from collections.abc import Iterator
from typing import Any

from reroll import __version__
from reroll.answers.doctor.findings import Finding, Level, worst
from reroll.answers.doctor.gather import Examination, Wanted
from reroll.answers.migration.survey import survey
from reroll.cli.command import Context
from reroll.cli.errors import Exit
from reroll.cli.flags import add_controller_flags, add_flags
from reroll.cli.output import add_output_flag, visible
from reroll.cli.show import show
from reroll.kube.view import View
from reroll.settings.table import SETTINGS

DESCRIPTION = """\
Check an installation: the API server and what it serves, the controller's rights one by one, its
Deployment, Lease, versions, watches and digest key, what rewrites pods, other controllers that
answer to the same annotations, and annotations that cannot be used.

Reads only. What it could not look at is told; each finding says what to do. Ends with 7 if there
is a problem.

  reroll doctor --controller-namespace reroll
  reroll doctor --metrics-url http://localhost:8080/metrics
  reroll doctor -o json | jq '.findings[] | select(.level == "problem")'

In a pod it uses the pod's service account, and asks about that one's own rights."""

_COLOURS = {
    Level.OK: "green",
    Level.NOTE: "cyan",
    Level.WARNING: "yellow",
    Level.PROBLEM: "bold red",
}


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    parser.add_argument(
        "--metrics-url",
        action="append",
        default=[],
        metavar="URL",
        help="where a replica serves its metrics (repeatable; default: its pods, through the API "
        "server)",
    )
    parser.add_argument(
        "--service-account",
        metavar="NAME",
        help="the controller's, in its namespace (default: that of its Deployment)",
    )
    parser.add_argument(
        "--fail-on",
        choices=[level.value for level in Level if level is not Level.OK],
        default=Level.PROBLEM.value,
        help="end with 7 from this level on (default: problem)",
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="leave out what is well")
    add_output_flag(parser)
    parser.add_argument(
        "-n", "--namespace", metavar="NAME", help="only workloads of this namespace (default: all)"
    )
    add_flags(parser, places=False)
    add_controller_flags(parser)


def run(args: argparse.Namespace) -> int:
    context = Context(args, everywhere=args.namespace is None)
    # Settings that are not given here are read from the installation itself.
    variables = {"REROLL_CONFIG", *(row.variable for row in SETTINGS)}
    given = args.config or not variables.isdisjoint(os.environ)
    wanted = Wanted(
        context.settings if given else None,
        args.controller_namespace or "",
        args.service_account or "",
        tuple(args.metrics_url),
    )

    async def action(view: View) -> int:
        examination = Examination(view, wanted, survey, context.clock, __version__)
        found = await examination.run()
        shown = [each for each in found if not args.quiet or each.level is not Level.OK]
        if sys.stdout.isatty() and context.output != "json":
            _table(shown)
            print(_summary(found))
        else:
            show(context.output, document(shown), (*_lines(shown), _summary(found)))
        bad = worst(found).rank >= Level(args.fail_on).rank
        return Exit.UNWELL if bad else Exit.OK

    return context.run(action)


def document(found: list[Finding]) -> dict[str, Any]:
    """For programs."""
    return {
        "version": __version__,
        "worst": worst(found).value,
        "findings": [finding._asdict() for finding in found],
    }


def _summary(found: list[Finding]) -> str:
    counts = [(sum(one.level is level for one in found), level) for level in reversed(Level)]
    words = [
        f"{count} {level.value}{'s' if count != 1 and level is not Level.OK else ''}"
        for count, level in counts
        if count
    ]
    return f"reroll {__version__}: {', '.join(words)}"


def _lines(found: list[Finding]) -> Iterator[str]:
    for each in found:
        todo = f"; {each.todo}" if each.todo else ""
        yield f"{each.level.value}: {each.check}: {each.sentence}{todo}"


def _table(found: list[Finding]) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table("LEVEL", "CHECK", "FINDING", box=None, header_style="bold")
    for one in found:
        todo = f"\n[dim]-> {escape(visible(one.todo))}[/]" if one.todo else ""
        level = f"[{_COLOURS[one.level]}]{one.level.value}[/]"
        table.add_row(level, one.check, escape(visible(one.sentence)) + todo)
    Console().print(table)
