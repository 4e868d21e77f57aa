"""`reroll gc`: delete the content-named configs that nothing uses."""

import argparse
import asyncio
from collections.abc import Iterable
from datetime import timedelta
from typing import Any, NamedTuple

import msgspec

from reroll.cli import cluster
from reroll.cli.commands.render import add_config_flag, custom_kinds
from reroll.cli.errors import CommandError, Exit
from reroll.cli.flags import add_flags
from reroll.cli.output import add_output_flag, print_json, print_table, warn
from reroll.cli.targets import CONFIGS, duration
from reroll.clock import SystemClock
from reroll.core.model.key import Key
from reroll.core.model.metadata import Metadata
from reroll.core.revisions.content_names import claimed, proved
from reroll.kube import wire
from reroll.kube.errors import ApiError, Conflict, NotFound
from reroll.kube.view import View
from reroll.pipeline import gc, usage
from reroll.pipeline.gc import Candidate, Decision, Verdict
from reroll.pipeline.usage import Document, Place

READS = 16


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Delete content-named ConfigMaps and Secrets that nothing in the cluster names any more:\n"
        "those of `reroll render --names`, of kustomize's generators (proved by computing the\n"
        "suffix again) and of kapp. What is in use is never deleted; a ReplicaSet without pods\n"
        "and a ControllerRevision are uses too, so `kubectl rollout undo` keeps working.\n\n"
        "  reroll gc -n shop --dry-run     what would be deleted, and what stays and why\n"
        "  reroll gc -A --keep 3           keep the three newest unused ones of each name\n"
        "  reroll gc -n shop --also gateways.v1.gateway.networking.k8s.io"
    )
    parser.add_argument("--dry-run", action="store_true", help="delete nothing, say what would be")
    parser.add_argument(
        "--keep",
        type=int,
        default=1,
        metavar="N",
        help="keep so many unused ones of each name, the newest (default: 1)",
    )
    parser.add_argument(
        "--min-age",
        default="1h",
        metavar="1h",
        help="keep what is younger: its workload may come in a moment (default: 1h)",
    )
    parser.add_argument("-l", "--selector", help="only configs with these labels")
    parser.add_argument(
        "--also",
        action="append",
        default=[],
        metavar="PLURAL.VERSION.GROUP",
        help="a custom resource that names configs too (repeatable)",
    )
    add_config_flag(parser)
    add_output_flag(parser)
    add_flags(parser)


class Stub(msgspec.Struct, gc=False):
    metadata: Metadata


class Outcome(NamedTuple):
    """What became of a config."""

    decision: Decision
    result: str
    problem: str = ""


def run(args: argparse.Namespace) -> int:
    min_age = duration("--min-age", args.min_age)
    if args.keep < 0:
        raise CommandError(f"--keep: {args.keep} is less than none; use 0 or more", Exit.USAGE)
    also = [_resource(text) for text in args.also]
    custom = custom_kinds(args)
    more = custom.fields.keys()

    async def action(view: View) -> int:
        for resource in also:
            if not await view.serves(resource):
                raise CommandError(
                    f"--also: the API server has no {resource.full_name}", Exit.USAGE
                )
        found = [one for row in sorted(more) if (one := await view.find(*row))]
        return await _gc(view, args, (*usage.USERS, *also, *found), min_age)

    return cluster.look(args, action)


async def _gc(
    view: View, args: argparse.Namespace, users: tuple[wire.Resource, ...], min_age: timedelta
) -> int:
    candidates = await _candidates(view, args.selector)
    unseen, view.gaps = view.gaps, []
    in_use = await _in_use(view, users, candidates)
    blind, view.gaps = view.gaps, []
    proofs = await _proofs(view, [one for one in candidates if one.place not in in_use])
    now = SystemClock().now()
    decisions = gc.decide(candidates, in_use, proofs, keep=args.keep, min_age=min_age, now=now)
    doomed = any(one.verdict is Verdict.UNUSED for one in decisions)
    problems = [*unseen, *blind, *view.gaps]
    if doomed and blind:
        problems.append("nothing is deleted, because what could not be seen may use it")
    if doomed and not blind and not args.dry_run:
        outcomes = await _delete(view, users, decisions, args.min_age)
    else:
        word = "unused" if blind else "would be deleted"
        outcomes = [Outcome(one, _word(one, args.min_age, word)) for one in decisions]
    _show(args.output, outcomes, problems)
    return Exit.FAILED if problems or any(one.problem for one in outcomes) else Exit.OK


async def _candidates(view: View, selector: str | None) -> list[Candidate]:
    """All that may be content-named, by marks and names alone."""
    found = []
    for row in CONFIGS:
        stubs = await view.every(
            cluster.resource(row), Stub, label_selector=selector, metadata_only=True
        )
        for one in stubs:
            meta = one.metadata
            claim = claimed(meta.name, meta.labels or {}, meta.annotations or {})
            if claim and meta.creation_timestamp and not meta.deletion_timestamp:
                key = Key(row.name, meta.namespace, meta.name)
                version = meta.resource_version
                found.append(Candidate(key, meta.uid, version, claim, meta.creation_timestamp))
    return found


async def _in_use(
    view: View, users: Iterable[wire.Resource], candidates: Iterable[Candidate]
) -> dict[Place, str]:
    """The candidates that something names; what could not be listed is a gap."""
    names = usage.by_namespace(one.place for one in candidates)
    found: dict[Place, str] = {}
    for resource in users if names else ():
        async for documents in view.pages(resource, Document):
            found |= usage.users(resource.kind, documents, names)
    return found


async def _proofs(view: View, candidates: list[Candidate]) -> dict[Key, bool]:
    """Whether each is what it claims to be. Only what nothing uses is read, and dropped at once."""
    rows = {row.name: row for row in CONFIGS}
    slots = asyncio.Semaphore(READS)

    async def proof(one: Candidate) -> bool:
        request = wire.get(cluster.resource(rows[one.key.kind]), one.key.namespace, one.key.name)
        try:
            async with slots:
                return proved(one.claim, msgspec.json.decode(await view.client.send(request)))
        except NotFound:
            return False
        except ApiError as error:
            view.gaps.append(str(error))
            return False

    answers = await asyncio.gather(*map(proof, candidates))
    return {one.key: answer for one, answer in zip(candidates, answers, strict=True)}


async def _delete(
    view: View, users: Iterable[wire.Resource], decisions: list[Decision], young: str
) -> list[Outcome]:
    """Delete what is unused, if a second look finds it unused too."""
    doomed = [one.candidate for one in decisions if one.verdict is Verdict.UNUSED]
    again = await _in_use(view, users, doomed)
    if view.gaps:
        raise CommandError(f"nothing is deleted: {'; '.join(view.gaps)}")
    outcomes = []
    for one in decisions:
        if one.verdict is Verdict.UNUSED and (user := again.get(one.candidate.place)):
            one = Decision(one.candidate, Verdict.IN_USE, user)  # noqa: PLW2901
        if one.verdict is Verdict.UNUSED:
            outcomes.append(await _delete_one(view, one))
        else:
            outcomes.append(Outcome(one, _word(one, young)))
    return outcomes


async def _delete_one(view: View, decision: Decision) -> Outcome:
    one = decision.candidate
    row = next(row for row in CONFIGS if row.name == one.key.kind)
    request = wire.delete(
        cluster.resource(row),
        one.key.namespace,
        one.key.name,
        uid=one.uid,
        resource_version=one.version,
    )
    try:
        await view.client.send(request)
    except NotFound:
        return Outcome(decision, "gone already")
    except Conflict:
        return Outcome(decision, "changed meanwhile, left alone")
    except ApiError as error:
        return Outcome(decision, "failed", str(error))
    return Outcome(decision, "deleted")


# What is shown


def _word(decision: Decision, young: str, unused: str = "") -> str:
    match decision.verdict:
        case Verdict.IN_USE:
            return f"in use by {decision.user}"
        case Verdict.YOUNG:
            return f"younger than {young}"
        case Verdict.KEPT:
            return "kept, among the newest"
        case Verdict.UNPROVED:
            return "not proved"
        case Verdict.UNUSED:
            return unused


def _show(output: str, outcomes: list[Outcome], problems: list[str]) -> None:
    if output == "json":
        print_json({"configs": [_facts(one) for one in outcomes], "problems": problems})
    else:
        hidden = {Verdict.IN_USE, Verdict.UNPROVED}
        rows = [_row(one) for one in outcomes if one.decision.verdict not in hidden]
        print_table(("NAMESPACE", "CONFIG", "CONTENT OF", "RESULT"), rows)
        used = sum(one.decision.verdict is Verdict.IN_USE for one in outcomes)
        print(f"{used} content-named configs are in use")
    warn([*problems, *(one.problem for one in outcomes if one.problem)])


def _row(one: Outcome) -> tuple[str, str, str, str]:
    key, claim = one.decision.candidate.key, one.decision.candidate.claim
    return key.namespace, f"{key.kind} {key.name}", f"{claim.plain} ({claim.scheme})", one.result


def _facts(one: Outcome) -> dict[str, Any]:
    candidate = one.decision.candidate
    return {
        **candidate.key._asdict(),
        "contentOf": candidate.claim.plain,
        "namedBy": candidate.claim.scheme.value,
        "created": candidate.created.isoformat(),
        "verdict": one.decision.verdict.value,
        "user": one.decision.user,
        "result": one.result,
    }


def _resource(text: str) -> wire.Resource:
    plural, version, group = (*text.split(".", 2), "", "")[:3]
    if not (plural and version and group):
        raise CommandError(
            f"--also: {text!r} is no resource; write PLURAL.VERSION.GROUP, "
            'e.g. "gateways.v1.gateway.networking.k8s.io"',
            Exit.USAGE,
        )
    return wire.Resource(group, version, plural, plural)
