"""A workload that was taken back: where it stays, and what moves it."""

from datetime import timedelta

import msgspec
import pytest
from tests.core import build
from tests.core.build import KIND, NOW, content
from tests.core.decide.test_decide_revisions import (
    APP,
    DB,
    DB_ONE,
    LATER,
    ONE,
    POLICY,
    TWO,
    pins,
    record,
    seen,
    written,
)
from tests.core.decide.trial_cases import (
    A_MINUTE,
    BACK,
    ENTRY,
    FAILED,
    GONE_BACK,
    OTHER,
    SECRET,
    THREE,
    UNDER_WAY,
    looked,
    taken_back,
    tried,
)

from reroll.core.decide.actions import ReadPods, Unstick
from reroll.core.decide.pin_state import released
from reroll.core.model.pace import Limits, Pace, Rolls
from reroll.core.model.record import BY_HAND, Burst, Trial
from reroll.core.observe.compare import compare
from reroll.core.observe.diagnosis import Diagnosis, Fault
from reroll.core.observe.health import Health, State
from reroll.core.observe.snapshot import RolloutFacts
from reroll.core.observe.spread import Spread, Traffic
from reroll.core.propagation.member import Stage, members
from reroll.core.revisions.pins import write_pins
from reroll.core.tables.reasons import Reason

# Once it is back


def test_it_stays_there_and_says_so() -> None:
    plan = looked({APP: TWO}, taken_back(), pins(ONE))
    assert (plan.reason, plan.actions) == (Reason.ROLLED_BACK, ())
    assert "configmap/app; pod web-1: CrashLoopBackOff" in plan.message


def test_a_template_that_lost_its_pins_gets_the_good_ones_and_then_stays() -> None:
    plan = looked({APP: TWO}, taken_back(), None)
    assert (plan.reason, written(plan)) == (Reason.PINNED, (pins(ONE), pins(TWO)))
    assert plan.record is not None
    assert plan.record.held is not None
    assert plan.record.trial == msgspec.structs.replace(GONE_BACK, back=NOW, b="")
    assert looked({APP: TWO}, plan.record, pins(ONE)).reason is Reason.ROLLED_BACK
    contested = looked({APP: TWO}, plan.record, None)
    assert contested.reason is Reason.PINS_REMOVED


def test_a_change_of_another_source_does_not_bring_what_failed_back_in() -> None:
    new = content({"p": "y"}, LATER)
    last = taken_back(held={APP: TWO, DB: DB_ONE}, good=pins(ONE, DB_ONE))
    plan = looked({APP: TWO, DB: new}, last, pins(ONE, DB_ONE))
    assert plan.reason is Reason.CONFIG_CHANGED
    assert written(plan) == (pins(ONE, new), pins(TWO, new))
    after = plan.record
    assert after is not None
    assert after.trial == Trial([SECRET], past=[ENTRY])
    assert after.held is not None

    look = seen({APP: TWO, DB: new}, after, pins(ONE, new), policy=POLICY, governed=True)
    found = members(look, compare(look), blocked=False)
    assert (found[APP.source].stage, found[APP.source].stops) == (Stage.FAILED, True)
    healthy = looked({APP: TWO, DB: new}, after, pins(ONE, new))
    assert (healthy.reason, healthy.record and healthy.record.held) == (Reason.HEALTHY, after.held)
    assert healthy.record is not None
    then = looked({APP: TWO, DB: new}, healthy.record, pins(ONE, new))
    assert then.reason is Reason.ROLLED_BACK
    assert written(looked({APP: TWO, DB: new}, healthy.record, None)) == (
        pins(ONE, new), pins(TWO, new),
    )  # fmt: skip


def test_what_a_person_moved_is_left_alone_though_its_old_verdict_comes_back() -> None:
    left = taken_back()
    there = msgspec.structs.replace(tried(FAILED), n=left.n - 1)
    plan = looked({APP: TWO}, there, pins(TWO), changes={"last": left, "reverted": True})
    assert plan.reason is Reason.UNDONE
    assert plan.record is not None
    assert plan.record.trial is not None
    assert (plan.record.trial.b, plan.record.held) == (BY_HAND, None)
    assert looked({APP: TWO}, plan.record, pins(TWO)).reason is Reason.UP_TO_DATE


@pytest.mark.parametrize("b", ["failed", "stuck"])
def test_a_rollback_that_is_sick_too_is_the_last_try(b: str) -> None:
    trial = msgspec.structs.replace(GONE_BACK, b="")
    sick = RolloutFacts(Health(State.FAILED, "it gave up"), failed_since=NOW, read_at=NOW)
    fault = Fault.CONFIG if b == "failed" else Fault.ELSEWHERE
    plan = looked(
        {APP: TWO}, taken_back(trial), pins(ONE), rollout=sick, diagnosis=Diagnosis(fault, "worse")
    )
    assert plan.reason is Reason.ROLLBACK_FAILED
    assert plan.record is not None
    assert plan.record.trial is not None
    assert (plan.record.trial.b, build.pins(plan)) == (b, None)
    assert "taken back: worse" in plan.record.trial.why
    after = looked({APP: TWO}, plan.record, pins(ONE), rollout=sick)
    assert (after.reason, build.pins(after)) == (Reason.ROLLBACK_FAILED, None)
    well = looked({APP: TWO}, plan.record, pins(ONE))
    assert well.record is not None
    assert well.record.trial is not None
    assert (well.reason, well.record.trial.b) == (Reason.ROLLED_BACK, "healthy")


def test_pods_that_are_in_the_way_of_a_statefulset_are_removed() -> None:
    trial = msgspec.structs.replace(GONE_BACK, b="")
    for name, expected in {"StatefulSet": [Unstick], "Deployment": []}.items():
        plan = looked(
            {APP: TWO}, taken_back(trial, rolled=NOW), pins(ONE), kind=KIND[name],
            rollout=msgspec.structs.replace(UNDER_WAY, read_at=NOW),
        )  # fmt: skip
        assert [type(action) for action in plan.actions] == expected
    forward = {"kind": KIND["StatefulSet"], "rollout": UNDER_WAY}
    late = looked({APP: TWO}, tried(Trial([ENTRY])), pins(TWO), **forward)
    assert [type(action) for action in late.actions] == [ReadPods]


def test_a_release_is_a_trial_of_its_own_that_no_other_workload_ends() -> None:
    again = released(taken_back(), NOW)
    spread = Spread(APP.source, stopped_by=OTHER, why="it crashes", is_definite=True)
    plan = looked({APP: TWO}, again, pins(ONE), spreads=(spread,))
    assert plan.reason is Reason.RELEASED
    assert written(plan) == (pins(TWO), pins(TWO))
    after = plan.record
    assert after is not None
    assert after.trial == Trial([ENTRY], why=FAILED.why, was="failed")
    assert after.good == write_pins(pins(ONE))
    then = looked({APP: TWO}, after, pins(TWO), spreads=(spread,), rollout=UNDER_WAY)
    assert then.reason is Reason.UP_TO_DATE
    failed = msgspec.structs.replace(
        after, trial=msgspec.structs.replace(FAILED, was="failed"), rolled=NOW - A_MINUTE
    )
    assert looked({APP: TWO}, failed, pins(TWO)).reason is Reason.ROLLED_BACK


# Beside the breaker and the cooldown


def test_a_failure_goes_back_though_its_source_keeps_changing() -> None:
    pace = msgspec.structs.replace(BACK, max_rolls=Rolls(3, A_MINUTE))
    last = msgspec.structs.replace(tried(FAILED), burst=Burst(3, NOW - timedelta(seconds=30)))
    plan = looked({APP: THREE}, last, pins(TWO), pace=pace, quiet_since=NOW)
    assert plan.reason is Reason.ROLLED_BACK
    assert written(plan) == (pins(ONE), pins(TWO))


def test_a_cooldown_delays_a_roll_and_no_repair() -> None:
    pace = Pace(cooldown=timedelta(hours=1))
    last = record({APP: ONE}, pins(ONE), rolled=NOW - A_MINUTE)
    plan = looked({APP: TWO}, last, pins(ONE), pace=pace)
    assert (plan.reason, plan.look_at) == (Reason.COOLING_DOWN, NOW + timedelta(minutes=59))
    assert looked({APP: THREE}, tried(FAILED), pins(TWO), pace=pace).reason is (
        Reason.CONFIG_CHANGED
    )
    assert looked({APP: THREE}, taken_back(), pins(ONE), pace=pace).reason is Reason.COOLING_DOWN


def test_one_that_waits_for_its_turn_is_looked_at_after_the_verdict_on_going_back() -> None:
    """Else nothing would wake it: its turn may have come while that was written."""
    trial, busy = msgspec.structs.replace(GONE_BACK, b=""), Traffic(Limits(cluster=1), cluster=1)
    plan = looked({APP: THREE}, taken_back(trial), pins(ONE), traffic=busy)
    assert (plan.reason, plan.look_at) == (Reason.ROLLED_BACK, NOW)
    assert plan.record is not None
    then = looked({APP: THREE}, plan.record, pins(ONE), traffic=busy)
    assert then.reason is Reason.CROWDED


def test_a_deploy_by_another_writer_is_no_failure_of_the_way_back() -> None:
    facts = RolloutFacts(Health(State.FAILED, "it gave up"), is_foreign=True, read_at=NOW)
    last = taken_back(msgspec.structs.replace(GONE_BACK, b=""))
    plan = looked({APP: TWO}, last, pins(ONE), rollout=facts)
    assert plan.reason is Reason.ROLLED_BACK
    assert "another writer changed its template" in plan.message
    assert plan.record is not None
    assert looked({APP: TWO}, plan.record, pins(ONE), rollout=facts).reason is Reason.ROLLED_BACK
