"""Decide: turn a snapshot into a plan, by three chains.

STANDING asks whether anything can be decided; WRITING what has to be written; PERMISSION whether
that may happen now. Same arguments, same plan. The order of the rows is behaviour that users see:
docs/concepts/decisions.md.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

import msgspec

from reroll.core.decide import canaries, lateness, pin_state, trials
from reroll.core.decide.case import Case
from reroll.core.decide.draft import Act, Draft
from reroll.core.decide.permission import PERMISSION
from reroll.core.decide.plan import Plan, without_action
from reroll.core.decide.standing import STANDING
from reroll.core.decide.writing import WRITING
from reroll.core.dialects.table import ALL, Dialects
from reroll.core.model.gates import Phase
from reroll.core.model.key import Problem, first_problems
from reroll.core.model.record import LARGEST_RECORD, Unreadable, write
from reroll.core.observe.snapshot import Snapshot
from reroll.core.tables.annotations import STATE
from reroll.core.tables.reasons import Reason

FEW = 500
"""So few sources fit, however long their names are."""


def decide(snapshot: Snapshot, now: datetime, dialects: Dialects = ALL) -> Plan:
    """What should happen to one workload now."""
    case = Case(snapshot, now, dialects)
    plan = next((plan for check in STANDING if (plan := check(case))), None)
    if plan is None:
        plan = _permitted(case, _draft(case))
    plan = canaries.tidied(case, _too_large(plan) or plan)
    pause = case.pause
    if pause and pause.until and plan.reason is not Reason.RESUMED:
        plan = _looked_at(plan, pause.until)
    if plan.record is None and (rewrites_at := case.rewrites_at):
        plan = _looked_at(plan, rewrites_at)
    if plan.reason.held and (look := trials.next_look(case)):
        plan = _looked_at(plan, look)
    if (late := lateness.late_after(case, plan) or lateness.late_at(case)) and late > now:
        plan = msgspec.structs.replace(plan, late_at=late)
    if plan.asks is None and not plan.actions and trials.soaks(case):
        plan = msgspec.structs.replace(plan, asks=Phase.PROGRESSING)
    problems = snapshot.policy.problems + _problems(case)
    return msgspec.structs.replace(plan, problems=problems) if problems else plan


def _looked_at(plan: Plan, at: datetime) -> Plan:
    """The plan, with another look at that time at the latest."""
    look_at = min(plan.look_at, at) if plan.look_at else at
    return msgspec.structs.replace(plan, look_at=look_at)


def _draft(case: Case) -> Draft:
    for row in WRITING:
        if draft := row(case):
            return draft
    raise AssertionError("the last row of WRITING always applies")


def _permitted(case: Case, draft: Draft) -> Plan:
    if draft.act is not Act.NOTHING:
        for check, acts in PERMISSION:
            if draft.act in acts and (hold := check(case)):
                return hold
    return draft.plan


def _problems(case: Case) -> tuple[Problem, ...]:
    """What is wrong with it besides its annotations."""
    snapshot, record = case.snapshot, case.snapshot.workload.record
    problems = snapshot.workload.problems + snapshot.problems
    if isinstance(record, Unreadable):
        where = f"annotation {STATE} on {snapshot.workload.key}"
        problems += (Problem(f"{where} cannot be used: {record.why}; it is written again"),)
    problems += case.dialects.rivals(snapshot, case.comparison.changes) + trials.problems(case)
    problems += canaries.problems(snapshot)
    of = f"what {snapshot.workload.key} refers to"
    return first_problems(problems + pin_state.problems(snapshot), of)


def _too_large(plan: Plan) -> Plan | None:
    """A record that no object has room for is not sent: its sources are too many."""
    record = plan.record
    if record is None or len(record.s) < FEW or len(write(record)) <= LARGEST_RECORD:
        return None
    if plan.reason is Reason.CONTINUED:  # It is there already, and gets smaller.
        return None
    return without_action(
        Reason.TOO_MANY_SOURCES, f": {len(record.s)}; narrow its globs, or name fewer"
    )


class Answer(NamedTuple):
    """What one row of the chains says."""

    gate: str
    holds: bool | None
    """`None`: it was not asked, because another row settled the matter."""
    message: str = ""


def answers(snapshot: Snapshot, now: datetime, dialects: Dialects = ALL) -> Iterator[Answer]:
    """What each row says, in order, until one settles the matter."""
    case = Case(snapshot, now, dialects)
    settled = False
    for check in STANDING:
        plan = None if settled else check(case)
        yield _answer(check.__name__, plan, settled=settled)
        settled = settled or plan is not None
    draft = None if settled else _draft(case)
    decided = settled
    settled = draft is None or draft.act is Act.NOTHING
    for row in WRITING[:-1]:
        written = None if decided else row(case)
        yield _answer(row.__name__, written.plan if written else None, settled=decided)
        decided = decided or written is not None
    for check, acts in PERMISSION:
        is_needed = draft is not None and draft.act in acts
        plan = check(case) if is_needed and not settled else None
        yield _answer(check.__name__, plan, settled=settled)
        settled = settled or plan is not None


def _answer(name: str, plan: Plan | None, *, settled: bool) -> Answer:
    gate = name.replace("_", " ")
    return Answer(gate, None if settled else plan is not None, plan.message if plan else "")


GATES: tuple[str, ...] = tuple(
    row.__name__.replace("_", " ")
    for row in (*STANDING, *WRITING[:-1], *(permission.check for permission in PERMISSION))
)
"""The names of all rows that can hold, in order."""
