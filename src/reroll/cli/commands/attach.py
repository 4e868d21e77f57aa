"""`reroll attach`: revisions become owners of the content-named configs that they use."""

import argparse
import asyncio
import sys
from collections.abc import Iterable
from datetime import timedelta
from typing import Any, NamedTuple

from reroll.cli import cluster
from reroll.cli.errors import CommandError, Exit
from reroll.cli.flags import add_flags
from reroll.cli.output import add_output_flag, print_json, print_table, warn
from reroll.cli.targets import CONFIGS, config_target, duration, workload_target
from reroll.clock import SystemClock
from reroll.core.model.key import Key
from reroll.core.model.metadata import Manifest
from reroll.core.revisions.content_names import CONTENT_OF
from reroll.core.tables.kinds import KINDS, Kind, Revisions, SourceKind
from reroll.kube import wire
from reroll.kube.errors import ApiError
from reroll.kube.objects import REVISION_KINDS, Owner, Revision
from reroll.kube.view import View
from reroll.pipeline import attach, owning
from reroll.pipeline.owning import Config

POLL = 0.5


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Make each revision of a workload (ReplicaSet, ControllerRevision) an owner of the\n"
        "content-named configs that it uses, so that Kubernetes deletes them with it. A Job or\n"
        "CronJob owns them itself. Run it after every deploy of `reroll render --names`.\n\n"
        "  reroll attach -n shop                  all workloads of a namespace\n"
        "  reroll attach -n shop deployment/web   one of them\n"
        "  reroll attach -A -l team=shop -o json"
    )
    parser.add_argument("workloads", nargs="*", metavar="KIND/NAME", help="only these workloads")
    parser.add_argument("-l", "--selector", help="only workloads with these labels")
    parser.add_argument(
        "--config",
        action="append",
        metavar="KIND/NAME",
        help="only this content-named config; then no other is looked at (repeatable)",
    )
    parser.add_argument(
        "--timeout",
        default="1m",
        metavar="1m",
        help="how long to wait for the revisions of what was just deployed (default: 1m)",
    )
    add_output_flag(parser)
    add_flags(parser)


class Seen(NamedTuple):
    """A workload with its revisions, the newest last."""

    kind: Kind
    manifest: Manifest
    revisions: list[Revision]

    @property
    def key(self) -> Key:
        metadata = self.manifest.metadata
        return Key(self.kind.name, metadata.namespace, metadata.name)


class Result(NamedTuple):
    workload: Key
    owner: Owner
    config: Key
    result: str
    problem: str = ""


def run(args: argparse.Namespace) -> int:
    timeout = duration("--timeout", args.timeout)
    named = [workload_target(text) for text in args.workloads]
    configs = [config_target(text) for text in args.config or ()]
    if named and (args.selector or args.all_namespaces):
        raise CommandError("name workloads, or select them with -l or -A; not both", Exit.USAGE)
    if configs and args.all_namespaces:
        raise CommandError("--config is about one namespace: use -n, not -A", Exit.USAGE)

    async def action(view: View) -> int:
        return await _attach(view, args, named, configs, timeout)

    return cluster.look(args, action)


async def _attach(
    view: View,
    args: argparse.Namespace,
    named: list[tuple[Kind, str]],
    configs: list[tuple[SourceKind, str]],
    timeout: timedelta,  # noqa: ASYNC109  it is what people ask for
) -> int:
    workloads, late = await _await_revisions(view, named, args.selector, timeout)
    gaps = sorted(view.gaps)
    view.gaps.clear()
    found = await _found(view, configs)
    gaps += sorted(view.gaps)
    names = _by_namespace(found)
    paused = [
        one.key
        for one in workloads
        if one not in late
        and attach.lacks_revision(
            one.kind, one.manifest, one.revisions, names.get(one.key.namespace, frozenset())
        )
    ]
    results = await _attach_all(view, workloads, found, names)
    problems = [
        *gaps,
        *(f"{one.key}: no revision of its template within {args.timeout}" for one in late),
        *(f"{key}: no revision of its template while it is paused" for key in paused),
        *(f"{one.config}: {one.problem}" for one in results if one.problem),
    ]
    _show(args.output, results, problems)
    return Exit.FAILED if problems else Exit.OK


def _show(output: str, results: list[Result], problems: list[str]) -> None:
    if output == "json":
        print_json({"attached": [_facts(one) for one in results], "problems": problems})
    elif not results:
        print("no content-named configs in use")
    else:
        columns = ("WORKLOAD", "OWNER", "CONFIG", "RESULT")
        print_table(
            columns,
            [
                (str(one.workload), f"{one.owner.kind} {one.owner.name}", _short(one), one.result)
                for one in results
            ],
        )
    warn(problems)


def _short(one: Result) -> str:
    return f"{one.config.kind} {one.config.name}"


def _facts(one: Result) -> dict[str, Any]:
    return {
        "workload": one.workload._asdict(),
        "owner": {"kind": one.owner.kind, "name": one.owner.name},
        "config": one.config._asdict(),
        "result": one.result,
    }


# What there is


async def _await_revisions(
    view: View,
    named: list[tuple[Kind, str]],
    selector: str | None,
    timeout: timedelta,  # noqa: ASYNC109
) -> tuple[list[Seen], list[Seen]]:
    """The workloads with their revisions, and those whose newest did not come in time."""
    clock = SystemClock()
    end = clock.monotonic() + timeout.total_seconds()
    told = not sys.stderr.isatty()
    while True:
        view.gaps.clear()
        workloads = await _with_revisions(view, await _workloads(view, named, selector))
        late = [one for one in workloads if not attach.is_ready(*one)]
        if not late or clock.monotonic() >= end:
            return workloads, late
        if not told:
            names = ", ".join(str(one.key) for one in late[:3]) + (", …" if late[3:] else "")
            warn([f"waiting for the newest revision of {names}"])
            told = True
        await asyncio.sleep(POLL)


async def _workloads(
    view: View, named: list[tuple[Kind, str]], selector: str | None
) -> list[tuple[Kind, Manifest]]:
    if not named:
        listed = await asyncio.gather(
            *(
                view.every(cluster.resource(kind), Manifest, label_selector=selector)
                for kind in KINDS
            )
        )
        return [(kind, one) for kind, found in zip(KINDS, listed, strict=True) for one in found]
    found = []
    for kind, name in named:
        one = await view.get(cluster.resource(kind), view.namespace, name, Manifest)
        if one is None and not view.gaps:
            raise CommandError(f"{Key(kind.name, view.namespace or '', name)} does not exist")
        if one is not None:
            found.append((kind, one))
    return found


async def _with_revisions(view: View, workloads: list[tuple[Kind, Manifest]]) -> list[Seen]:
    kept = sorted({kind.revisions for kind, _ in workloads} - {Revisions.NONE})
    by_kind = {
        rows: await view.every(
            wire.Resource("apps", "v1", rows.value, REVISION_KINDS[rows]), Revision
        )
        for rows in kept
    }
    return [
        Seen(
            kind,
            manifest,
            attach.of_workload(manifest.metadata.uid, by_kind.get(kind.revisions, ())),
        )
        for kind, manifest in workloads
    ]


async def _found(view: View, wanted: list[tuple[SourceKind, str]]) -> dict[Key, Config]:
    """The content-named configs: those that were named, or all."""
    if wanted:
        keys = [(row, Key(row.name, view.namespace or "", name)) for row, name in wanted]
        return {key: one for row, key in keys if (one := await _config(view, row, key))}
    listed = await asyncio.gather(
        *(
            view.every(cluster.resource(row), Config, label_selector=CONTENT_OF, metadata_only=True)
            for row in CONFIGS
        )
    )
    return {
        Key(row.name, one.metadata.namespace, one.metadata.name): one
        for row, found in zip(CONFIGS, listed, strict=True)
        for one in found
    }


async def _config(view: View, row: SourceKind, key: Key) -> Config | None:
    try:
        found = await owning.read(view.client, row, key)
    except ApiError as error:
        view.gaps.append(str(error))
        return None
    if CONTENT_OF not in (found.metadata.labels or {}):
        view.gaps.append(
            f"{key} has no label {CONTENT_OF}; only what `reroll render --names` made is attached"
        )
        return None
    return found


def _by_namespace(found: Iterable[Key]) -> dict[str, frozenset[str]]:
    names: dict[str, set[str]] = {}
    for key in found:
        names.setdefault(key.namespace, set()).add(key.name)
    return {namespace: frozenset(those) for namespace, those in names.items()}


# What is done


async def _attach_all(
    view: View,
    workloads: list[Seen],
    found: dict[Key, Config],
    names: dict[str, frozenset[str]],
) -> list[Result]:
    wanted: dict[Key, list[tuple[Key, Owner]]] = {}
    order: dict[str, int] = {}
    for one in workloads:
        here = names.get(one.key.namespace, frozenset())
        for owner, name in reversed(attach.owners(*one, here)):  # the newest first
            order.setdefault(owner.uid, len(order))
            for row in CONFIGS:
                key = Key(row.name, one.key.namespace, name)
                if key in found:
                    wanted.setdefault(key, []).append((one.key, owner))
    results = await asyncio.gather(
        *(_attach_one(view, key, found[key], those) for key, those in wanted.items())
    )
    flat = [one for several in results for one in several]
    return sorted(flat, key=lambda one: (one.workload, order[one.owner.uid], one.config))


async def _attach_one(
    view: View, key: Key, config: Config, wanted: list[tuple[Key, Owner]]
) -> list[Result]:
    before, problem = config.owner_ids, ""
    row = next(row for row in CONFIGS if row.name == key.kind)
    try:
        await owning.own(view.client, row, key, config, [owner for _, owner in wanted])
    except ApiError as error:
        problem = str(error)
    done = "failed" if problem else "attached"
    return [
        Result(workload, owner, key, "was attached" if owner.uid in before else done, problem)
        for workload, owner in wanted
    ]
