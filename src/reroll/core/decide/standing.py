"""The first chain: may anything be decided about this workload at all?

A check is named for the situation that it finds, and returns a plan without actions to stop there.
"""

from collections.abc import Callable

from reroll.core.decide.case import Case
from reroll.core.decide.plan import Plan, without_action
from reroll.core.model.names import several
from reroll.core.tables import limits
from reroll.core.tables.reasons import Reason

Check = Callable[[Case], Plan | None]


def ended(case: Case) -> Plan | None:
    """It has finished, or is being deleted."""
    return without_action(Reason.ENDED) if case.snapshot.workload.ended else None


def not_enabled(case: Case) -> Plan | None:
    """It is not managed, and nothing of an earlier time is left to bring to its end."""
    policy = case.snapshot.policy
    is_left = policy.repair or case.is_paused_by_us or (case.pins.left and case.record)
    if policy.enabled or is_left:
        return None
    return without_action(Reason.NOT_ENABLED if policy.enabled is None else Reason.OPTED_OUT)


def crowded(case: Case) -> Plan | None:
    """It has more sources than one workload may have, or than its namespace has room for."""
    snapshot = case.snapshot
    if (snapshot.has_room and not snapshot.crowded) or not _needs_content(case):
        return None
    most = f"more than {limits.SOURCES.number}, or at more than {limits.USES.number} places"
    if not snapshot.has_room:
        most = (
            f"with those of the other workloads of its namespace more than "
            f"{limits.NAMESPACE_SOURCES.number}, or more than {limits.NAMESPACE_GLOBS.number} "
            "different globs"
        )
    return without_action(Reason.TOO_MANY_SOURCES, f": {most}; narrow its globs, or name fewer")


def unread(case: Case) -> Plan | None:
    """Its sources are still being read, and what has to be done depends on them."""
    if not case.comparison.unread or not _needs_content(case):
        return None
    names = several([str(reference.source) for reference in case.comparison.unread])
    return without_action(Reason.WAITING, f": {names}")


def _needs_content(case: Case) -> bool:
    repair = case.snapshot.policy.repair
    return repair.waits if repair else not is_pause_over(case)


def is_pause_over(case: Case) -> bool:
    """What was gathered rolls: its time has come, the pause was ended, or it opted out."""
    pause, snapshot = case.pause, case.snapshot
    if pause is None or pause.until is None:
        return False
    goes_on = snapshot.workload.still and snapshot.policy.enabled and case.now < pause.until
    return not goes_on


STANDING: tuple[Check, ...] = (ended, not_enabled, crowded, unread)
