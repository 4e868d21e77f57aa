"""`reroll diff`: which workloads roll between two renders, or from the cluster to a render."""

import argparse
import asyncio
from typing import Any

import msgspec

from reroll.cli.command import Context
from reroll.cli.commands.render import add_config_flag, custom_kinds
from reroll.cli.errors import CommandError, Exit
from reroll.cli.flags import add_flags
from reroll.cli.show import Answer, Place, Table, add_output_flag, show, target
from reroll.cli.streams import manifests, parsed
from reroll.core.model.key import Key
from reroll.core.tables.catalog import TABLES
from reroll.kube import resources, wire
from reroll.kube.errors import ApiError, Forbidden, Invalid, NotFound
from reroll.kube.view import View
from reroll.manifests.diff import REPLACES_PODS, Cause, Difference, Effect, Side, compare, overlay
from reroll.manifests.model import Input, Manifests, ManifestWorkload
from reroll.manifests.options import ANNOTATION
from reroll.manifests.references import undefined

DESCRIPTION = """\
Show which workloads roll, and because of which keys of which ConfigMaps and Secrets, between two
renders, or between the cluster and a render. Values are never shown. Exits with 0 if nothing rolls,
and with 3 if something does.

  reroll diff old.yaml new.yaml    two renders: files, folders, or - for stdin
  reroll diff main/ branch/ -o json
  helm template shop ./chart | reroll render | reroll diff -   with the cluster"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "renders",
        nargs="+",
        metavar="RENDER",
        help="file, folder or -: two are compared, one is compared with the cluster",
    )
    parser.add_argument(
        "--annotation",
        metavar="NAME",
        default=ANNOTATION,
        help=f"annotation that holds the checksum (default: {ANNOTATION})",
    )
    parser.add_argument(
        "-n", "--namespace", metavar="NAME", help="namespace of objects that name none"
    )
    add_config_flag(parser)
    add_output_flag(parser)
    add_flags(parser, places=False)


def run(args: argparse.Namespace) -> int:
    if len(args.renders) == 1:
        return Context(args).answer(lambda view: _with_cluster(view, args))
    if len(args.renders) > 2:
        raise CommandError("give one render or two, not more; a folder is one", Exit.USAGE)
    if args.renders == ["-", "-"]:
        raise CommandError("standard input can be one of the two, not both", Exit.USAGE)
    custom = custom_kinds(args)
    before, after = (manifests([each], args.namespace or "", custom) for each in args.renders)
    answer = _answer(compare(Side(before), Side(after), args.annotation), [])
    return show(args.output, answer)


# What is in the cluster


async def _with_cluster(view: View, args: argparse.Namespace) -> Answer:
    namespace, custom = args.namespace or view.home, custom_kinds(args)

    def served(objects: list[Any]) -> Manifests:
        document = msgspec.json.encode({"kind": "List", "items": objects})
        return parsed([Input("the cluster", document)], namespace, custom)

    after = manifests([args.renders[0]], namespace, custom)
    workloads = [each for each in after.workloads if each.key.name and each.kind.template]
    answers = await asyncio.gather(*(_live(view, each) for each in workloads))
    pairs = zip(workloads, answers, strict=True)
    live = {workload.key: answer for workload, answer in pairs if answer}
    objects = [answer for answer, _ in live.values()]
    wanted = undefined(served(objects)) | undefined(after) | after.sources.keys()
    sources = await asyncio.gather(*(_source(view, key) for key in sorted(wanted)))
    before = Side(served([*objects, *filter(None, sources)]))
    templates = {key: template for key, (_, template) in live.items()}
    differences = compare(before, Side(after, before.contents, templates), args.annotation)
    return _answer(differences, view.gaps)


async def _live(view: View, workload: ManifestWorkload) -> tuple[Any, Any] | None:
    """The workload as it is, and the template that it would have; `None` if it is new."""
    key, kind = workload.key, workload.kind
    known = kind.plural and kind.version
    resource = resources.of(kind) if known else await view.find(kind.group, kind.kind)
    if resource is None:
        return None
    try:
        raw = await view.client.send(wire.get(resource, key.namespace, key.name))
    except NotFound:
        return None
    except Forbidden as error:
        view.gaps.append(f"{error}; grant `get` on {resource.full_name}")
        return None
    live = msgspec.json.decode(raw)
    body = template = workload.template()
    for step in reversed(kind.template):
        body = {step: body}
    request = wire.merge_patch(resource, key.namespace, key.name, body, dry_run=True)
    try:
        # Only the API server knows its defaults, and how it writes a quantity.
        return live, _at(msgspec.json.decode(await view.client.send(request)), workload)
    except Invalid:
        return live, template  # It cannot be changed like that.
    except Forbidden:
        view.gaps.append(
            f"{key}: compared without the API server's defaults; grant `patch` on "
            f"{resource.full_name}, it is a dry run"
        )
        return live, overlay(_at(live, workload), template)


def _at(document: Any, workload: ManifestWorkload) -> Any:
    for step in workload.kind.template:
        document = document.get(step) or {}
    return document


async def _source(view: View, key: Key) -> Any | None:
    row = TABLES.sources_by_name[key.kind]
    try:
        raw = await view.client.send(wire.get(resources.of(row), key.namespace, key.name))
    except NotFound:
        return None
    except ApiError as error:
        view.gaps.append(f"{error}; grant `get` on {row.plural}")
        return None
    return msgspec.json.decode(raw)


# What is shown


def _answer(differences: list[Difference], problems: list[str]) -> Answer:
    place = Place.of(difference.workload for difference in differences)
    rows = [
        (*place.cells(difference.workload), difference.effect.value, _because(difference))
        for difference in differences
    ]
    table = Table((*place.columns, "EFFECT", "BECAUSE"), rows)
    effects = {difference.effect for difference in differences}
    hint = "what does not roll has no checksum in its template; see `reroll render --help`"
    code = Exit.OK if effects.isdisjoint(REPLACES_PODS) else Exit.WOULD_ROLL
    return Answer(
        document={
            "workloads": [_facts(difference) for difference in differences],
            "problems": problems,
        },
        text=[table if differences else "nothing changes"],
        names=[target(difference.workload) for difference in differences],
        warnings=[*problems, *([hint] if Effect.NOT_SEEN in effects else ())],
        code=Exit.FAILED if problems else code,
    )


def _because(difference: Difference) -> str:
    parts = [
        f"{cause.source.kind} {cause.source.name}: {_keys(cause)}" for cause in difference.causes
    ]
    if difference.fields:
        parts.append(f"its template: {', '.join(difference.fields)}")
    return "; ".join(parts)


def _keys(cause: Cause) -> str:
    return ", ".join(f"{key} {word}" for word, keys in cause.by_word() for key in keys)


def _facts(difference: Difference) -> dict[str, Any]:
    return {
        **difference.workload._asdict(),
        "effect": difference.effect.value,
        "because": [
            {**cause.source._asdict(), **{word: list(keys) for word, keys in cause.by_word()}}
            for cause in difference.causes
        ],
        "fields": list(difference.fields),
    }
