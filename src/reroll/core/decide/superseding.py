"""A roll that comes before the verdict on the one before it: what is said of that."""

from reroll.core.decide.plan import Plan
from reroll.core.model.names import several
from reroll.core.observe.snapshot import Snapshot
from reroll.core.tables.reasons import Reason


def superseded(snapshot: Snapshot, plan: Plan) -> str:
    """What a roll leaves without a verdict, as a sentence; nothing if there is none of it."""
    record = snapshot.record
    trial = record.trial if record else None
    if trial is None or trial.v or trial.back or record is None or not plan.changes:
        return ""
    names = [change.entry for change in plan.changes if change.entry in trial.of]
    if not names:
        return ""
    since = f", for which it rolled at {record.rolled:%H:%M:%S %Z}" if record.rolled else ""
    return f"{Reason.SUPERSEDED.sentence}: {several(names)}{since}"
