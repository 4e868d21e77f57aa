"""`reroll history`: what rolled, when, why, and who had changed what."""

import argparse
import asyncio
from datetime import datetime
from typing import Any

import msgspec

from reroll.answers.history.history import Copy, Happened, Told, entries, history
from reroll.cli import cluster
from reroll.cli.configs import writes_of
from reroll.cli.errors import CommandError, Exit
from reroll.cli.flags import add_flags
from reroll.cli.output import add_output_flag, print_json, print_table, warn
from reroll.cli.select import add_config_flag, add_selector_flag, choice, tables_of
from reroll.cli.times import ago, moment
from reroll.clock import SystemClock
from reroll.controller.events import EVENTS
from reroll.core.model.key import Key
from reroll.core.model.metadata import Metadata
from reroll.core.model.record import Record, read
from reroll.core.tables.annotations import STATE
from reroll.core.tables.kinds import Revisions
from reroll.kube import wire
from reroll.kube.view import Found, View

DESCRIPTION = """\
Tell what rolled, when, why, because of which keys, and who had changed them: from the records on
workloads, the copies of them that Kubernetes keeps with each revision, and Events. The newest
comes first. Keys are told by name; values are never read.

  reroll history -n shop
  reroll history deployment/web -n shop
  reroll history -A --limit 20 -o json"""
COMPONENT = "reroll"


class _Revision(msgspec.Struct, gc=False):
    metadata: Metadata


class _Involved(msgspec.Struct, gc=False, rename="camel"):
    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""


class _Event(msgspec.Struct, gc=False, rename="camel"):
    metadata: Metadata
    involved_object: _Involved
    reason: str = ""
    message: str = ""
    last_timestamp: datetime | None = None


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    parser.add_argument(
        "workloads", nargs="*", metavar="KIND/NAME", help="only these workloads (default: all)"
    )
    add_selector_flag(parser)
    parser.add_argument(
        "--limit", type=int, default=50, metavar="N", help="at most so many (default: 50)"
    )
    add_output_flag(parser)
    add_config_flag(parser)
    add_flags(parser)


def run(args: argparse.Namespace) -> int:
    wanted, tables = choice(args), tables_of(args)
    if args.limit < 1:
        raise CommandError(f"--limit: {args.limit} is less than one; use 1 or more", Exit.USAGE)

    async def action(view: View) -> int:
        listed = await view.workloads(tables.kinds)
        chosen = [one for one in listed if wanted.holds(one.kind, one.manifest)]
        wanted.check([one.workload.key for one in listed], view.gaps)
        happened = (await _history(view, chosen))[: args.limit]
        _show(args.output, happened, view.gaps)
        return Exit.OK

    return cluster.look(args, action)


async def _history(view: View, chosen: list[Found]) -> list[Happened]:
    uids = {one.workload.uid: one.workload.key for one in chosen}
    kept, told = await asyncio.gather(_copies(view, uids), _events(view, chosen))
    own = [
        Copy(one.workload.key, one.workload.record)
        for one in chosen
        if isinstance(one.workload.record, Record)
    ]
    copies = [*kept, *own]
    return history(copies, told, await writes_of(view, entries(copies)))


async def _copies(view: View, uids: dict[str, Key]) -> list[Copy]:
    """The records that Kubernetes copied to revisions."""
    found = []
    for kind in (one for one in Revisions if one is not Revisions.NONE):
        resource = wire.Resource("apps", "v1", kind.value, kind.name)
        for one in await view.every(resource, _Revision, metadata_only=True):
            record = read((one.metadata.annotations or {}).get(STATE))
            owners = [uids.get(each.uid) for each in one.metadata.owner_references or ()]
            if isinstance(record, Record) and (owner := next(filter(None, owners), None)):
                found.append(Copy(owner, record, one.metadata.name))
    return found


async def _events(view: View, chosen: list[Found]) -> list[Told]:
    selected = f"source={COMPONENT}"
    events = await view.every(EVENTS, _Event, field_selector=selected)
    # By name: of a workload that was made anew, all is told.
    keys = {
        (one.kind.group, one.kind.kind, *one.workload.key[1:]): one.workload.key for one in chosen
    }
    found = []
    for one in events:
        about = one.involved_object
        group = about.api_version.rpartition("/")[0]
        key = keys.get((group, about.kind, about.namespace, about.name))
        if key and one.last_timestamp:
            found.append(Told(key, one.last_timestamp, one.reason, one.message))
    return found


# What is shown


def _show(output: str, happened: list[Happened], gaps: list[str]) -> None:
    if output == "json":
        print_json({"history": [_facts(one) for one in happened], "problems": gaps})
    elif happened:
        now = SystemClock().now()
        head = ("WHEN", "WORKLOAD", "REASON", "BECAUSE OF", "KEYS", "CHANGED BY")
        print_table(head, [_row(one, now) for one in happened])
    else:
        print("Nothing is known: no workload here has a record of Reroll, or an Event.")
    warn(gaps)


def _row(one: Happened, now: datetime) -> tuple[str, ...]:
    because = ", ".join(part.entry for part in one.parts) or one.message
    by = ", ".join(dict.fromkeys(part.by for part in one.parts if part.by))
    keys = ", ".join(one.keys)
    return ago(one.at, now), str(one.workload), one.reason, because or "-", keys or "-", by or "-"


def _facts(one: Happened) -> dict[str, Any]:
    return {
        "at": moment(one.at),
        "workload": one.workload._asdict(),
        "reason": one.reason,
        "message": one.message,
        "sources": [
            {"entry": part.entry, "changed": moment(part.at), "changedBy": part.by or None}
            for part in one.parts
        ],
        "keys": list(one.keys),
        "revision": one.revision or None,
        "toldBy": one.told_by,
    }
