"""Which sources a report is about: those that it rolls for, or that are at the bottom of a problem.

Known from the objects alone, so that every replica says the same, also after a restart.
"""

from collections.abc import Iterable

from reroll.core.decide.plan import Plan
from reroll.core.model.key import Key
from reroll.core.observe.compare import compare
from reroll.core.observe.snapshot import Snapshot
from reroll.core.tables.news import News, problem_of
from reroll.core.tables.reasons import Reason


def concerned(snapshot: Snapshot, plan: Plan) -> tuple[Key, ...]:
    """The sources that a plan is about; none where it tells of no change and of no problem."""
    if plan.changes:
        return _distinct(change.reference.source for change in plan.changes)
    match problem_of(plan.reason):
        case None:
            return ()
        case News.STOPPED:
            return _distinct(one.source for one in snapshot.spreads if one.stopped_by is not None)
        case News.FAILED | News.ROLLED_BACK if plan.reason is not Reason.FAILED:
            return last_tried(snapshot)
    return _distinct(change.reference.source for change in compare(snapshot).changes)


def last_tried(snapshot: Snapshot) -> tuple[Key, ...]:
    """What it rolled with last, and did not take well."""
    record, home = snapshot.record, snapshot.workload.key.namespace
    if record is None:
        return ()
    trial = record.trial
    entries = ({*trial.of, *trial.left} if trial else None) or set(record.by or ())
    return _distinct(one.source for one in snapshot.references if one.entry(home) in entries)


def _distinct(sources: Iterable[Key]) -> tuple[Key, ...]:
    return tuple(sorted(set(sources)))
