"""`reroll revisions`: the content that each revision of a workload has, and going back to one."""

import argparse
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import msgspec

from reroll.answers.history import gather_revisions
from reroll.answers.history.gather_revisions import RevisedWorkload
from reroll.answers.history.revisions import (
    PinnedSource,
    RevisionLine,
    RevisionTemplate,
    SourceName,
    pins_for,
    select_revision,
)
from reroll.cli.command import Context
from reroll.cli.errors import CommandError, Exit
from reroll.cli.flags import add_config_flag, add_flags
from reroll.cli.output import add_output_flag, warn
from reroll.cli.show import Table, show
from reroll.cli.targets import workload_target
from reroll.cli.times import ago
from reroll.core.decide.actions import Pin
from reroll.core.model.metadata import pick
from reroll.core.model.record import Record
from reroll.core.revisions.copies import renamed
from reroll.core.revisions.pins import write_pins
from reroll.core.tables.annotations import STAMP, STATE
from reroll.core.write.patches import Operation, patch, pointer
from reroll.kube import api, resources
from reroll.kube.errors import Invalid
from reroll.kube.objects import Stub
from reroll.kube.view import View

DESCRIPTION = """\
List the revisions of a workload with `reroll.dev/revisions: "true"`: how old each is, which keys of
its ConfigMaps and Secrets changed with it, and which pods run it. Keys are told by name; values are
compared and never shown.

`use` has the workload use the content of one revision: it is rolled to it with one guarded write,
and stays there until a source changes again, or until `reroll release`.

  reroll revisions deployment/web -n shop
  reroll revisions use deployment/web 3 -n shop
  reroll revisions use deployment/web previous -n shop"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    parser.usage = (
        "%(prog)s KIND/NAME [options]\n       %(prog)s use KIND/NAME REVISION [--dry-run] [options]"
    )
    parser.add_argument(
        "workloads",  # by that name, Tab knows what can follow
        nargs="+",
        metavar="KIND/NAME",
        help="the workload; `use` before it, and a revision after it: its number, its name, or "
        "`previous`",
    )
    parser.add_argument("--dry-run", action="store_true", help="`use`: say what would be written")
    add_config_flag(parser)
    add_output_flag(parser)
    add_flags(parser)


def run(args: argparse.Namespace) -> int:
    use = args.workloads[0] == "use"
    words = args.workloads[1:] if use else args.workloads
    if len(words) != 1 + use or args.all_namespaces:
        raise CommandError(
            "name one workload (`reroll revisions KIND/NAME`), or one and a revision of it "
            "(`reroll revisions use KIND/NAME REVISION`), and its namespace with -n",
            Exit.USAGE,
        )
    context = Context(args)
    kind, name = workload_target(words[0], context.tables)

    async def action(view: View) -> int:
        revised = await gather_revisions.read(view, kind, name, context.tables)
        if use:
            await _use(view, context, revised, words[1])
        else:
            await _list(view, context, revised)
        return Exit.OK

    return context.run(action)


# Use


async def _use(view: View, context: Context, revised: RevisedWorkload, text: str) -> None:
    workload, revision = revised.own.workload, select_revision(revised.revisions, text)
    if revision is None:
        known = ", ".join(f"{one.number} ({one.name})" for one in revised.revisions)
        raise CommandError(f"{workload.key} has no revision {text!r}; it has {known or 'none'}")
    pins = pins_for(workload.pins, revision)
    _check(revised, revision, pins)
    gone = await gather_revisions.missing_copies(view, workload.key.namespace, pins)
    if gone:
        which = f"revision {revision.number} of {workload.key}"
        raise CommandError(f"{which} cannot be used: {', '.join(gone)} is gone")
    dry_run = context.args.dry_run
    what = "would be pinned to" if dry_run else "pinned to"
    if pins == workload.pins:
        what = "has the content of"
    elif not dry_run:
        await _write(view, revised, pins, revision.stamp)
    document = {
        "workload": workload.key,
        "revision": revision.number,
        "pins": [{"source": _source(one), "copy": copy} for one, copy in sorted(pins.items())],
        "written": what == "pinned to",
    }
    sentence = f"{workload.key} {what} revision {revision.number} ({revision.name})"
    show(context.output, document, [sentence])
    warn(view.gaps)


def _check(
    revised: RevisedWorkload, revision: RevisionTemplate, pins: dict[SourceName, str]
) -> None:
    key = revised.own.workload.key
    if not pins:
        raise CommandError(
            f'{key} is not pinned; annotate it with `reroll.dev/revisions: "true"` first'
        )
    if not any(source in revision.pins for source in pins):
        raise CommandError(
            f"revision {revision.number} of {key} is from before it was pinned, so its content is "
            "not known; `kubectl rollout undo` brings back the rest of it"
        )


async def _write(
    view: View, revised: RevisedWorkload, pins: dict[SourceName, str], stamp: str | None
) -> None:
    """Pins and stamp as that revision has them: Kubernetes finds it, and makes no new one."""
    kind, manifest, workload = revised.own
    raw = pick(manifest, kind.template)
    spec = (msgspec.json.decode(raw) if raw else {}).get("spec") or {}
    fields = renamed(spec, workload.pins, pins) if workload.named else ()
    pin = Pin(write_pins(pins), fields)
    guards: list[Operation] = [
        {"op": "test", "path": pointer("metadata", "uid"), "value": workload.uid},
        {
            "op": "test",
            "path": pointer("metadata", "annotations", STATE),
            "value": workload.record_text,
        },
    ]
    operations = [*guards, *patch(workload, kind, (pin,))]
    there, here = workload.marks.get(STAMP), (*kind.template, "metadata", "annotations", STAMP)
    if stamp != there:
        change = {"op": "add", "value": stamp} if stamp else {"op": "remove"}
        operations.append({"path": pointer(*here), **change})
    resource, (_, namespace, name) = resources.of(kind), workload.key
    try:
        await api.patch(view.client, resource, namespace, name, operations, Stub)
    except Invalid:
        raise CommandError(
            f"{workload.key} was changed by somebody else at the same moment; look, and try again"
        ) from None


# What is shown


async def _list(view: View, context: Context, revised: RevisedWorkload) -> None:
    workload = revised.own.workload
    held = workload.record.held if isinstance(workload.record, Record) else None
    lines = await gather_revisions.lines_of(view, revised)
    document = {
        "workload": workload.key,
        "heldSince": held,
        "namesInTemplate": workload.named,
        "revisions": [_facts(line) for line in lines],
        "problems": view.gaps,
    }

    def text() -> Iterator[Table | str]:
        head, now = ("REVISION", "NAME", "AGE", "CHANGED", "PODS"), context.clock.now()
        yield Table(head, [_row(line, now, held) for line in lines])
        if not lines:
            yield f"{workload.key} has no revisions yet"
        elif not workload.pins:
            yield f"{workload.key} is not pinned: all its pods use what its sources hold now"

    show(context.output, document, text())
    warn(() if context.output == "json" else view.gaps)


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
    name = _source(pin.source)
    if pin.missing:
        return f"{name} ({pin.copy} is gone)"
    if pin.keys is None:
        return name
    return f"{name}#{','.join(pin.keys)}" if pin.keys else ""


def _source(source: SourceName) -> str:
    kind, name = source
    return f"{kind.lower()}/{name}"


def _facts(one: RevisionLine) -> dict[str, Any]:
    return {
        "revision": one.revision.number,
        "name": one.revision.name,
        "created": one.revision.created,
        "current": one.is_current,
        "pins": [
            {
                "source": _source(pin.source),
                "copy": pin.copy,
                "changedKeys": pin.keys,
                "missing": pin.missing,
            }
            for pin in one.pins
        ],
        "pods": one.pods,
    }
