"""`reroll hold` and `reroll release`: keep workloads, sources or a namespace from rolling.

A hold is an annotation on the object itself, so it holds whoever rolls: the controller and `sync`.
"""

import argparse
import asyncio
from typing import Any

from reroll.cli.command import Context
from reroll.cli.errors import CommandError, Exit
from reroll.cli.flags import add_controller_flags, add_dry_run_flag, add_flags, add_selector_flag
from reroll.cli.hold_all import change_all
from reroll.cli.show import Answer, Place, Table, add_output_flag, show, target
from reroll.cli.targets import workload_target
from reroll.core.observe.workload import belongs_to_workload
from reroll.core.tables.catalog import Tables
from reroll.engine.content import Stub
from reroll.kube import resources
from reroll.kube.view import View
from reroll.pipeline.hold import Change, HoldError, Result, Target, annotate, value_of

NAMESPACE_WORDS = frozenset(("namespace", "namespaces", "ns"))

DESCRIPTION = """\
Keep workloads from rolling until you release them, or until a time: some workloads, a namespace,
everything that uses a ConfigMap or Secret, or the whole cluster. A roll is delayed, never lost:
what changes during the hold rolls once when it ends.

  reroll hold -n shop deployment/web --reason "incident 42"
  reroll hold -n shop deployment/web --until 2h
  reroll hold -n shop -l tier=web --until 30m
  reroll hold -A -l team=shop --until 30m --dry-run
  reroll hold namespace/shop --until 2026-12-27T08:00:00Z --reason holidays
  reroll hold -n shop configmap/app --reason "being edited"
  reroll hold --all --reason "incident 42"
  reroll release -n shop deployment/web"""


def configure(parser: argparse.ArgumentParser) -> None:
    add_targets(parser)
    parser.add_argument(
        "--reason", default="", metavar="TEXT", help="why; shown wherever the hold is"
    )
    parser.add_argument(
        "--until", metavar="TIME", help="when it ends: a time (RFC 3339) or a duration (2h)"
    )
    add_output_flag(parser)
    add_flags(parser)


def add_targets(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "workloads",
        nargs="*",
        metavar="KIND/NAME",
        help="workloads, sources such as configmap/NAME, or namespace/NAME",
    )
    parser.add_argument("--all", action="store_true", help="everything that the controller manages")
    add_selector_flag(parser)
    add_dry_run_flag(parser)
    add_controller_flags(parser)


def run(args: argparse.Namespace) -> int:
    context = Context(args)
    try:
        value = value_of(args.until, args.reason, context.clock.now())
    except HoldError as error:
        raise CommandError(str(error), Exit.USAGE) from None
    return change(context, value)


def change(context: Context, value: str | None) -> int:
    """Set the annotation of each target, or remove it."""
    args = context.args
    if args.all:
        if args.workloads or args.selector or args.all_namespaces:
            raise CommandError("--all holds everything: name nothing with it", Exit.USAGE)
        dry_run = args.dry_run
        return context.run(lambda view: change_all(view, context, value, dry_run=dry_run))
    everything = args.all_namespaces and value is None
    if not (args.workloads or args.selector or everything):
        raise CommandError(WHICH[value is None], Exit.USAGE)
    context.selector  # noqa: B018  wrong usage is reported before the cluster is asked
    return context.run(lambda view: _change(view, context, value))


WHICH = {
    False: "name workloads, or select them with -l; a namespace is held with namespace/NAME, the "
    "whole cluster with --all",
    True: "name workloads, or select them with -l; -A alone releases all workloads and namespaces "
    "that are held, --all ends the hold of the whole cluster",
}


async def _change(view: View, context: Context, value: str | None) -> int:
    args = context.args
    targets = [_target(text, view, context.tables) for text in args.workloads]
    if not args.workloads:
        targets = await _selected(view, context.tables, args.selector or "")
    change = Change(value, context.clock.now(), dry_run=args.dry_run)
    results = await asyncio.gather(*(annotate(view, one, change) for one in targets))
    is_all = not (args.workloads or args.selector)
    if is_all:
        results = [one for one in results if one.is_changed or one.problem]
    show(args.output, _answer(list(results), change, is_all=is_all))
    problems = [one.problem for one in results if one.problem]
    if problems:
        raise CommandError("; ".join(problems))
    return Exit.OK


def _target(text: str, view: View, tables: Tables) -> Target:
    word, _, name = text.partition("/")
    if word.lower() in NAMESPACE_WORDS and name:
        return Target(resources.NAMESPACES, None, name)
    source = tables.source_kind(word)
    if source is not None and name:
        return Target(resources.of(source), view.namespace or view.home, name)
    kind, name = workload_target(text, tables)
    return Target(resources.of(kind), view.namespace or view.home, name)


async def _selected(view: View, tables: Tables, labels: str) -> list[Target]:
    """The workloads with these labels; what belongs to another workload is none itself.

    Without labels, all of them, and the Namespaces that can be held too.
    """
    found = []
    every = [*map(resources.of, tables.kinds), *([] if labels else [resources.NAMESPACES])]
    for resource in every:
        stubs = await view.every(resource, Stub, metadata_only=True, label_selector=labels or None)
        found += [
            Target(resource, one.metadata.namespace or None, one.metadata.name)
            for one in stubs
            if not belongs_to_workload(one.metadata, tables)
        ]
    if view.gaps:
        raise CommandError("; ".join(view.gaps))
    return found


NOTHING = {False: "no workload here has these labels", True: "nothing is held"}


def _answer(results: list[Result], change: Change, *, is_all: bool) -> Answer:
    done = [one for one in results if not one.problem]
    place = Place.of((one.target.key for one in done), "WHAT")
    columns = (*place.columns, "RESULT", *(() if change.value is None else ("HOLD",)))
    rows = [
        (*place.cells(one.target.key), _word(one, change), one.after)[: len(columns)]
        for one in done
    ]
    nothing = [] if results else [NOTHING[is_all]]
    return Answer(
        document={"targets": [_facts(one) for one in results], "dryRun": change.dry_run},
        text=[Table(columns, rows)] if rows else nothing,
        names=[target(one.target.key) for one in done],
    )


def _word(one: Result, change: Change) -> str:
    word = "released" if change.value is None else "held"
    if change.value is None and not one.is_changed:
        return "was not held"
    return f"would be {word}" if change.dry_run else word


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
