"""`reroll explain`: why a workload rolls or does not, in plain sentences."""

import argparse
from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from reroll.answers.explain.explain import Explanation, Source, State, explain
from reroll.answers.explain.provenance import Provenance, provenance
from reroll.cli.command import Context
from reroll.cli.commands import explain_injection
from reroll.cli.errors import CommandError, Exit
from reroll.cli.flags import add_controller_flags, add_flags
from reroll.cli.output import add_output_flag, print_json, print_lines, print_table, warn
from reroll.cli.situations import situation_facts
from reroll.cli.times import ago, moment
from reroll.core.decide.chains import Answer
from reroll.core.decide.situation import Situation
from reroll.core.dialects.rows import PolicyInput
from reroll.core.model.key import Key
from reroll.core.model.record import Record, Unreadable
from reroll.core.observe.pods import Progress
from reroll.core.observe.snapshot import Absence, Snapshot
from reroll.core.observe.workload import Workload
from reroll.core.tables.annotations import ENABLED
from reroll.core.tables.kinds import Strategy
from reroll.engine.circumstances import judged
from reroll.engine.configs import writes_of
from reroll.engine.listing import Listing
from reroll.engine.scope import scope
from reroll.kube.view import View

DESCRIPTION = """\
Tell all about one workload: which ConfigMaps and Secrets it uses and how, what they hold against
what it last rolled with, who changed them last, which annotation, setting or default decided what,
what stands in the way and how the last rollout went; with --gates, what each gate says.
Also for a workload that is not opted in. Values are never shown.
Or all about one Injection: what it puts where, and what stands in its way.

  reroll explain deployment/web -n shop
  reroll explain sts/db -n shop -o json
  reroll explain injection/harbor-s3 -n registry"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.description = DESCRIPTION
    parser.add_argument("workload", metavar="KIND/NAME", help="e.g. deployment/web, injection/s3")
    parser.add_argument(
        "--gates", action="store_true", help="also what each gate of the decision says"
    )
    add_output_flag(parser)
    add_flags(parser)
    add_controller_flags(parser)


class Explained(NamedTuple):
    """All there is to show."""

    snapshot: Snapshot
    explanation: Explanation
    situation: Situation
    decided: list[Provenance]
    now: datetime


def run(args: argparse.Namespace) -> int:
    if explain_injection.is_meant(args.workload):
        return explain_injection.run(args)
    context = Context(args, workloads=[args.workload])
    context.check_usage()
    return context.run(lambda view: _run(view, context))


async def _run(view: View, context: Context) -> int:
    listing = await context.listing(view, supposing=True)
    [key] = listing.workloads
    explained = await _explained(view, context, listing, key)
    if context.output == "json":
        print_json({**_facts(explained), "problems": view.gaps, "notes": listing.notes})
    else:
        print_lines(_sentences(explained))
        _tables(explained)
        if context.args.gates:
            _gates(explained)
    warn([*view.gaps, *listing.notes])
    return Exit.FAILED if view.gaps else Exit.OK


async def _explained(view: View, context: Context, listing: Listing, key: Key) -> Explained:
    now = context.clock.now()
    [one] = await judged(view, listing, [await listing.decide(key)], now)
    snapshot, situation = one.decision.snapshot, one.situation
    if snapshot is None or situation is None:
        raise CommandError(f"{key} is gone, or the workload of another one")
    listed, world, workload = listing.workloads[key], listing.world, snapshot.workload
    used = {Key(use.kind, key.namespace, use.name) for use in workload.uses}
    used |= {reference.source for reference in snapshot.references}
    refused = {key for key, held in snapshot.sources.items() if held is Absence.FORBIDDEN}
    known = await writes_of(view, used - refused)
    info = world.namespaces.that_counts(key.namespace)
    told = PolicyInput(
        key,
        listed.kind,
        workload.annotations,
        workload.template_annotations,
        info.annotations if info else {},
        scope(context.settings).default,
    )
    because = provenance(told, listed.policy, world.dialects)
    explanation = explain(snapshot, situation.plan, known, now, world.dialects)
    return Explained(snapshot, explanation, situation, because, now)


# What is shown


def _sentences(explained: Explained) -> Iterator[str]:
    seen, found, now = explained.snapshot, explained.explanation, explained.now
    yield f"{seen.workload.key}"
    yield f"  {found.plan.reason.word}: {found.plan.message}."
    yield from _in_the_way(explained.situation, now)
    yield from _pod_lines(explained.situation)
    for problem in found.plan.problems:
        yield f"  Problem: {problem.sentence}"
    if found.plan.strategy:
        yield f"  It rolls by {found.plan.strategy.value}."
    if found.if_in:
        yield f"  It would roll if {_wish(seen.workload.key)} were set and what it uses changed."
        yield f"  When it is set: {found.if_in.reason.word}: {found.if_in.message}."
    yield f"  {_opted(explained)}"
    yield f"  {_recorded(explained, now)}"
    yield from _pinned(seen.workload, now)


def _in_the_way(situation: Situation, now: datetime) -> Iterator[str]:
    obstacle = situation.obstacle
    if obstacle is None or obstacle.reason is situation.plan.reason:
        return
    when = f" ({ago(obstacle.at, now)})" if obstacle.at else ""
    yield f"  In the way: {obstacle.reason.word}: {obstacle.message}{when}."


def _pod_lines(situation: Situation) -> Iterator[str]:
    if situation.plan.reason.out:
        return
    if situation.rollout.progress is not Progress.NONE:
        yield f"  Rollout: {situation.rollout.sentence}."
    if situation.running is not None:
        count = situation.running
        yield f"  Pods: {count} running; configuration: {situation.have.value}."


def _wish(key: Key) -> str:
    return f'annotation {ENABLED}: "true" on {key}'


def _opted(explained: Explained) -> str:
    said = explained.decided[0]
    match explained.snapshot.policy.enabled:
        case True:
            by = ", ".join(explained.snapshot.policy.by)
            return f"It is opted in by {said.because}" + (f" (dialect {by})." if by else ".")
        case False:
            return f"It is opted out by {said.because}."
    return "It did not opt in: no annotation on it or its Namespace says so, and no setting."


def _recorded(explained: Explained, now: datetime) -> str:
    record, there = explained.snapshot.record, explained.snapshot.workload.record
    if record is None and isinstance(there, Unreadable):
        return f"Its record cannot be used: {there.why}."
    if record is None:
        return "It has no record: Reroll has not adopted it."
    text = f"It was recorded {ago(record.at, now)} ({record.why})"
    if not explained.snapshot.is_record_there:
        text = f"Another writer took its record from it. {text}"
    if record.rolled is None:
        return f"{text}, and was never rolled by Reroll."
    keys = f" ({', '.join(record.keys)})" if record.keys else ""
    because = f", because of {', '.join(record.by)}{keys}" if record.by else ""
    done = _DONE.get(record.how, "it last rolled")
    return f"{text}; {done} {ago(record.rolled, now)}{because}."


_DONE = {
    Strategy.NEXT_RUN.value: "the last change was left to its next run",
    Strategy.NOTIFY.value: "the last change was reported",
    Strategy.RELOAD.value: "its pods were last asked to reload",
    Strategy.TRIGGER.value: "it last started a Job",
    Strategy.RECREATE.value: "it was last recreated",
}


def _pinned(workload: Workload, now: datetime) -> Iterator[str]:
    """The copies that its pods use, and whether somebody chose them."""
    if not workload.pins:
        return
    pins = ", ".join(f"{name} as {copy}" for name, copy in _copies(workload))
    how = "by the names in its template" if workload.named else "when they are made"
    yield f"  It is pinned: its pods use {pins}, {how}."
    record = workload.record
    if isinstance(record, Record) and record.held:
        yield (
            f"  It is held at this revision since {ago(record.held, now).removesuffix(' ago')}: "
            "until a source changes, or `reroll release`."
        )


def _copies(workload: Workload) -> list[tuple[str, str]]:
    return [(f"{kind} {name}", copy) for (kind, name), copy in sorted(workload.pins.items())]


def _tables(explained: Explained) -> None:
    print()
    head = ("SOURCE", "USED AS", "KEYS", "CONTENT", "CHANGED")
    print_table(
        head, [_row(one, explained, explained.now) for one in explained.explanation.sources]
    )
    if not explained.explanation.sources:
        print("It uses no ConfigMap or Secret.")
    print()
    print_table(("WHAT", "IS", "BECAUSE OF"), explained.decided)


def _gates(explained: Explained) -> None:
    print()
    asked = [
        (one.gate, _answer(one)) for one in explained.explanation.answers if one.holds is not None
    ]
    rest = [("the others", "not asked")] if len(asked) < len(explained.explanation.answers) else []
    print_table(("GATE", "HOLDS"), [*asked, *rest])


def _row(one: Source, explained: Explained, now: datetime) -> tuple[str, ...]:
    home = explained.snapshot.workload.key.namespace
    where = "" if one.key.namespace == home else f"{one.key.namespace}/"
    changed = f"{ago(one.last.at, now)} by {one.last.by}" if one.last else "-"
    state = f"{one.state.value}: {one.why}" if one.why else one.state.value
    if one.state is State.SAME and explained.explanation.record:
        state = f"{state} {ago(explained.explanation.record.at, now)}"
    return f"{one.key.kind} {where}{one.key.name}", _used(one), _keys(one), state, changed


def _used(one: Source) -> str:
    hows = [use.how + (" (live)" if use.live else "") for use in one.uses]
    if one.reference and one.reference.added:
        hows.append(
            f"annotation ({one.reference.pattern})" if one.reference.pattern else "annotation"
        )
    return "; ".join(dict.fromkeys(hows))


def _keys(one: Source) -> str:
    keys = [use.keys for use in one.uses] if one.reference is None else [one.reference.keys]
    if None in keys:
        without = one.reference.without if one.reference else ()
        return "all" + (f" but {', '.join(sorted(without))}" if without else "")
    return ", ".join(sorted(frozenset().union(*(part for part in keys if part)))) or "-"


def _answer(one: Answer) -> str:
    return f"yes: {one.message}" if one.holds else "no"


def _facts(explained: Explained) -> dict[str, Any]:
    seen, found, record = explained.snapshot, explained.explanation, explained.explanation.record
    return {
        "workload": seen.workload.key._asdict(),
        "enabled": seen.policy.enabled,
        "dialects": list(seen.policy.by) if seen.policy.enabled else [],
        "decided": [one._asdict() for one in explained.decided],
        "record": record
        and {
            "at": moment(record.at),
            "why": record.why,
            "rolled": moment(record.rolled),
            "by": record.by,
            "keys": record.keys,
            "heldSince": moment(record.held),
        },
        "pins": [{"source": name, "copy": copy} for name, copy in _copies(seen.workload)],
        "reason": found.plan.reason.word,
        "message": found.plan.message,
        "strategy": found.plan.strategy and found.plan.strategy.value,
        "ifOptedIn": found.if_in
        and {"reason": found.if_in.reason.word, "message": found.if_in.message},
        **situation_facts(explained.situation),
        "sources": [_source(one) for one in found.sources],
        "gates": [one._asdict() for one in found.answers],
        "warnings": [problem.sentence for problem in found.plan.problems],
    }


def _source(one: Source) -> dict[str, Any]:
    reference = one.reference
    return {
        **one.key._asdict(),
        "uses": [
            {
                "how": use.how,
                "keys": None if use.keys is None else sorted(use.keys),
                "optional": use.optional,
                "live": use.live,
            }
            for use in one.uses
        ],
        "counts": reference is not None,
        "named": bool(reference and reference.added),
        "required": bool(reference and reference.required),
        "content": one.state.value,
        "why": one.why,
        "changed": moment(one.last.at) if one.last else None,
        "changedBy": one.last.by if one.last else None,
    }
