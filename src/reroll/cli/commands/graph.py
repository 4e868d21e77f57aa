"""`reroll graph`: sources and the workloads that use them, as a tree, a text or a picture."""

import argparse
from typing import Any

import msgspec

from reroll.answers.documents import plain
from reroll.answers.errors import AnswerError, missing_sentence
from reroll.answers.graph import drawings
from reroll.answers.graph.gather import gather
from reroll.answers.graph.graph import Graph, named, orphans
from reroll.answers.graph.svg import svg
from reroll.cli.command import Context
from reroll.cli.commands.explain_injection import is_meant as is_injection
from reroll.cli.errors import CommandError, Exit
from reroll.cli.flags import add_controller_flags, add_flags
from reroll.cli.output import print_json, print_lines, print_yaml
from reroll.cli.sentences import warn
from reroll.cli.targets import workload_target
from reroll.core.model.injection import KIND
from reroll.core.model.key import Key
from reroll.core.tables.catalog import Tables
from reroll.core.tables.kinds import Kind
from reroll.core.tables.source_kinds import SourceKind
from reroll.engine.configs import Configs
from reroll.kube.view import View
from reroll.pipeline.usage import USERS, Document

DESCRIPTION = """\
Draw which workloads use which ConfigMaps and Secrets: in a namespace, in the whole cluster, or
around one source or workload. Missing sources are marked, and Injections count as users. Of
ConfigMaps and Secrets only the metadata is read.

  reroll graph -n shop
  reroll graph secret/db -n shop           what a change of it affects
  reroll graph deployment/web -n shop      what it uses
  reroll graph -A --orphans                also what nothing uses
  reroll graph -n shop -o svg > shop.svg   or dot (Graphviz), mermaid, json"""
FORMS = ("tree", "dot", "mermaid", "svg", "json", "yaml")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "target", nargs="?", metavar="KIND/NAME", help="one source or one workload (default: all)"
    )
    parser.add_argument(
        "--orphans", action="store_true", help="also show sources that nothing uses"
    )
    parser.add_argument("-o", "--output", choices=FORMS, default="tree", help="(default: tree)")
    add_flags(parser)
    add_controller_flags(parser)


def run(args: argparse.Namespace) -> int:
    context = Context(args)
    target = _target(args.target, context.tables) if args.target else None
    if target and args.all_namespaces:
        raise CommandError("name one object, or take all namespaces with -A; not both", Exit.USAGE)

    async def action(view: View) -> int:
        found, configs = await gather(view, context.settings, context.clock)
        root = None
        if args.orphans:
            found = found._replace(orphans=await _orphans(view, found, configs))
        elif target:
            # A source without users can be asked for too.
            found = found._replace(orphans=found.unused(configs.there))
        if target:
            root = Key(target[0], view.namespace or view.home, target[1])
            if root not in found.workloads and root not in found.sources:
                known = missing_sentence(
                    *target, (*found.workloads, *found.sources), view.namespace
                )
                raise AnswerError("; ".join([known, *view.gaps]))
            found = found.around(root)
        _show(context.output, found, root, view.gaps)
        return Exit.OK

    return context.run(action)


def _target(text: str, tables: Tables) -> tuple[str, str]:
    """Kind and name of a source or a workload."""
    word, _, name = text.partition("/")
    if is_injection(text) and name:
        return KIND, name
    row: Kind | SourceKind | None = tables.source_kind(word)
    if row is None or not name:
        row, name = workload_target(text, tables)
    return row.name, name


async def _orphans(view: View, found: Graph, configs: Configs) -> frozenset[Key]:
    """What nothing names, of all that each cluster has; none if something may not be looked at."""
    used = {(edge.source.namespace, edge.source.name) for edge in found.edges}
    gaps = len(view.gaps)
    for resource in USERS:
        async for page in view.pages(resource, Document):
            for one in page:
                names = named(_document(one))
                used |= {(one.metadata.namespace, name) for name in names}
    if len(view.gaps) > gaps:
        view.gaps.append("what nothing uses is not known, because not everything may be listed")
        return frozenset()
    return orphans(configs.there, used)


def _document(one: Document) -> dict[str, Any]:
    """An object, with its annotations as fields."""
    fields = {"secrets": one.secrets, "imagePullSecrets": one.image_pull_secrets}
    parts = {"spec": one.spec, "data": one.data, **fields}
    decoded = {name: msgspec.json.decode(part) for name, part in parts.items() if part}
    return {**(one.metadata.annotations or {}), **decoded}


def _show(output: str, found: Graph, root: Key | None, gaps: list[str]) -> None:
    match output:
        case "json" | "yaml" as form:
            document = plain({**drawings.facts(found), "problems": gaps})
            {"json": print_json, "yaml": print_yaml}[form](document)
        case "tree":
            print_lines(drawings.tree(found, root))
            if not found.sources and root is None:
                print("No workload here uses a ConfigMap or Secret.")
        case form:
            draw = {"dot": drawings.dot, "mermaid": drawings.mermaid, "svg": svg}[form]
            print("\n".join(draw(found)))
    warn(gaps)
