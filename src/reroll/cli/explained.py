"""All that there is to show people about one workload: sentences and tables."""

from collections.abc import Iterator
from datetime import datetime

from reroll.answers.explain.document import Explained, copies
from reroll.answers.explain.explain import Source, State
from reroll.answers.explain.standing import standings
from reroll.answers.history.history import beside
from reroll.cli.show import Table
from reroll.cli.times import ago
from reroll.core.decide.chains import Answer
from reroll.core.decide.situation import Situation
from reroll.core.model.key import Key
from reroll.core.model.record import Record, Unreadable
from reroll.core.observe.pods import Progress
from reroll.core.observe.workload import Workload
from reroll.core.tables.annotations import ENABLED
from reroll.core.tables.kinds import Strategy


def sentences(explained: Explained) -> Iterator[str]:
    seen, found, now = explained.snapshot, explained.explanation, explained.now
    yield f"{seen.workload.key}"
    yield f"  {found.plan.reason.word}: {found.plan.message}."
    yield from _in_the_way(explained.situation, now)
    yield from _pod_lines(explained.situation)
    for one in standings(seen):
        yield f"  {one.sentence(now)}."
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
    because = f", because of {beside(record.by, record.keys or ())}{keys}" if record.by else ""
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
    pins = ", ".join(f"{name} as {copy}" for name, copy in copies(workload))
    how = "by the names in its template" if workload.named else "when they are made"
    yield f"  It is pinned: its pods use {pins}, {how}."
    record = workload.record
    if isinstance(record, Record) and record.held:
        yield (
            f"  It was put back to this revision {ago(record.held, now)}, and stays there until a "
            "source changes, or until `reroll release`."
        )


def tables(explained: Explained, *, gates: bool) -> Iterator[Table | str]:
    """Its sources, what decided what, and with `gates` what each gate says."""
    found = explained.explanation
    columns = ("SOURCE", "USED AS", "KEYS", "CONTENT", "CHANGED")
    yield ""
    if found.sources:
        yield Table(columns, [_row(one, explained, explained.now) for one in found.sources])
    else:
        yield "It uses no ConfigMap or Secret."
    yield ""
    yield Table(("WHAT", "IS", "BECAUSE OF"), explained.decided)
    if gates:
        asked = [(one.gate, _answer(one)) for one in found.answers if one.holds is not None]
        rest = [("the others", "not asked")] if len(asked) < len(found.answers) else []
        yield ""
        yield Table(("GATE", "HOLDS"), [*asked, *rest])


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
