"""`reroll doctor`: whether an installation is well, and what to do where it is not."""

import argparse
import sys
from collections.abc import Iterator

from reroll import __version__
from reroll.answers.doctor.findings import Finding, Level, document, worst
from reroll.answers.doctor.gather import Examination, Wanted
from reroll.answers.doctor.server import API
from reroll.answers.migration.survey import survey
from reroll.cli.command import Context
from reroll.cli.errors import Exit
from reroll.cli.flags import add_controller_flags, add_flags
from reroll.cli.show import ANSWERS, PROGRAMS, Answer, Table, add_output_flag
from reroll.core.model.names import counted
from reroll.kube.errors import Unauthorized, Unavailable
from reroll.kube.view import View

DESCRIPTION = """\
Check an installation: the API server, each right of the controller, its Deployment, Lease, version,
watches and digest key, what rewrites pods, other controllers that read the same annotations, bad
annotations, and workloads in trouble.

Read-only. Each finding says what to do; what you may not look at is a note. The output is short if
all is well; -v shows every check. Exits with 7 if there is a problem.

  reroll doctor
  reroll doctor --controller-namespace reroll -v
  reroll doctor --metrics-url http://localhost:8080/metrics
  reroll doctor -o json | jq '.findings[] | select(.level == "problem")'

It checks the rights of the controller's service account, which only administrators may ask about.
In the controller's own pod it checks its own."""

_COLOURS = {
    Level.OK.value: "green",
    Level.NOTE.value: "cyan",
    Level.WARNING.value: "yellow",
    Level.PROBLEM.value: "bold red",
}


def configure(parser: argparse.ArgumentParser) -> None:
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
        help="service account of the controller (default: that of its Deployment)",
    )
    parser.add_argument(
        "--fail-on",
        choices=[level.value for level in Level if level is not Level.OK],
        default=Level.PROBLEM.value,
        help="exit with 7 from this level up (default: problem)",
    )
    much = parser.add_mutually_exclusive_group()
    much.add_argument("-q", "--quiet", action="store_true", help="show only what is not well")
    much.add_argument(
        "-v", "--verbose", action="store_true", help="show every check and every note"
    )
    add_output_flag(parser, ANSWERS)
    parser.add_argument(
        "-n", "--namespace", metavar="NAME", help="only workloads of this namespace (default: all)"
    )
    add_flags(parser, places=False)
    add_controller_flags(parser)


def run(args: argparse.Namespace) -> int:
    context = Context(args, everywhere=args.namespace is None)
    # Settings that are not given here are read from the installation itself.
    wanted = Wanted(
        context.settings if context.has_settings else None,
        context.choice.namespace,
        args.service_account or "",
        context.choice.lease,
        tuple(args.metrics_url),
    )

    async def ask(view: View) -> Answer:
        examination = Examination(view, wanted, survey, context.clock, __version__)
        found = await _findings(examination)
        shown = _shown(found, args)
        text = [_table(shown)] if sys.stdout.isatty() else [*_lines(shown)]
        bad = worst(found).rank >= Level(args.fail_on).rank
        code = Exit.UNWELL if bad else Exit.OK
        return Answer(document(shown, __version__), [*text, _summary(found)], code=code)

    return context.answer(ask)


async def _findings(examination: Examination) -> list[Finding]:
    """An API server that does not answer is what this is for, and no error of this command."""
    try:
        return await examination.run()
    except (Unavailable, Unauthorized) as error:
        todo = "see whether it runs, and whether this is the right --context; nothing was looked at"
        return [API.problem(f"it does not answer this command: {error}", todo)]


def _shown(found: list[Finding], args: argparse.Namespace) -> list[Finding]:
    if args.quiet:
        return [one for one in found if one.level is not Level.OK]
    return found if args.verbose or args.output in PROGRAMS else list(_in_short(found))


def _in_short(found: list[Finding]) -> Iterator[Finding]:
    """What is bad in full, and one line for all that is well with a check."""
    for check in dict.fromkeys(one.check for one in found):
        of_it = [one for one in found if one.check == check]
        bad = [one for one in of_it if one.level.rank >= Level.WARNING.rank]
        well = [one for one in of_it if one.level is Level.OK]
        if bad or len(of_it) == 1:
            yield from bad or of_it
            continue
        notes = counted(len(of_it) - len(well), "note")
        parts = [f"{counted(len(well), 'check')} passed"] if well else []
        parts += [notes] if len(well) < len(of_it) else []
        yield Finding(check, Level.OK if well else Level.NOTE, ", ".join(parts))


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


def _table(found: list[Finding]) -> Table:
    rows = [
        (one.level.value, one.check, one.sentence + (f"\n-> {one.todo}" if one.todo else ""))
        for one in found
    ]
    return Table(("LEVEL", "CHECK", "FINDING"), rows, styles=_COLOURS)
