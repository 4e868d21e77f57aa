"""`reroll hold` and `reroll release`: keep workloads or a namespace from rolling, and let them go.

A hold is an annotation on the object itself, so it holds whoever rolls: the controller and `sync`.
"""

import argparse
import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from typing import Any, NamedTuple

from reroll.cli.command import Context
from reroll.cli.errors import CommandError, Exit
from reroll.cli.flags import add_config_flag, add_flags, add_selector_flag
from reroll.cli.output import add_output_flag, print_json, print_table
from reroll.cli.targets import workload_target
from reroll.core.decide.pin_state import released
from reroll.core.model.record import read, write
from reroll.core.observe.workload import belongs_to_workload
from reroll.core.policy.durations import parse_duration, parse_time
from reroll.core.tables.annotations import HOLD, STATE
from reroll.core.tables.catalog import Tables
from reroll.core.write.patches import Operation, pointer
from reroll.engine.content import Stub
from reroll.kube import api, resources, wire
from reroll.kube.errors import ApiError, Conflict, Invalid, NotFound
from reroll.kube.view import View

NAMESPACE_WORDS = frozenset(("namespace", "namespaces", "ns"))
LONGEST = timedelta(days=3650)


class Target(NamedTuple):
    resource: wire.Resource
    namespace: str | None
    name: str

    def __str__(self) -> str:
        place = f"{self.namespace}/" if self.namespace else ""
        return f"{self.resource.kind} {place}{self.name}"


class Result(NamedTuple):
    target: Target
    before: str
    after: str
    problem: str = ""
    let_go: bool = False
    """It was held at a revision, and is no longer."""

    @property
    def is_changed(self) -> bool:
        return bool(self.before) or self.let_go


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Keep workloads from rolling, or all workloads of a namespace, until they are released or\n"
        "a time comes. A roll is delayed, never lost: what changed meanwhile rolls then, once.\n\n"
        '  reroll hold -n shop deployment/web --reason "incident 42"\n'
        "  reroll hold -n shop deployment/web --until 2h\n"
        "  reroll hold -n shop -l tier=web --until 30m\n"
        "  reroll hold namespace/shop --until 2026-12-27T08:00:00Z --reason holidays\n"
        "  reroll release -n shop deployment/web"
    )
    add_targets(parser)
    parser.add_argument("--reason", default="", metavar="TEXT", help="why; told wherever it holds")
    parser.add_argument("--until", metavar="TIME", help="a time (RFC 3339), or how long (2h)")
    add_output_flag(parser)
    add_flags(parser)


def add_targets(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "workloads", nargs="*", metavar="KIND/NAME", help="workloads, or namespace/NAME"
    )
    add_selector_flag(parser)
    add_config_flag(parser)


def run(args: argparse.Namespace) -> int:
    context = Context(args)
    return change(context, value_of(args.until, args.reason, context.clock.now()))


def value_of(until: str | None, reason: str, now: datetime) -> str:
    """What the annotation says."""
    why = " ".join(reason.split())
    if why.lower() in {"true", "false"}:
        raise CommandError(f"--reason: {reason!r} is no reason; say it in words", Exit.USAGE)
    if until is None:
        return why or "true"
    length = parse_duration(until)
    moment = now + length if length is not None and length <= LONGEST else parse_time(until)
    if moment is None:
        raise CommandError(
            f'--until: {until!r} is neither a time nor a duration; use "2026-11-16T09:00:00Z" '
            'or "2h"',
            Exit.USAGE,
        )
    if moment <= now:
        raise CommandError(f"--until: {until} is over already", Exit.USAGE)
    return f"until {moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ} {why}".strip()


def change(context: Context, value: str | None) -> int:
    """Set the annotation of each target, or remove it."""
    args = context.args
    if not args.workloads and not args.selector:
        raise CommandError("name workloads, or select them with -l", Exit.USAGE)
    context.selector  # noqa: B018  wrong usage is reported before the cluster is asked
    return context.run(lambda view: _change(view, context, value))


async def _change(view: View, context: Context, value: str | None) -> int:
    args = context.args
    targets = [_target(text, view, context.tables) for text in args.workloads]
    targets += await _selected(view, context.tables, args.selector) if args.selector else []
    results = await asyncio.gather(
        *(_annotate(view, one, value, context.clock.now()) for one in targets)
    )
    _show(args.output, list(results), releasing=value is None)
    problems = [one.problem for one in results if one.problem]
    if problems:
        raise CommandError("; ".join(problems))
    return Exit.OK


def _target(text: str, view: View, tables: Tables) -> Target:
    word, _, name = text.partition("/")
    if word.lower() in NAMESPACE_WORDS and name:
        return Target(resources.NAMESPACES, None, name)
    kind, name = workload_target(text, tables)
    return Target(resources.of(kind), view.namespace or view.home, name)


async def _selected(view: View, tables: Tables, labels: str) -> list[Target]:
    """The workloads with these labels; what belongs to another workload is none itself."""
    found = []
    for kind in tables.kinds:
        resource = resources.of(kind)
        stubs = await view.every(resource, Stub, metadata_only=True, label_selector=labels)
        found += [
            Target(resource, one.metadata.namespace, one.metadata.name)
            for one in stubs
            if not belongs_to_workload(one.metadata, tables)
        ]
    if view.gaps:
        raise CommandError("; ".join(view.gaps))
    return found


async def _annotate(view: View, target: Target, value: str | None, now: datetime) -> Result:
    resource, namespace, name = target
    try:
        stub = await api.get(view.client, resource, namespace, name, Stub)
        annotations = stub.metadata.annotations or {}
        before = annotations.get(HOLD, "")
        let_go = value is None and await _let_go(view, target, annotations, now)
        if before != (value or ""):
            body = {"metadata": {"annotations": {HOLD: value}}}
            await api.merge(view.client, resource, namespace, name, body, Stub)
    except NotFound:
        return Result(target, "", "", await _missing(view, target))
    except ApiError as error:
        return Result(target, "", "", str(error))
    return Result(target, before, value or "", let_go=bool(let_go))


async def _let_go(
    view: View, target: Target, annotations: Mapping[str, str], now: datetime
) -> bool:
    """Release a workload that is held at a revision: its record says so to the next roll."""
    text = annotations.get(STATE)
    record = released(read(text), now)
    if record is None:
        return False
    path = pointer("metadata", "annotations", STATE)
    operations: list[Operation] = [
        {"op": "test", "path": path, "value": text},
        {"op": "add", "path": path, "value": write(record)},
    ]
    try:
        await api.patch(view.client, *target, operations, Stub)
    except Invalid:
        raise Conflict(f"{target} is being rolled at this moment; try again") from None
    return True


async def _missing(view: View, target: Target) -> str:
    others = await view.every(target.resource, Stub, metadata_only=True)
    near = get_close_matches(target.name, [one.metadata.name for one in others], 3)
    word = target.resource.kind.lower()
    hint = f"; did you mean {' or '.join(f'{word}/{name}' for name in near)}?" if near else ""
    return f"there is no {target}{hint}"


def _show(output: str, results: list[Result], *, releasing: bool) -> None:
    done = [one for one in results if not one.problem]
    if output == "json":
        print_json({"targets": [_facts(one) for one in results]})
        return
    word = "released" if releasing else "held"
    rows = [
        (str(one.target), word if one.is_changed or not releasing else "was not held", one.after)
        for one in done
    ]
    if not rows:
        print("no workload here has these labels")
    columns = ("WHAT", "RESULT") if releasing else ("WHAT", "RESULT", "HOLD")
    print_table(columns, [row[: len(columns)] for row in rows])


def _facts(one: Result) -> dict[str, Any]:
    return {
        "kind": one.target.resource.kind,
        "namespace": one.target.namespace or "",
        "name": one.target.name,
        "before": one.before,
        "hold": one.after,
        "revision": "released" if one.let_go else "",
        "problem": one.problem,
    }
