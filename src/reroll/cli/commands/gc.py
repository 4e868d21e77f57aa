"""`reroll gc`: delete the content-named configs that nothing uses."""

import argparse
from typing import Any

from reroll.cli.command import Context
from reroll.cli.commands.render import add_config_flag, custom_kinds
from reroll.cli.errors import CommandError, Exit
from reroll.cli.flags import add_dry_run_flag, add_flags
from reroll.cli.show import Answer, Table, add_output_flag, target
from reroll.cli.targets import duration
from reroll.clock import SystemClock
from reroll.kube import resources
from reroll.kube.view import View
from reroll.kube.wire import Resource
from reroll.pipeline import gc, usage
from reroll.pipeline.gc import Collected, Decision, Outcome, Rules, Verdict

DESCRIPTION = """\
Delete content-named ConfigMaps and Secrets that nothing in the cluster uses any more: those of
`reroll render --names`, of kustomize's generators (it computes the suffix again to be sure) and of
kapp. What is in use is never deleted. A ReplicaSet without pods and a ControllerRevision count as
users, so `kubectl rollout undo` keeps working.

  reroll gc -n shop --dry-run    what would be deleted, what stays, and why
  reroll gc -A --keep 3          keep the three newest unused ones of each name
  reroll gc -n shop --also gateways.v1.gateway.networking.k8s.io"""


def configure(parser: argparse.ArgumentParser) -> None:
    add_dry_run_flag(parser, "delete nothing; say what would happen")
    parser.add_argument(
        "--keep",
        type=int,
        default=1,
        metavar="N",
        help="keep the N newest unused ones of each name (default: 1)",
    )
    parser.add_argument(
        "--min-age",
        default="1h",
        metavar="1h",
        help="keep what is younger: its workload may still be on its way (default: 1h)",
    )
    parser.add_argument("-l", "--selector", help="only configs with these labels")
    parser.add_argument(
        "--also",
        action="append",
        default=[],
        metavar="PLURAL.VERSION.GROUP",
        help="a custom resource that uses configs too (repeatable)",
    )
    add_config_flag(parser)
    add_output_flag(parser)
    add_flags(parser)


def run(args: argparse.Namespace) -> int:
    min_age = duration("--min-age", args.min_age)
    if args.keep < 0:
        raise CommandError(f"--keep: {args.keep} is less than none; use 0 or more", Exit.USAGE)
    also = [_resource(text) for text in args.also]
    custom = custom_kinds(args).fields.keys()
    rules = Rules(args.keep, min_age, args.selector, args.dry_run)

    async def ask(view: View) -> Answer:
        for resource in also:
            if not await view.serves(resource):
                raise CommandError(
                    f"--also: the API server has no {resource.full_name}", Exit.USAGE
                )
        users = [*usage.USERS, *also]
        users += [one for row in sorted(custom) if (one := await view.find(*row))]
        collected = await gc.collect(view, users, rules, SystemClock().now())
        return _answer(args, collected, _problems(collected))

    return Context(args).answer(ask)


def _problems(collected: Collected) -> list[str]:
    refused = "nothing is deleted, because what could not be seen may use it"
    return [*collected.gaps, *([refused] if collected.refused else ())]


# What is shown


def _answer(args: argparse.Namespace, collected: Collected, problems: list[str]) -> Answer:
    unused = "unused" if collected.blind else "would be deleted"
    results = [
        (one, one.result or _word(one.decision, args.min_age, unused)) for one in collected.outcomes
    ]
    hidden = {Verdict.IN_USE, Verdict.UNPROVED}
    shown = [one for one in results if one[0].decision.verdict not in hidden]
    used = sum(one.decision.verdict is Verdict.IN_USE for one, _ in results)
    failures = [one.problem for one, _ in results if one.problem]
    columns = ("NAMESPACE", "CONFIG", "CONTENT OF", "RESULT")
    in_use = f"{used} content-named config{' is' if used == 1 else 's are'} in use"
    return Answer(
        document={"configs": [_facts(*one) for one in results], "problems": problems},
        text=[Table(columns, [_row(*one) for one in shown]), in_use],
        names=[target(one.decision.candidate.key) for one, _ in shown],
        warnings=[*problems, *failures],
        code=Exit.FAILED if problems or failures else Exit.OK,
    )


def _word(decision: Decision, young: str, unused: str) -> str:
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


def _row(one: Outcome, result: str) -> tuple[str, str, str, str]:
    key, claim = one.decision.candidate.key, one.decision.candidate.claim
    return key.namespace, target(key), f"{claim.plain} ({claim.scheme})", result


def _facts(one: Outcome, result: str) -> dict[str, Any]:
    candidate = one.decision.candidate
    return {
        **candidate.key._asdict(),
        "contentOf": candidate.claim.plain,
        "namedBy": candidate.claim.scheme.value,
        "created": candidate.created.isoformat(),
        "verdict": one.decision.verdict.value,
        "user": one.decision.user,
        "result": result,
    }


def _resource(text: str) -> Resource:
    plural, version, group = (*text.split(".", 2), "", "")[:3]
    if not (plural and version and group):
        raise CommandError(
            f"--also: {text!r} is not a resource; write PLURAL.VERSION.GROUP, "
            'e.g. "gateways.v1.gateway.networking.k8s.io"',
            Exit.USAGE,
        )
    return resources.custom(group, version, plural)
