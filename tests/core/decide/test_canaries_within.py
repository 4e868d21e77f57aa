"""Canaries within a StatefulSet: its partition keeps the other pods, and is put back as it was."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest
from tests.core.build import KIND, NOW, content, snapshot
from tests.core.decide.test_canaries import ASKS, CRASHES, MADE, MANUAL
from tests.core.decide.test_decide_revisions import APP, LATER, ONE, TWO, pins, record

from reroll.core.decide.actions import (
    Edit,
    NamePins,
    Patch,
    Pin,
    Restart,
    SetMarks,
    SetPartition,
    StayOn,
    Unstick,
    WriteRecord,
)
from reroll.core.decide.chains import decide
from reroll.core.decide.plan import Effect, Plan
from reroll.core.model.canary import CanaryPolicy
from reroll.core.model.content import Content
from reroll.core.model.gates import Answer, GateReading, Phase
from reroll.core.model.pace import Pace, Parallel
from reroll.core.model.record import CanaryVerdict, Partition, Record
from reroll.core.model.timing import Hold
from reroll.core.observe.diagnosis import Diagnosis
from reroll.core.observe.health import Health, State
from reroll.core.observe.snapshot import CanaryFacts, RolloutFacts, Snapshot
from reroll.core.propagation.verdict import NO_PROGRESS
from reroll.core.revisions.pins import write_pins
from reroll.core.tables.kinds import Kind
from reroll.core.tables.reasons import Reason
from reroll.core.write.patches import patch, writes_template

SET = KIND["StatefulSet"]
THREE = content({"a": "3"}, LATER)
OLD, NEW = write_pins(pins(ONE)), write_pins(pins(TWO))


def seen(
    held: Content = TWO,
    last: Record | None = None,
    *,
    policy: Any = ASKS,
    kind: Kind = SET,
    rollout: RolloutFacts | None = None,
    diagnosis: Diagnosis | None = None,
    more: dict[str, Any] | None = None,
    **changes: Any,
) -> Snapshot:
    """A StatefulSet of three, which was pinned to the first content."""
    last = last or record({APP: ONE}, pins())
    canary = last.canary
    facts = None
    if canary and canary.within:
        facts = CanaryFacts(canary.of, MADE, rollout=rollout, diagnosis=diagnosis)
    text = changes.pop("text", canary.within.new if canary and canary.within else OLD)
    given = {"replicas": 3, "template_hash": b"t", "pins_text": text, **changes}
    given["pins"] = dict(pins(ONE if text == OLD else TWO)) if text else {}
    return snapshot(
        {APP: held}, last, kind=kind, policy=policy, changes=given, canary=facts,
        rollout=rollout, diagnosis=diagnosis, **(more or {}),
    )  # fmt: skip


def look(*args: Any, **more: Any) -> Plan:
    return decide(seen(*args, **more), NOW)


def edits(plan: Plan) -> list[Edit]:
    return [edit for one in plan.actions if isinstance(one, Patch) for edit in one.edits]


def partition(plan: Plan) -> tuple[int, int] | None:
    found = [edit for edit in edits(plan) if isinstance(edit, SetPartition)]
    return (found[0].was, found[0].to) if found else None


def pinned(plan: Plan) -> str | None:
    return next((edit.pins for edit in edits(plan) if isinstance(edit, Pin)), None)


def begun(held: Content = TWO, **more: Any) -> Record:
    found = look(held, **more).record
    assert found is not None
    return found


def staged(*args: Any, **more: Any) -> Plan:
    """A look while the canary runs."""
    last = more.pop("last", None) or begun()
    return look(*(args or (TWO,)), last=last, **{"partition": 2, **more})


def runs(state: State = State.DONE, **more: Any) -> RolloutFacts:
    is_done = state is State.DONE
    health = Health(state, "0 of 1 pods are new", total=3, updated=1, replacing=not is_done)
    since = MADE if is_done else None
    return RolloutFacts(health, since, progressed_at=MADE, **more)


SICK = {"rollout": runs(State.GOES_ON, read_at=NOW), "diagnosis": CRASHES}


def test_it_begins_with_the_new_copies_for_the_last_pods_and_the_record_says_how_it_was() -> None:
    plan = look()
    assert (plan.reason, plan.effect) == (Reason.ON_CANARY, Effect.HELD)
    assert plan.actions[0] == StayOn()
    assert plan.has(NamePins)
    assert [type(edit) for edit in edits(plan)] == [WriteRecord, Pin, SetPartition]
    assert (pinned(plan), partition(plan)) == (NEW, (0, 2))
    before, after = record({APP: ONE}, pins()), plan.record
    assert after is not None
    assert after.canary is not None
    assert after.canary.within == Partition(0, 2, b"t".hex(), OLD, NEW)
    assert (after.s, after.pins, after.at) == (before.s, before.pins, before.at)


@pytest.mark.parametrize(
    ("size", "replicas", "was", "to"),
    [
        (Parallel(1), 3, 0, 2),
        (Parallel(2), 3, 0, 1),
        (Parallel(5), 3, 0, 0),
        (Parallel(percent=10), 11, 0, 9),
        (Parallel(1), 3, 1, 2),
        (Parallel(2), 3, 2, 2),
    ],
)
def test_it_leaves_as_many_pods_as_were_not_asked_for_and_never_fewer_than_a_person_does(
    size: Parallel, replicas: int, was: int, to: int
) -> None:
    asks = msgspec.structs.replace(ASKS, canary=CanaryPolicy(size))
    plan = look(policy=asks, replicas=replicas, partition=was)
    assert partition(plan) == (was, to)


@pytest.mark.parametrize("spec", [{"replicas": 0}, {"partition": 3}])
def test_without_a_pod_that_could_try_it_there_is_none(spec: dict[str, int]) -> None:
    assert look(**spec).reason is Reason.CONFIG_CHANGED


def test_it_waits_for_a_rollout_that_a_partition_would_take_back_as_long_as_that_gets_on() -> None:
    half = Health(
        State.GOES_ON, "1 of 3 pods are new", 3, 1, 3, replacing=True, complete_once=False
    )
    waits = look(rollout=RolloutFacts(half, progressed_at=NOW))
    assert (waits.reason, waits.actions) == (Reason.ON_CANARY, ())
    assert waits.message.endswith("after the rollout that is under way: 1 of 3 pods are new")
    assert waits.look_at == NOW + NO_PROGRESS

    for facts in (
        RolloutFacts(half, progressed_at=NOW - NO_PROGRESS),
        RolloutFacts(Health(State.DONE, total=3, complete_once=False), progressed_at=NOW),
        RolloutFacts(Health(State.GOES_ON, "2 of 3 pods are ready", 3, 3, 2), progressed_at=NOW),
    ):
        assert partition(look(rollout=facts)) == (0, 2)


def test_once_healthy_the_partition_is_put_back_and_no_pod_of_it_is_replaced_again() -> None:
    for last in (begun(), begun(partition=1)):
        plan = staged(last=last, rollout=runs())
        assert last.canary is not None
        assert last.canary.within is not None
        assert plan.reason is Reason.CONFIG_CHANGED
        assert partition(plan) == (2, last.canary.within.was)
        assert pinned(plan) == NEW
        assert not any(isinstance(edit, SetMarks | Restart) for edit in edits(plan))
        assert plan.record is not None
        assert (plan.record.canary, plan.record.pins) == (None, NEW)


def test_it_goes_back_to_what_it_had_before_its_canary() -> None:
    plan = staged(rollout=runs(), more={"governed": True})
    assert plan.record is not None
    assert plan.record.good == OLD
    # Promoted while it is not healthy: that is what is on trial, and no excuse.
    last = begun()
    assert last.canary is not None
    last = msgspec.structs.replace(last, canary=msgspec.structs.replace(last.canary, v="promoted"))
    plan = staged(last=last, rollout=runs(State.GOES_ON), more={"governed": True})
    assert plan.record is not None
    assert plan.record.trial is not None
    assert not plan.record.trial.sick


def test_it_has_to_stay_healthy_for_the_soak_time_and_behind_its_gates() -> None:
    slow = msgspec.structs.replace(ASKS, pace=Pace(soak=timedelta(minutes=2)))
    plan = staged(policy=slow, rollout=runs())
    assert (plan.reason, plan.actions) == (Reason.ON_CANARY, ())
    assert plan.look_at == MADE + timedelta(minutes=2)

    gated = msgspec.structs.replace(ASKS, pace=Pace(gates=("errors",)))
    first = staged(policy=gated, rollout=runs(), more={"governed": True})
    assert (first.reason, first.asks) == (Reason.ON_CANARY, Phase.PROGRESSING)

    def said(answer: Answer, **more: Any) -> Reason:
        reading = GateReading("errors", answer, "5xx", NOW, NOW, **more)
        told = {"governed": True, "gates": (reading,)}
        return staged(policy=gated, rollout=runs(), more=told).reason

    assert said(Answer.CLOSED) is Reason.ON_CANARY
    assert said(Answer.CLOSED, failed=True) is Reason.STOPPED
    assert said(Answer.OPEN) is Reason.CONFIG_CHANGED


def test_a_sick_one_is_put_back_with_the_partition_and_its_pod_does_not_stay() -> None:
    plan = staged(**SICK)
    assert plan.reason is Reason.STOPPED
    assert (pinned(plan), partition(plan)) == (OLD, (2, 0))
    assert plan.record is not None
    verdict = plan.record.canary
    assert verdict is not None
    assert (verdict.v, verdict.within) == ("failed", None)
    assert plan.record.s == record({APP: ONE}, pins()).s
    then = look(last=plan.record, rollout=runs(State.GOES_ON))
    assert (then.reason, then.actions) == (Reason.STOPPED, (Unstick(),))
    assert "crash loop, exit code 1" in then.message
    assert look(last=plan.record, rollout=runs()).actions == ()


def test_a_further_change_is_tried_at_once_and_what_was_before_is_not_forgotten() -> None:
    last = begun(partition=1)
    plan = staged(THREE, last=last)
    assert (plan.reason, pinned(plan)) == (Reason.ON_CANARY, write_pins(pins(THREE)))
    assert plan.record is not None
    assert plan.record.canary is not None
    assert plan.record.canary.within == Partition(1, 2, b"t".hex(), OLD, write_pins(pins(THREE)))
    assert last.canary is not None
    assert plan.record.canary.of != last.canary.of


def test_a_content_that_comes_back_puts_it_back() -> None:
    back = msgspec.structs.replace(ONE, changed=LATER)
    plan = staged(back, rollout=runs())
    assert (plan.reason, pinned(plan), partition(plan)) == (Reason.ON_CANARY, OLD, (2, 0))
    assert plan.record is not None
    assert plan.record.canary is None
    assert look(back, last=plan.record).reason is Reason.UP_TO_DATE


def test_a_person_decides() -> None:
    waits = staged(policy=MANUAL, rollout=runs())
    assert (waits.reason, waits.actions) == (Reason.ON_CANARY, ())
    assert "reroll promote" in waits.message

    def said(word: str) -> Plan:
        last = begun()
        assert last.canary is not None
        last = msgspec.structs.replace(last, canary=msgspec.structs.replace(last.canary, v=word))
        return staged(policy=MANUAL, last=last, **SICK)

    assert (said("promoted").reason, partition(said("promoted"))) == (
        Reason.CONFIG_CHANGED,
        (2, 0),
    )
    aborted = said("aborted")
    assert (aborted.reason, pinned(aborted), partition(aborted)) == (Reason.STOPPED, OLD, (2, 0))


def test_who_moves_the_partition_has_decided_and_it_stays_there() -> None:
    plan = staged(partition=1, rollout=runs(State.GOES_ON))
    assert (plan.reason, partition(plan)) == (Reason.CONFIG_CHANGED, None)


@pytest.mark.parametrize("text", [OLD, None])
def test_who_takes_the_template_back_has_decided_and_the_partition_is_put_back(
    text: str | None,
) -> None:
    plan = staged(text=text, rollout=runs())
    assert (plan.reason, pinned(plan), partition(plan)) == (Reason.STOPPED, None, (2, 0))
    assert plan.record is not None
    assert plan.record.canary is not None
    assert plan.record.canary.v == "aborted"


def test_scaling_leaves_it_unless_no_pod_of_it_is_left() -> None:
    assert staged(replicas=5, rollout=runs(State.GOES_ON)).reason is Reason.ON_CANARY
    assert staged(replicas=5, rollout=runs(State.GOES_ON)).record is None
    fewer = staged(replicas=2)
    assert (fewer.reason, partition(fewer)) == (Reason.ON_CANARY, (2, 1))
    assert fewer.record is not None
    assert fewer.record.canary is not None
    assert fewer.record.canary.within is not None
    assert (fewer.record.canary.within.was, fewer.record.canary.within.to) == (0, 1)
    assert staged(replicas=0).reason is Reason.CONFIG_CHANGED


def test_what_keeps_it_from_rolling_puts_it_back_and_a_hold_leaves_everything_as_it_is() -> None:
    closed = msgspec.structs.replace(ASKS, pace=Pace(cooldown=timedelta(hours=1)))
    last = begun()
    cooling = staged(policy=closed, last=msgspec.structs.replace(last, rolled=NOW), rollout=runs())
    assert (cooling.reason, pinned(cooling), partition(cooling)) == (
        Reason.COOLING_DOWN,
        OLD,
        (2, 0),
    )
    assert cooling.effect is Effect.HELD
    held = msgspec.structs.replace(ASKS, hold=Hold(why="maintenance"))
    assert (staged(policy=held, **SICK).reason, staged(policy=held, **SICK).actions) == (
        Reason.HELD,
        (),
    )


@pytest.mark.parametrize(
    "changes",
    [{"enabled": False}, {"enabled": None}, {"revisions": False}, {"canary": CanaryPolicy()}],
)
def test_whoever_opts_out_has_the_partition_as_it_was(changes: dict[str, Any]) -> None:
    plan = staged(policy=msgspec.structs.replace(ASKS, **changes), rollout=runs())
    assert partition(plan) == (2, 0)
    assert plan.record is not None
    assert plan.record.canary is None


def test_one_that_is_out_and_lost_its_pins_has_its_partition_as_it_was() -> None:
    out = msgspec.structs.replace(ASKS, enabled=False)
    plan = staged(policy=out, text=None)
    assert (pinned(plan), partition(plan)) == (None, (2, 0))


def test_what_has_no_copy_is_rolled_without_one() -> None:
    plain = msgspec.structs.replace(TWO, unpinned=True)
    last = record({APP: ONE}, {})
    assert look(plain, last, text=None).reason is Reason.CONFIG_CHANGED


def test_on_delete_has_none_and_says_so() -> None:
    plan = look(replaces_pods=False)
    assert plan.reason is not Reason.ON_CANARY
    assert any("OnDelete" in one.sentence for one in plan.problems)


def test_the_partition_is_written_only_over_the_one_that_was_decided_on() -> None:
    before = seen().workload
    operations = patch(before, SET, (SetPartition(0, 2),))
    path = "/spec/updateStrategy/rollingUpdate/partition"
    assert operations == [
        {"op": "test", "path": path, "value": 0},
        {"op": "add", "path": path, "value": 2},
    ]
    assert writes_template(SET, operations)
    assert patch(before, SET, (SetPartition(2, 2),)) == []


def test_a_verdict_keeps_what_has_to_be_put_back_over_a_restart() -> None:
    verdict = CanaryVerdict("of", "", NOW, within=Partition(1, 2, "t", OLD, NEW))
    assert msgspec.json.decode(msgspec.json.encode(verdict), type=CanaryVerdict) == verdict
