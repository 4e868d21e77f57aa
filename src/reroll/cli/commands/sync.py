"""`reroll sync`: one reconciliation from the shell, decided as the controller would."""

import argparse
from collections.abc import Iterable
from difflib import get_close_matches

from reroll.cli import cluster, run_and_wait, select
from reroll.cli.errors import CommandError
from reroll.cli.flags import add_flags
from reroll.cli.output import add_output_flag
from reroll.cli.targets import config_target
from reroll.core.model.key import Key
from reroll.core.tables.annotations import ENABLED
from reroll.core.tables.reasons import Reason
from reroll.engine.listing import Decision, Look
from reroll.kube.view import View
from reroll.pipeline.work import Outcome, Work


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Roll what runs with stale configuration, once, from the shell: no controller is needed,\n"
        "and one that runs decides the same. A workload that is seen for the first time is\n"
        "recorded and not rolled. Only workloads that opted in are touched.\n\n"
        "  reroll sync -n shop --wait                  after a deploy: roll, and wait for it\n"
        "  reroll sync -n shop deployment/web --wait --rollback-on-failure --timeout 3m\n"
        "  reroll sync -A --source secret/db --dry-run        what would it do\n"
        "  reroll sync -n shop --wait --junit reroll.xml -o json      for a CI system\n\n"
        f"{run_and_wait.EXITS}"
    )
    parser.add_argument("workloads", nargs="*", metavar="KIND/NAME", help="only these workloads")
    select.add_selector_flag(parser)
    parser.add_argument(
        "--source", metavar="KIND/NAME", help="only workloads that use this ConfigMap or Secret"
    )
    parser.add_argument("--dry-run", action="store_true", help="tell what would roll; do nothing")
    run_and_wait.add_flags(parser, wait=True)
    add_output_flag(parser)
    select.add_controller_flags(parser)
    add_flags(parser)


def run(args: argparse.Namespace) -> int:
    select.choice(args), run_and_wait.options(args)  # wrong usage is told before anybody is asked
    return cluster.look(args, lambda view: _sync(view, args))


async def _sync(view: View, args: argparse.Namespace) -> int:
    session, wanted = run_and_wait.Session(view), run_and_wait.options(args)
    look = await select.looked(
        view, args, session.clock, session.journal, make_key=not args.dry_run
    )
    keys = using(look, args.source) if args.source else tuple(look.workloads)
    works = [work(look, decision) for decision in await look.decisions(keys)]
    refused = [_refused(one.key) for one in works if args.workloads and one.plan.reason.out]
    mine = [one for one in works if not one.plan.reason.out]
    if args.dry_run:
        for one in mine:
            _suppose(one)
    else:
        await session.carry_out(look, mine, wanted)
    problems = [*view.gaps, *refused, *sorted(session.journal.problems)]
    return run_and_wait.finish(args, mine, problems, notes=look.notes)


def work(look: Look, decision: Decision) -> Work:
    listed = look.workloads[decision.key]
    return Work(listed.kind, listed.manifest, decision.plan)


def using(look: Look, text: str) -> tuple[Key, ...]:
    """The workloads that use a source."""
    row, name = config_target(text)
    found = [
        key
        for key in look.workloads
        if (tracked := look.world.workloads.get(key))
        and any(
            (ref.source.kind, ref.source.name) == (row.name, name) for ref in tracked.references
        )
    ]
    if not found:
        raise CommandError(_unused(row.name, name, look.world.sources))
    return tuple(found)


def _unused(kind: str, name: str, known: Iterable[Key]) -> str:
    near = get_close_matches(name, {key.name for key in known if key.kind == kind}, 3)
    hint = f"; did you mean {' or '.join(sorted(near))}?" if near else ""
    return f"no workload here that opted in uses {kind} {name}{hint}"


def _refused(key: Key) -> str:
    return f'{key} is not rolled, because it did not opt in; annotate it with {ENABLED}: "true"'


def _suppose(one: Work) -> None:
    """What would come of a plan."""
    plan = one.plan
    if plan.roll or plan.record or plan.resume or plan.repair or plan.pause is not None:
        one.outcome = Outcome.PENDING
        one.detail = f"would {'roll' if plan.roll else 'be recorded'}: {plan.message}"
    elif plan.reason is Reason.UP_TO_DATE:
        one.outcome = Outcome.NOTHING
    else:
        one.outcome = Outcome.HELD
