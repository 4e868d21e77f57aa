"""`reroll explain injection/NAME`: what an Injection puts where, and whether it holds.

Values are never read: of its sources and its target the metadata is, which tells who wrote what.
"""

import argparse
from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from reroll.cli import cluster
from reroll.cli.configs import writes_of
from reroll.cli.errors import CommandError, Exit
from reroll.cli.output import print_json, print_lines, print_table, warn
from reroll.cli.select import missing_sentence
from reroll.cli.times import ago, moment
from reroll.clock import SystemClock
from reroll.core.model.fieldpaths import text
from reroll.core.model.injection import KIND, PLURAL, Condition, Injection, Manifest, read
from reroll.core.model.key import Key
from reroll.core.observe.provenance import Write, Writes
from reroll.features.injection.decide import Target
from reroll.features.injection.ownership import Owner, owners
from reroll.features.injection.status import INJECTIONS
from reroll.features.injection.writer import TargetMetadata
from reroll.kube.view import View

WORDS = frozenset({KIND.lower(), PLURAL, f"{PLURAL}.reroll.dev"})


class _Target(msgspec.Struct, gc=False):
    metadata: TargetMetadata


def is_meant(argument: str) -> bool:
    """Whether `KIND/NAME` names an Injection."""
    return argument.partition("/")[0].lower() in WORDS


class Told(NamedTuple):
    """All there is to show."""

    one: Injection
    sources: dict[Key, Writes]
    target: Target
    owners: list[Owner] | None
    """Who owns the field now; `None`: there is no such object, or it may not be read."""

    def last(self, source: Key, key: str) -> Write | None:
        written = self.sources.get(source)
        return written.last(frozenset({key})) if written else None


def run(args: argparse.Namespace) -> int:
    name = args.workload.partition("/")[2]
    if not name:
        raise CommandError("write injection/NAME", Exit.USAGE)

    async def action(view: View) -> int:
        told, now = await _told(view, name), SystemClock().now()
        if args.output == "json":
            print_json({**_facts(told), "problems": view.gaps})
        else:
            print_lines(_sentences(told, now))
            _tables(told, now)
        warn(view.gaps)
        return Exit.FAILED if view.gaps else Exit.OK

    return cluster.look(args, action)


async def _told(view: View, name: str) -> Told:
    home = view.namespace or view.home
    manifest = await view.get(INJECTIONS, home, name, Manifest)
    if manifest is None:
        others = await view.every(INJECTIONS, Manifest)
        keys = [Key(KIND, one.metadata.namespace, one.metadata.name) for one in others]
        raise CommandError("; ".join([missing_sentence(KIND, name, keys), *view.gaps]))
    one = read(manifest)
    to = one.spec.to
    resource = await view.find(to.group, to.kind)
    scope = (to.namespace or home) if resource is None or resource.namespaced else ""
    found = resource and await view.get(
        resource, scope or None, to.name, _Target, metadata_only=True
    )
    now = owners(found.metadata.managed_fields or [], one.path) if found else None
    target = Target(to.group, to.kind, scope, to.name)
    return Told(one, await writes_of(view, one.sources), target, now)


# What is shown


def _sentences(told: Told, now: datetime) -> Iterator[str]:
    one = told.one
    yield f"{one.key}"
    yield f"  It puts {_what(one)} at {text(one.path) or one.spec.to.path} of {told.target}."
    if one.spec.dry_run:
        yield "  It is a dry run: nothing is written."
    yield f"  {_state(one)}"
    if one.status.written:
        yield f"  It was last written {ago(_time(one.status.written), now)} as {one.manager}."
    yield f"  {_owned(told)}"
    yield f"  Whoever may read {told.target} can read the value there."


def _what(one: Injection) -> str:
    home = one.key.namespace
    keys = [f"key {each.key} of {_named(each.source(home), home)}" for each in one.spec.from_]
    made = " through its template" if one.spec.template is not None else ""
    how = "" if one.spec.encoding == "string" else f" as {one.spec.encoding}"
    return f"{', '.join(keys)}{made}{how}"


def _named(source: Key, home: str) -> str:
    return f"{source.kind} {source.name}" if source.namespace == home else str(source)


def _state(one: Injection) -> str:
    ready = next((c for c in one.status.conditions if c.type == "Ready"), None)
    if ready is None:
        return "No controller has looked at it yet; is one running with --injections?"
    old = "" if ready.observed_generation == one.generation else " (of an earlier spec)"
    return f"Decision: {ready.reason}: {ready.message}{old}."


def _owned(told: Told) -> str:
    if told.owners is None:
        return "Its target does not exist, or may not be read."
    if not told.owners:
        return "Nobody owns the field now."
    names = ", ".join(owner.manager for owner in told.owners)
    return f"The field is owned by {names}."


def _tables(told: Told, now: datetime) -> None:
    home = told.one.key.namespace
    rows = []
    for each in told.one.spec.from_:
        source = each.source(home)
        last = told.last(source, each.key)
        changed = f"{ago(last.at, now)} by {last.by}" if last else _unwritten(told, source)
        rows.append((_named(source, home), each.key, each.called, changed))
    print()
    print_table(("SOURCE", "KEY", "VARIABLE", "CHANGED"), rows)
    conditions = [
        (one.type, one.status, one.reason, ago(_time(one.last_transition_time), now))
        for one in told.one.status.conditions
    ]
    if conditions:
        print()
        print_table(("CONDITION", "STATUS", "REASON", "SINCE"), conditions)


def _unwritten(told: Told, source: Key) -> str:
    return "no such key" if source in told.sources else "not there, or not readable"


def _time(written: str) -> datetime | None:
    return datetime.fromisoformat(written) if written else None


def _facts(told: Told) -> dict[str, Any]:
    one, status = told.one, told.one.status
    return {
        "injection": one.key._asdict(),
        "target": {**told.target._asdict(), "path": text(one.path) or one.spec.to.path},
        "dryRun": one.spec.dry_run,
        "sources": [_source(told, place) for place in range(len(one.spec.from_))],
        "conditions": [_condition(condition) for condition in status.conditions],
        "written": status.written or None,
        "takenBack": status.taken_back,
        "fieldManager": one.manager,
        "owners": None if told.owners is None else [owner._asdict() for owner in told.owners],
    }


def _source(told: Told, place: int) -> dict[str, Any]:
    each = told.one.spec.from_[place]
    source = each.source(told.one.key.namespace)
    last = told.last(source, each.key)
    return {
        **source._asdict(),
        "key": each.key,
        "variable": each.called,
        "changed": moment(last.at) if last else None,
        "changedBy": last.by if last else None,
    }


def _condition(one: Condition) -> dict[str, Any]:
    return {
        "type": one.type,
        "status": one.status,
        "reason": one.reason,
        "message": one.message,
        "since": one.last_transition_time,
    }
