"""`reroll notice`: try whether a notice gets through, and see what each would be told."""

import argparse
import asyncio
import os
from pathlib import Path
from typing import Any

from reroll.cli import flags
from reroll.cli.command import Context
from reroll.cli.errors import CommandError, Exit
from reroll.cli.files import read_yaml
from reroll.cli.flags import add_flags
from reroll.cli.help import Help
from reroll.cli.show import ANSWERS, PROGRAMS, Answer, Table, add_output_flag, show
from reroll.clock import SystemClock
from reroll.core.policy.notice import Notice
from reroll.engine.outcome import Turn
from reroll.features.notices.bulletin import document
from reroll.features.notices.preview import Preview, previews, trial
from reroll.features.notices.sending import NotSent, Sender
from reroll.kube.view import View
from reroll.settings.resolve import SettingsError, resolve

DESCRIPTION = """\
The rows `notices:` of the config file say who gets a message when something needs attention."""

TEST = """\
Send a test message to the receiver of one row. It is sent as any other message is, with the files
that the row names, so run it where those are: in the controller's pod.

  kubectl exec deploy/reroll -- reroll notice test platform

exit codes: 0 the receiver took it; 1 it did not, and standard error says why; 2 there is no such
row or the config file cannot be used, and nothing was sent"""

PREVIEW = """\
Show what each receiver would get for the cluster as it is now: one line for each message, and with
-o json its body. Read-only, and nothing is sent.

  reroll notice preview
  reroll notice preview -A -o json

exit codes: 0 everything could be read; 1 something could not, and standard error says what"""
IN_THE_IMAGE = "/etc/reroll/reroll.yaml"


def configure(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, description, action in (("test", TEST, _test), ("preview", PREVIEW, _preview)):
        sub = commands.add_parser(
            name,
            help=description.partition(".")[0].replace("\n", " ").partition(":")[0],
            description=description,
            formatter_class=Help,
        )
        add_output_flag(sub, ANSWERS)
        if name == "test":
            sub.add_argument("name", metavar="NAME", help="name of a row of `notices:`")
            sub.add_argument(
                "--config",
                metavar="FILE",
                help=f"config file (also $REROLL_CONFIG; default: {IN_THE_IMAGE})",
            )
        else:
            flags.add_selector_flag(sub)
            flags.add_controller_flags(sub)
            add_flags(sub)
        sub.set_defaults(notice_action=action)


def run(args: argparse.Namespace) -> int:
    return int(args.notice_action(args))


# Whether it gets through


def _test(args: argparse.Namespace) -> int:
    path = args.config or os.environ.get("REROLL_CONFIG") or IN_THE_IMAGE
    notice = _named(args.name, _rows(path), path)
    clock = SystemClock()
    facts = {"notice": notice.name, "receiver": notice.receiver}
    try:
        asyncio.run(Sender(clock, os.environ).send(notice, trial(notice, clock.now())))
    except NotSent as problem:
        if args.output in PROGRAMS:
            show(args.output, Answer({**facts, "sent": False, "problem": str(problem)}, ()))
        raise CommandError(f"notice {notice.name} was not sent: {problem}") from None
    line = f"Notice {notice.name} was taken by its receiver ({notice.receiver})."
    return show(args.output, Answer({**facts, "sent": True}, [line]))


def _rows(path: str) -> tuple[Notice, ...]:
    if path == IN_THE_IMAGE and not Path(path).exists():
        raise CommandError("there is no config file here; name it with --config", Exit.USAGE)
    try:
        return resolve({}, os.environ, read_yaml(path, "config file"), path).notices
    except SettingsError as error:
        lines = "\n".join(f"  {problem}" for problem in error.problems)
        raise CommandError(f"these settings cannot be used:\n{lines}", Exit.USAGE) from None


def _named(name: str, rows: tuple[Notice, ...], path: str) -> Notice:
    for row in rows:
        if row.name == name:
            return row
    there = f"there are {', '.join(row.name for row in rows)}" if rows else "it has none"
    raise CommandError(f"{path} has no notice {name[:80]!r}; {there}", Exit.USAGE)


# What would be told


def _preview(args: argparse.Namespace) -> int:
    context = Context(args)
    return context.answer(lambda view: _previewed(view, context))


async def _previewed(view: View, context: Context) -> Answer:
    listing, now = await context.listing(view), context.clock.now()
    decisions = await listing.decisions(listing.workloads)
    turns = [Turn(one.snapshot, one.plan) for one in decisions if one.snapshot]
    rows = context.settings.notices
    found = previews(rows, turns, now)
    table = Table(
        ("NOTICE", "TO", "NEWS", "WORKLOADS", "TITLE"),
        [_row(one) for one in found],
    )
    nothing = "No message would be sent." if rows else "No notice is configured."
    return Answer(
        document={"messages": [_facts(one) for one in found], "problems": list(view.gaps)},
        text=[table if found else nothing],
        warnings=[*listing.notes, *view.gaps],
        code=Exit.FAILED if view.gaps else Exit.OK,
    )


def _row(one: Preview) -> tuple[str, ...]:
    message, notice = one.message, one.notice
    return notice.name, notice.receiver, message.news.word, str(message.count), message.title


def _facts(one: Preview) -> dict[str, Any]:
    return {"receiver": one.notice.receiver, **document(one.message), "body": one.body}
