"""A rollout that nobody judges and that does not get on: told, whatever kind it is of."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest
from tests.core.build import NOW
from tests.core.decide.histories import record_of, seen

from reroll.core.decide.actions import ReadPods
from reroll.core.decide.chains import decide
from reroll.core.decide.plan import Plan
from reroll.core.observe.diagnosis import Diagnosis, Fault
from reroll.core.observe.health import Health, State
from reroll.core.observe.snapshot import History, RolloutFacts
from reroll.core.tables.reasons import Reason

ROLLED = NOW - timedelta(hours=1)
UNDER_WAY = Health(
    State.GOES_ON, "1 of 3 pods are new", 3, 1, 2, replacing=True, complete_once=False
)


def looked(
    kind: str = "StatefulSet",
    health: Health = UNDER_WAY,
    diagnosis: Diagnosis | None = None,
    deadline: timedelta | None = None,
    **facts: Any,
) -> Plan:
    record = record_of("new", ROLLED, "ConfigChanged", "stamp")
    one = seen(record, written=ROLLED, kind=kind)
    pace = msgspec.structs.replace(one.policy.pace, deadline=deadline)
    policy = msgspec.structs.replace(one.policy, pace=pace)
    rollout = RolloutFacts(health, progressed_at=ROLLED, **facts)
    return decide(
        msgspec.structs.replace(one, policy=policy, rollout=rollout, diagnosis=diagnosis), NOW
    )


@pytest.mark.parametrize("kind", ["StatefulSet", "DaemonSet"])
def test_ten_minutes_without_progress_are_too_long_where_no_controller_gives_up(kind: str) -> None:
    unread = looked(kind)
    assert (unread.reason, unread.actions) == (Reason.UP_TO_DATE, (ReadPods(),))
    crash = Diagnosis(Fault.CONFIG, "pod web-2: CrashLoopBackOff (exit 1)")
    for found, reason in (
        (crash, Reason.FAILING),
        (Diagnosis(Fault.NONE, "pod web-2: not ready"), Reason.FAILING),
        (Diagnosis(Fault.ELSEWHERE, "pod web-2: Unschedulable"), Reason.STUCK),
    ):
        plan = looked(kind, diagnosis=found, read_at=NOW)
        assert (plan.reason, plan.actions) == (reason, ())
        again = NOW + timedelta(minutes=2) if reason is Reason.STUCK else None
        assert plan.late_at == again, "what is stuck may turn out to fail"
        assert found.why in plan.message
        assert UNDER_WAY.message in plan.message


def test_pods_of_what_is_stuck_are_read_again() -> None:
    stuck = Diagnosis(Fault.ELSEWHERE, "no pod has been made since the roll")
    plan = looked(diagnosis=stuck, read_at=NOW - timedelta(minutes=3))
    assert plan.actions == (ReadPods(),)


def test_a_roll_that_begins_is_looked_at_again_in_time() -> None:
    for kind, minutes in (("StatefulSet", 10), ("Deployment", None)):
        one = seen(record_of("old", ROLLED, "ConfigChanged", "stamp"), kind=kind)
        plan = decide(msgspec.structs.replace(one, history=History()), NOW)
        assert plan.reason is Reason.CONFIG_CHANGED
        assert plan.look_at is None, "a pipeline does not wait for it"
        assert plan.late_at == (NOW + timedelta(minutes=minutes) if minutes else None)


def test_it_is_looked_at_when_the_time_is_over_and_not_told_before() -> None:
    young = looked(deadline=timedelta(hours=2))
    assert (young.reason, young.late_at) == (Reason.UP_TO_DATE, ROLLED + timedelta(hours=2))
    assert looked("Deployment").late_at is None, "its own controller says so"
    late = looked("Deployment", deadline=timedelta(minutes=1))
    assert late.actions == (ReadPods(),), "a deadline counts for every kind"


@pytest.mark.parametrize(
    "other",
    [
        {"health": Health(State.DONE, "", 3, 3, 3)},
        {"health": Health(State.GOES_ON, "2 of 3 pods are ready", 3, 3, 2)},
        {"is_foreign": True},
    ],
    ids=["complete", "complete once", "another writer's"],
)
def test_what_is_no_rollout_of_ours_is_not_told(other: dict[str, Any]) -> None:
    plan = looked(diagnosis=Diagnosis(Fault.CONFIG, "x"), read_at=NOW, **other)
    assert (plan.reason, plan.actions) == (Reason.UP_TO_DATE, ())
