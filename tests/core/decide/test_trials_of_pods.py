"""Rolls that go from pod to pod, as trials: `evict` and `reload` leave the template as it is."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest
from tests.core.build import EAGER, NOW
from tests.core.decide.test_decide_revisions import APP, ONE, POLICY, TWO, Pins, pins, written
from tests.core.decide.trial_cases import (
    A_MINUTE,
    BACK,
    ENTRY,
    FAILED,
    GOES_ON,
    OVER,
    READ,
    looked,
    tried,
)

from reroll.core.decide.actions import Evict, ReadPods, Reload
from reroll.core.decide.plan import Plan
from reroll.core.model.record import Record, Todo, Trial
from reroll.core.observe.diagnosis import Diagnosis, Fault
from reroll.core.observe.snapshot import RolloutFacts
from reroll.core.tables.kinds import Strategy
from reroll.core.tables.reasons import Reason

STRATEGIES = {"evict": Strategy.EVICT, "reload": Strategy.RELOAD}
WORK = {"evict": Evict, "reload": Reload}
BEGAN = NOW - A_MINUTE
CRASHES = Diagnosis(Fault.CONFIG, "pod web-1: CrashLoopBackOff (exit 1)")
for_both = pytest.mark.parametrize("do", STRATEGIES)


def begun(do: str, trial: Trial, template: Pins | None = None, **more: Any) -> Record:
    """It is a minute after the roll, and not all of its pods have the change."""
    made = tried(trial, todo=Todo(do, BEGAN), how=do, **more)
    return made if template else msgspec.structs.replace(made, pins=None, good=None)


def look(do: str, last: Record, template: Pins | None = None, **more: Any) -> Plan:
    policy = msgspec.structs.replace(POLICY if template else EAGER, strategy=STRATEGIES[do])
    return looked({APP: TWO}, last, template, policy=policy, **more)


@for_both
def test_it_goes_on_while_its_pods_are_well(do: str) -> None:
    plan = look(do, begun(do, Trial([ENTRY])), rollout=OVER)
    assert plan.reason is Reason.CONTINUED
    assert isinstance(plan.actions[0], WORK[do])
    assert plan.look_at is not None, "nobody would see that it does not get on"


@for_both
def test_a_pod_that_fails_with_the_change_is_the_verdict_though_others_are_left(do: str) -> None:
    late = look(do, begun(do, Trial([ENTRY])), rollout=RolloutFacts(GOES_ON))
    assert late.actions == (ReadPods(),)
    plan = look(do, begun(do, Trial([ENTRY])), rollout=READ, diagnosis=CRASHES)
    assert plan.reason is Reason.FAILING
    assert plan.record is not None
    assert plan.record.trial is not None
    assert (plan.record.trial.v, plan.record.trial.why) == ("failed", CRASHES.why)
    assert plan.record.todo is not None


@for_both
def test_without_revisions_it_goes_no_further_and_says_why_not_back(do: str) -> None:
    plan = look(do, begun(do, FAILED), rollout=READ, diagnosis=CRASHES)
    assert (plan.reason, plan.record) == (Reason.ROLLBACK_FAILED, None)
    why = f"no way back: strategy '{do}' leaves its template as it is; use the strategy 'stamp'"
    assert why in plan.message


def test_pods_that_take_a_new_template_when_they_are_evicted_go_back_with_revisions() -> None:
    do, on_delete = "evict", {"replaces_pods": False}
    without = look(do, begun(do, FAILED), rollout=READ, diagnosis=CRASHES, changes=on_delete)
    assert "turn its revisions on" in without.message
    last = begun(do, FAILED, pins(TWO))
    plan = look(do, last, pins(TWO), rollout=READ, diagnosis=CRASHES, changes=on_delete)
    assert plan.reason is Reason.ROLLED_BACK
    assert written(plan) == (pins(ONE), pins(TWO))
    assert plan.record is not None
    assert plan.record.todo == Todo(do, NOW)
    then = look(do, plan.record, pins(ONE), rollout=OVER, changes=on_delete)
    assert then.reason is Reason.CONTINUED


@for_both
def test_one_that_is_well_again_goes_on(do: str) -> None:
    plan = look(do, begun(do, FAILED), rollout=OVER)
    assert plan.reason is Reason.CONTINUED


@for_both
def test_one_that_does_not_get_on_is_stuck_at_its_deadline_and_tries_on(do: str) -> None:
    """As where a disruption budget allows no eviction, or a pod refuses to reload."""
    last = begun(do, Trial([ENTRY]), rolled=NOW - timedelta(minutes=12))
    plan = look(do, last, rollout=OVER)
    assert plan.reason is Reason.STUCK
    assert plan.record is not None
    assert plan.record.todo is not None
    assert look(do, plan.record, rollout=OVER).reason is Reason.CONTINUED
    done = msgspec.structs.replace(plan.record, todo=None)
    assert look(do, done, rollout=OVER).reason is Reason.HEALTHY


def test_a_reload_has_the_time_that_files_take_to_arrive() -> None:
    pace = msgspec.structs.replace(BACK, deadline=timedelta(seconds=30))
    last = begun("reload", Trial([ENTRY]))
    assert look("reload", last, rollout=OVER, pace=pace).reason is Reason.CONTINUED
    last = begun("reload", Trial([ENTRY]), rolled=NOW - timedelta(minutes=2))
    assert look("reload", last, rollout=OVER, pace=pace).reason is Reason.STUCK
