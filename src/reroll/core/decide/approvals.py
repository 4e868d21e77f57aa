"""The permission of people: a content that needs an approval waits until it has one."""

from reroll.core.decide.case import Case
from reroll.core.decide.plan import Plan, without_action
from reroll.core.observe.approval import waiting
from reroll.core.tables.reasons import Reason


def unapproved(case: Case) -> Plan | None:
    """What it would roll with needs an approval that nobody gave, or was rejected."""
    waits = list(waiting(case.snapshot, case.comparison))
    if not waits:
        return None
    first = next((one for one in waits if one.rejected), waits[0])
    more = f" and {len(waits) - 1} more" if len(waits) > 1 else ""
    if any(one.is_overdue(case.now) for one in waits):
        return without_action(Reason.APPROVAL_OVERDUE, f": {first}{more}")
    tell_at = min((one.until for one in waits if one.until), default=None)
    return without_action(Reason.UNAPPROVED, f": {first}{more}", look_at=tell_at)
