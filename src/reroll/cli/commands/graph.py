"""`reroll graph`: sources and the workloads that use them, as a tree, a text or a picture."""

import argparse
import asyncio
from typing import Any

import msgspec

from reroll.answers.graph import drawings
from reroll.answers.graph.graph import Graph, Member, graph, named, orphans
from reroll.answers.graph.svg import svg
from reroll.cli import cluster
from reroll.cli.commands.explain_injection import is_meant as is_injection
from reroll.cli.configs import Configs, every_config
from reroll.cli.errors import CommandError, Exit
from reroll.cli.flags import add_flags
from reroll.cli.output import print_json, print_lines, warn
from reroll.cli.select import add_controller_flags, missing_sentence, settings_of, tables_of
from reroll.cli.targets import workload_target
from reroll.clock import SystemClock
from reroll.core.model.injection import KIND, Injection, Manifest, read
from reroll.core.model.key import Key
from reroll.core.model.metadata import Metadata
from reroll.core.observe.workload import belongs_to_workload
from reroll.core.revisions.copies import is_copy
from reroll.core.tables.kinds import Kind, SourceKind, Tables
from reroll.engine.engine import NAMESPACES, scope
from reroll.engine.world import World
from reroll.kube.resources import INJECTIONS
from reroll.kube.view import View
from reroll.pipeline.usage import USERS, Document

DESCRIPTION = """\
Draw which ConfigMaps and Secrets are used by which workloads: of a namespace, of the cluster, of
one source or of one workload. Sources that do not exist are marked. Injections are drawn as users
too. It reads names only: of ConfigMaps and Secrets the metadata.

  reroll graph -n shop
  reroll graph secret/db -n shop               what a change of it concerns
  reroll graph deployment/web -n shop          what it uses
  reroll graph -A --orphans                    also what nobody uses
  reroll graph -n shop -o svg > shop.svg       also dot (Graphviz), mermaid, json"""
FORMS = ("tree", "dot", "mermaid", "svg", "json")


class _Stub(msgspec.Struct, gc=False):
    metadata: Metadata


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    parser.add_argument(
        "target", nargs="?", metavar="KIND/NAME", help="one source or one workload (default: all)"
    )
    parser.add_argument("--orphans", action="store_true", help="also sources that nothing names")
    parser.add_argument("-o", "--output", choices=FORMS, default="tree", help="(default: tree)")
    add_flags(parser)
    add_controller_flags(parser)


def run(args: argparse.Namespace) -> int:
    tables = tables_of(args)
    target = _target(args.target, tables) if args.target else None
    if target and args.all_namespaces:
        raise CommandError("name one object, or take all namespaces with -A; not both", Exit.USAGE)

    async def action(view: View) -> int:
        found = await _graph(view, args)
        root = None
        if target:
            root = Key(target[0], view.namespace or view.home, target[1])
            if root not in found.workloads and root not in found.sources:
                known = missing_sentence(*target, (*found.workloads, *found.sources))
                raise CommandError("; ".join([known, *view.gaps]))
            found = found.around(root)
        _show(args, found, root, view.gaps)
        return Exit.OK

    return cluster.look(args, action)


def _target(text: str, tables: Tables) -> tuple[str, str]:
    """Kind and name of a source or a workload."""
    word, _, name = text.partition("/")
    if is_injection(text) and name:
        return KIND, name
    row: Kind | SourceKind | None = tables.source_kind(word)
    if row is None or not name:
        row, name = workload_target(text, tables)
    return row.name, name


async def _graph(view: View, args: argparse.Namespace) -> Graph:
    rows = [row for row in tables_of(args).sources if row.paths]
    members, sources, injections = await asyncio.gather(
        _members(view, args), every_config(view, rows), _injections(view)
    )
    there = {key for key, metadata in sources.there.items() if not is_copy(metadata)}
    unseen = {source for one in injections for source in one.sources if not _is_seen(view, source)}
    found = graph(members, frozenset(there | unseen), sources.blind, injections)
    if args.orphans:
        found = found._replace(orphans=await _orphans(view, found, sources))
    elif args.target:
        # One that nobody uses can be asked for too.
        unused = there - {edge.source for edge in found.edges}
        found = found._replace(orphans=frozenset(unused))
    return found


def _is_seen(view: View, source: Key) -> bool:
    """Whether it was looked whether it is there."""
    return view.namespace in {None, source.namespace}


async def _injections(view: View) -> list[Injection]:
    found = await view.every(INJECTIONS, Manifest)
    return sorted(map(read, found), key=lambda one: one.key)


async def _members(view: View, args: argparse.Namespace) -> list[Member]:
    """Every workload, with what annotations and settings say of it."""
    looks_at = scope(settings_of(args))
    world = World(SystemClock(), looks_at, wake=lambda *_: None, read=lambda _: None)
    if view.namespace is None:
        spaces = await view.every(NAMESPACES, _Stub, metadata_only=True)
    else:
        one = await view.get(NAMESPACES, None, view.namespace, _Stub, metadata_only=True)
        spaces = [one] if one else []
    for space in spaces:
        world.namespaces.seen(space.metadata)
    listed = await view.workloads(world.tables.kinds)
    return [
        Member(found.workload.key, found.workload.uses, world.policy_of(found.kind, found.manifest))
        for found in listed
        if not belongs_to_workload(found.manifest.metadata, world.tables)
        and not found.workload.borrows
    ]


async def _orphans(view: View, found: Graph, sources: Configs) -> frozenset[Key]:
    """What nothing names, of all that each cluster has; none if something may not be looked at."""
    used = {(edge.source.namespace, edge.source.name) for edge in found.edges}
    gaps = len(view.gaps)
    for resource in USERS:
        async for page in view.pages(resource, Document):
            for one in page:
                names = named(_document(one))
                used |= {(one.metadata.namespace, name) for name in names}
    if len(view.gaps) > gaps:
        view.gaps.append("what nobody uses cannot be told, because of what may not be listed")
        return frozenset()
    return orphans(sources.there, used)


def _document(one: Document) -> dict[str, Any]:
    """An object, with its annotations as fields."""
    fields = {"secrets": one.secrets, "imagePullSecrets": one.image_pull_secrets}
    parts = {"spec": one.spec, "data": one.data, **fields}
    decoded = {name: msgspec.json.decode(part) for name, part in parts.items() if part}
    return {**(one.metadata.annotations or {}), **decoded}


def _show(args: argparse.Namespace, found: Graph, root: Key | None, gaps: list[str]) -> None:
    match args.output:
        case "json":
            print_json({**drawings.facts(found), "problems": gaps})
        case "tree":
            print_lines(drawings.tree(found, root))
            if not found.sources and root is None:
                print("No workload here uses a ConfigMap or Secret.")
        case form:
            draw = {"dot": drawings.dot, "mermaid": drawings.mermaid, "svg": svg}[form]
            print("\n".join(draw(found)))
    warn(gaps)
