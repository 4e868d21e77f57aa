"""`reroll migrate check`: what Reloader and Wave do in a cluster, and what Reroll will do."""

import argparse
import asyncio
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import msgspec

from reroll.answers.migration.check import Findings, Seen, findings
from reroll.answers.migration.controllers import Controller, Lease, controllers
from reroll.answers.migration.rows import Fate
from reroll.answers.migration.translate import Line
from reroll.cli.cluster import look, resource
from reroll.cli.errors import Exit
from reroll.cli.flags import add_flags
from reroll.cli.output import add_output_flag, print_json, print_table, visible, warn
from reroll.clock import SystemClock
from reroll.core.dialects.table import Dialects
from reroll.core.model.metadata import Manifest, Metadata
from reroll.core.observe.workload import workload
from reroll.core.tables.kinds import KINDS, Kind
from reroll.engine.engine import dialects
from reroll.kube import wire
from reroll.kube.view import Found, View
from reroll.settings.table import resolve

DESCRIPTION = """\
List what Reloader and Wave do in this cluster and what will be different with Reroll.

Reads only. What may not be read is told, and the rest is shown.

  reroll migrate check -A
  reroll migrate check -n shop -o json"""

LEASES = wire.Resource("coordination.k8s.io", "v1", "leases", "Lease")
NAMESPACES = wire.Resource("", "v1", "namespaces", "Namespace", namespaced=False)
DEPLOYMENT = KINDS[0]


class _Stub(msgspec.Struct, gc=False):
    metadata: Metadata


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_flags(parser)
    add_output_flag(parser)


def run(args: argparse.Namespace) -> int:
    async def action(view: View) -> int:
        found = (await survey(view)).found
        if args.output == "json":
            print_json({**document(found), "gaps": view.gaps})
        else:
            show(found)
            warn(view.gaps)
        return Exit.OK

    return look(args, action)


class Survey(NamedTuple):
    """What was found, and in which workloads."""

    found: Findings
    workloads: list[Found]


async def survey(view: View, kinds: Iterable[Kind] = KINDS) -> Survey:
    workloads, namespaces, leases, deployments = await asyncio.gather(
        view.workloads(kinds),
        _namespaces(view),
        view.every(LEASES, Lease, everywhere=True),
        _all(view),
    )
    run = controllers(_candidates(workloads, deployments), leases, SystemClock().now())
    spoken = _dialects(run)
    seen = [
        Seen(
            one.kind,
            one.manifest,
            workload(one.kind, one.manifest, None, words=spoken.words),
            namespaces.get(one.workload.key.namespace, {}),
        )
        for one in workloads
    ]
    return Survey(findings(seen, run, spoken), workloads)


def _dialects(run: Iterable[Controller]) -> Dialects:
    """All dialects, with the names that a controller here has for their annotations."""
    names = [
        name for one in run if one.told for name in one.told.settings.get("annotation-names", ())
    ]
    return dialects(resolve({}, {}, {"annotation-names": names}, ""))


async def _all(view: View) -> list[Manifest]:
    """The Deployments that are not among the workloads that were asked for."""
    if view.namespace is None:
        return []
    return await view.every(resource(DEPLOYMENT), Manifest, everywhere=True)


def _candidates(
    workloads: Iterable[Found], deployments: Iterable[Manifest]
) -> Iterator[tuple[Any, Manifest]]:
    """Each Deployment once."""
    known = {one.manifest.metadata.uid: one.manifest for one in workloads if one.kind is DEPLOYMENT}
    known |= {manifest.metadata.uid: manifest for manifest in deployments}
    return ((DEPLOYMENT, manifest) for manifest in known.values())


async def _namespaces(view: View) -> dict[str, dict[str, str]]:
    """The annotations of Namespaces, which are the defaults of what is in them."""
    if view.namespace is None:
        found = await view.every(NAMESPACES, _Stub, metadata_only=True)
    else:
        one = await view.get(NAMESPACES, None, view.namespace, _Stub)
        found = [one] if one else []
    return {one.metadata.name: one.metadata.annotations or {} for one in found}


def document(found: Findings) -> dict[str, Any]:
    """The findings for programs."""
    return {
        "controllers": [_controller(one) for one in found.controllers],
        "workloads": [
            {
                "workload": str(member.key),
                "dialects": list(member.dialects),
                "because": list(member.because),
                "changes": list(member.changes),
                "problems": list(member.problems),
                "adopted": member.adopted,
            }
            for member in found.members
        ],
        "stuck": [{"workload": str(one.key), "why": one.why} for one in found.stuck],
        "rivals": [str(one.key) for one in found.rivals],
    }


def _controller(one: Controller) -> dict[str, Any]:
    told = one.told
    return {
        "tool": one.title,
        "object": str(one.key),
        "active": one.is_active,
        "settings": told.settings if told else {},
        "flags": told.flags if told else [],
        "lines": [line_document(line) for line in told.lines] if told else [],
    }


def line_document(line: Line) -> dict[str, str]:
    return {"given": line.given, "fate": line.fate, "setting": line.setting, "word": line.word}


def show(found: Findings) -> None:
    """The findings for people."""
    _controllers(found)
    _members(found)
    _list("What will be different", _differences(found))
    _list("Stuck", [f"{one.key}: {one.why}" for one in found.stuck])
    problems = [problem for member in found.members for problem in member.problems]
    _list("Wrong, whoever reads it", problems)
    print("\nMoving rolls nothing: Reroll records what it finds, and rolls when that changes.")
    if found.rivals:
        names = ", ".join(f"{one.title} ({one.key})" for one in found.rivals)
        warn([f"{names} and Reroll are active at once; scale the other one to 0"])


def _controllers(found: Findings) -> None:
    if not found.controllers:
        print("There is no Deployment of Reloader, Wave or Reroll here.")
    rows = [
        (one.title, str(one.key), "yes" if one.is_active else "no") for one in found.controllers
    ]
    print_table(("CONTROLLER", "FOUND AS", "ACTIVE"), rows)
    for one in found.controllers:
        if one.told:
            _list(f"What {one.title} ({one.key}) is told", map(told, one.told.lines))


def told(line: Line) -> str:
    """What becomes of one thing that a tool was told, in a line."""
    becomes = f"becomes {line.setting}" if line.fate is Fate.SETTING else line.fate.value
    return f"{line.given}: {becomes}{'; ' if line.word else ''}{line.word}"


def _members(found: Findings) -> None:
    rows = [
        (",".join(member.dialects) or "-", str(member.key), "; ".join(member.because) or "-")
        for member in found.members
    ]
    print()
    if not rows:
        print("No workload here is opted in.")
    print_table(("DIALECT", "WORKLOAD", "BECAUSE"), rows)


def _differences(found: Findings) -> Iterator[str]:
    for member in found.members:
        yield from (f"{member.key}: {change}" for change in member.changes)


def _list(title: str, lines: Iterable[str]) -> None:
    found = [visible(line) for line in lines]
    if found:
        print(f"\n{title}:", *found, sep="\n  ")
