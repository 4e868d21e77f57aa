"""`reroll revisions`: the content that each revision of a workload has, and going back to one."""

import argparse
from collections.abc import Iterator
from datetime import datetime

from reroll.answers.history import gather_revisions
from reroll.answers.history.choice import choose
from reroll.answers.history.gather_revisions import RevisedWorkload
from reroll.answers.history.revisions import PinnedSource, RevisionLine, document, source_name
from reroll.cli.command import Context
from reroll.cli.errors import CommandError, Exit
from reroll.cli.flags import add_config_flag, add_dry_run_flag, add_flags
from reroll.cli.show import Answer, Table, add_output_flag
from reroll.cli.targets import workload_target
from reroll.cli.times import ago
from reroll.core.model.record import Record
from reroll.kube.view import View
from reroll.pipeline.use_revision import pin_to

DESCRIPTION = """\
List the revisions of a workload with `reroll.dev/revisions: "true"`: how old each one is, which
keys of its ConfigMaps and Secrets it changed, and which pods run it. Keys are shown by name; values
are compared and never shown.

`use` takes the workload to the content of one revision and keeps it there, until a source changes
again or until `reroll release`.

  reroll revisions deployment/web -n shop
  reroll revisions use deployment/web 3 -n shop
  reroll revisions use deployment/web previous -n shop"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.usage = (
        "%(prog)s KIND/NAME [options]\n       %(prog)s use KIND/NAME REVISION [--dry-run] [options]"
    )
    parser.add_argument(
        "workloads",  # by that name, Tab knows what can follow
        nargs="+",
        metavar="KIND/NAME",
        help="a workload; after `use`, also a revision: its number, its name, or `previous`",
    )
    add_dry_run_flag(parser, "with `use`: say what would be written")
    add_config_flag(parser)
    add_output_flag(parser)
    add_flags(parser, everywhere=False)


def run(args: argparse.Namespace) -> int:
    use = args.workloads[0] == "use"
    words = args.workloads[1:] if use else args.workloads
    if len(words) != 1 + use:
        raise CommandError(
            "name one workload (`reroll revisions KIND/NAME`), or one and a revision of it "
            "(`reroll revisions use KIND/NAME REVISION`), and its namespace with -n",
            Exit.USAGE,
        )
    context = Context(args)
    kind, name = workload_target(words[0], context.tables)

    async def ask(view: View) -> Answer:
        revised = await gather_revisions.read(view, kind, name, context.tables)
        if use:
            return await _use(view, context, revised, words[1])
        return await _list(view, context, revised)

    return context.answer(ask)


# Use


async def _use(view: View, context: Context, revised: RevisedWorkload, text: str) -> Answer:
    workload, dry_run = revised.own.workload, context.args.dry_run
    revision, pins, is_there = await choose(view, revised, text)
    what = "would be pinned to" if dry_run else "pinned to"
    if is_there:
        what = "has the content of"
    elif not dry_run:
        await pin_to(view, revised.own, pins, revision.stamp)
    told = {
        "workload": workload.key,
        "revision": revision.number,
        "pins": [{"source": source_name(one), "copy": copy} for one, copy in sorted(pins.items())],
        "written": what == "pinned to",
    }
    sentence = f"{workload.key} {what} revision {revision.number} ({revision.name})"
    return Answer(told, [sentence], [revision.name], view.gaps)


# What is shown


async def _list(view: View, context: Context, revised: RevisedWorkload) -> Answer:
    workload = revised.own.workload
    held = workload.record.held if isinstance(workload.record, Record) else None
    lines = await gather_revisions.lines_of(view, revised)

    def text() -> Iterator[Table | str]:
        head, now = ("REVISION", "NAME", "AGE", "CHANGED", "PODS"), context.clock.now()
        yield Table(head, [_row(line, now, held) for line in lines])
        if not lines:
            yield f"{workload.key} has no revisions yet"
        elif not workload.pins:
            yield f"{workload.key} is not pinned: all its pods use what its sources hold now"

    told = document(workload, lines, view.gaps)
    return Answer(told, [*text()], [line.revision.name for line in lines], view.gaps)


def _row(one: RevisionLine, now: datetime, held: datetime | None) -> tuple[str, ...]:
    number = str(one.revision.number)
    if one.is_current:
        number += f" (held, {ago(held, now)})" if held else " (current)"
    changed = ", ".join(text for pin in one.pins if (text := _change(pin)))
    if not one.pins:
        changed = "not pinned"
    pods = str(len(one.pods)) + (f": {', '.join(one.pods)}" if one.pods else "")
    age = ago(one.revision.created, now).removesuffix(" ago")
    return number, one.revision.name, age, changed or "-", pods


def _change(pin: PinnedSource) -> str:
    """`configmap/app#level`; a source that did not change is left out."""
    name = source_name(pin.source)
    if pin.missing:
        return f"{name} ({pin.copy} is gone)"
    if pin.keys is None:
        return name
    return f"{name}#{','.join(pin.keys)}" if pin.keys else ""
