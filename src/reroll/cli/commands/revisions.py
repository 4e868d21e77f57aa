"""`reroll revisions`: the content that each revision of a workload has, and going back to one."""

import argparse
from datetime import datetime
from typing import Any

import msgspec

from reroll.answers.history.revisions import Kept, Line, Pin, Source, taken, wanted
from reroll.cli import cluster, revision_lines
from reroll.cli.errors import CommandError, Exit
from reroll.cli.flags import add_flags
from reroll.cli.output import add_output_flag, print_json, print_table, warn
from reroll.cli.revision_lines import Revised
from reroll.cli.select import add_config_flag, tables_of
from reroll.cli.targets import workload_target
from reroll.cli.times import ago, moment
from reroll.clock import SystemClock
from reroll.core.decide.plan import Plan
from reroll.core.model.metadata import pick
from reroll.core.model.record import Record
from reroll.core.revisions.copies import renamed
from reroll.core.revisions.pins import write_pins
from reroll.core.tables.annotations import STAMP, STATE
from reroll.core.tables.reasons import Reason
from reroll.core.write.patches import Operation, patch, pointer
from reroll.kube import wire
from reroll.kube.errors import Invalid
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
    tables = tables_of(args)
    kind, name = workload_target(words[0], tables)

    async def action(view: View) -> int:
        found = await revision_lines.read(view, kind, name, tables)
        if use:
            return await _use(view, args, found, words[1])
        _show(args.output, found, await revision_lines.told(view, found), view.gaps)
        return Exit.OK

    return cluster.look(args, action)


# Use


async def _use(view: View, args: argparse.Namespace, found: Revised, text: str) -> int:
    workload, chosen = found.own.workload, wanted(found.revisions, text)
    if chosen is None:
        known = ", ".join(f"{one.number} ({one.name})" for one in found.revisions)
        raise CommandError(f"{workload.key} has no revision {text!r}; it has {known or 'none'}")
    pins = taken(workload.pins, chosen)
    _check(found, chosen, pins)
    gone = await revision_lines.missing(view, workload.key.namespace, pins)
    if gone:
        raise CommandError(
            f"revision {chosen.number} of {workload.key} cannot be used: {', '.join(gone)} is gone"
        )
    what = "would be pinned to" if args.dry_run else "pinned to"
    if pins == workload.pins:
        what = "has the content of"
    elif not args.dry_run:
        await _write(view, found, pins, chosen.stamp)
    if args.output == "json":
        facts = [{"source": _source(one), "copy": copy} for one, copy in sorted(pins.items())]
        print_json({"workload": workload.key._asdict(), "revision": chosen.number, "pins": facts,
                    "written": what == "pinned to"})  # fmt: skip
    else:
        print(f"{workload.key} {what} revision {chosen.number} ({chosen.name})")
    warn(view.gaps)
    return Exit.OK


def _check(found: Revised, chosen: Kept, pins: dict[Source, str]) -> None:
    key = found.own.workload.key
    if not pins:
        raise CommandError(
            f'{key} is not pinned; annotate it with `reroll.dev/revisions: "true"` first'
        )
    if not any(source in chosen.pins for source in pins):
        raise CommandError(
            f"revision {chosen.number} of {key} is from before it was pinned, so its content is "
            "not known; `kubectl rollout undo` brings back the rest of it"
        )


async def _write(view: View, found: Revised, pins: dict[Source, str], stamp: str | None) -> None:
    """Pins and stamp as that revision has them: Kubernetes finds it, and makes no new one."""
    kind, manifest, workload = found.own
    raw = pick(manifest, kind.template)
    spec = (msgspec.json.decode(raw) if raw else {}).get("spec") or {}
    fields = renamed(spec, workload.pins, pins) if workload.named else ()
    plan = Plan(Reason.HELD_AT, "", pins=write_pins(pins), renames=fields)
    guards: list[Operation] = [
        {"op": "test", "path": pointer("metadata", "uid"), "value": workload.uid},
        {
            "op": "test",
            "path": pointer("metadata", "annotations", STATE),
            "value": workload.record_text,
        },
    ]
    operations = [*guards, *patch(workload, kind, plan)]
    there, here = workload.marks.get(STAMP), (*kind.template, "metadata", "annotations", STAMP)
    if stamp != there:
        change = {"op": "add", "value": stamp} if stamp else {"op": "remove"}
        operations.append({"path": pointer(*here), **change})
    namespace, name = workload.key.namespace, workload.key.name
    try:
        request = wire.json_patch(wire.resource_of(kind), namespace, name, operations)
        await view.client.send(request)
    except Invalid:
        raise CommandError(
            f"{workload.key} was changed by somebody else at the same moment; look, and try again"
        ) from None


# What is shown


def _show(output: str, found: Revised, lines: list[Line], gaps: list[str]) -> None:
    workload = found.own.workload
    record = workload.record if isinstance(workload.record, Record) else None
    held = record.held if record else None
    if output == "json":
        print_json({
            "workload": workload.key._asdict(),
            "heldSince": moment(held),
            "namesInTemplate": workload.named,
            "revisions": [_facts(one) for one in lines],
            "problems": gaps,
        })  # fmt: skip
        return
    now = SystemClock().now()
    head = ("REVISION", "NAME", "AGE", "CHANGED", "PODS")
    print_table(head, [_row(one, now, held) for one in lines])
    if not lines:
        print(f"{workload.key} has no revisions yet")
    elif not workload.pins:
        print(f"{workload.key} is not pinned: all its pods use what its sources hold now")
    warn(gaps)


def _row(one: Line, now: datetime, held: datetime | None) -> tuple[str, ...]:
    number = str(one.revision.number)
    if one.is_current:
        number += f" (held, {ago(held, now)})" if held else " (current)"
    changed = ", ".join(text for pin in one.pins if (text := _change(pin)))
    if not one.pins:
        changed = "not pinned"
    pods = str(len(one.pods)) + (f": {', '.join(one.pods)}" if one.pods else "")
    age = ago(one.revision.created, now).removesuffix(" ago")
    return number, one.revision.name, age, changed or "-", pods


def _change(pin: Pin) -> str:
    """`configmap/app#level`; a source that did not change is left out."""
    name = _source(pin.source)
    if pin.missing:
        return f"{name} ({pin.copy} is gone)"
    if pin.keys is None:
        return name
    return f"{name}#{','.join(pin.keys)}" if pin.keys else ""


def _source(source: Source) -> str:
    kind, name = source
    return f"{kind.lower()}/{name}"


def _facts(one: Line) -> dict[str, Any]:
    return {
        "revision": one.revision.number,
        "name": one.revision.name,
        "created": moment(one.revision.created),
        "current": one.is_current,
        "pins": [
            {
                "source": _source(pin.source),
                "copy": pin.copy,
                "changedKeys": None if pin.keys is None else list(pin.keys),
                "missing": pin.missing,
            }
            for pin in one.pins
        ],
        "pods": list(one.pods),
    }
