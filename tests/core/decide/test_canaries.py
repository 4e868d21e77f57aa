"""Canaries: a few pods try what a Deployment would roll with, and are judged."""

from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest
from tests.core.build import KIND, NOW
from tests.core.decide.test_decide_revisions import APP, ONE, POLICY, TWO, name, pins, record, seen

from reroll.core.decide.actions import (
    MakeCanary,
    MakeCopies,
    NamePins,
    NoteCanary,
    Patch,
    ReadCanaryPods,
    RemoveCanary,
    StayOn,
    with_names,
)
from reroll.core.decide.chains import decide
from reroll.core.decide.plan import Effect, Plan
from reroll.core.model.canary import CanaryPolicy, canary_name, pods_of
from reroll.core.model.content import Content
from reroll.core.model.gates import Answer, GateReading, Phase
from reroll.core.model.pace import Pace, Parallel
from reroll.core.model.record import CanaryVerdict
from reroll.core.observe.diagnosis import Diagnosis, Fault
from reroll.core.observe.health import Health, State
from reroll.core.observe.snapshot import CanaryFacts, RolloutFacts
from reroll.core.revisions.pins import write_pins
from reroll.core.tables.reasons import Reason

ASKS = msgspec.structs.replace(POLICY, canary=CanaryPolicy(Parallel(1)))
MANUAL = msgspec.structs.replace(POLICY, canary=CanaryPolicy(Parallel(1), manual=True))
MADE = NOW - timedelta(minutes=1)


def look(held: Content = TWO, *, policy: Any = ASKS, last: Any = None, **more: Any) -> Plan:
    before = last or record({APP: ONE}, pins())
    return decide(seen({APP: held}, before, pins(), policy=policy, **more), NOW)


def tried(held: Content = TWO, **more: Any) -> str:
    (found,) = [one for one in look(held, **more).actions if isinstance(one, MakeCanary)]
    return found.of


def facts(
    state: State = State.DONE,
    since: datetime | None = MADE,
    diagnosis: Diagnosis | None = None,
    **more: Any,
) -> CanaryFacts:
    health = Health(
        state, "0 of 1 pods are ready", total=1, updated=1, ready=int(state is State.DONE)
    )
    rollout = RolloutFacts(health, since, progressed_at=MADE, read_at=NOW if diagnosis else None)
    return CanaryFacts(
        of=more.pop("of", tried()), made=MADE, rollout=rollout, diagnosis=diagnosis, **more
    )


CRASHES = Diagnosis(Fault.CONFIG, "web-canary: crash loop, exit code 1")


def test_first_comes_a_canary_with_the_new_copies_and_nothing_is_written_to_the_workload() -> None:
    plan = look()
    text = write_pins(pins(TWO))
    assert (plan.reason, plan.effect) == (Reason.ON_CANARY, Effect.HELD)
    stays, copies, names, canary = plan.actions
    assert stays == StayOn()
    assert copies == MakeCopies(((APP.source, name(APP, TWO)),))
    assert names == NamePins(text)
    assert isinstance(canary, MakeCanary)
    assert (canary.pins, canary.size, canary.named) == (text, Parallel(1), False)
    (named,) = with_names((canary,), (), named=True)
    assert isinstance(named, MakeCanary)
    assert named.named


def test_a_healthy_canary_lets_it_roll() -> None:
    plan = look(canary=facts())
    assert plan.reason is Reason.CONFIG_CHANGED
    assert plan.record is not None
    assert plan.record.canary is None


def test_it_has_to_stay_healthy_for_the_soak_time() -> None:
    slow = msgspec.structs.replace(ASKS, pace=Pace(soak=timedelta(minutes=2)))
    plan = look(policy=slow, canary=facts())
    assert (plan.reason, plan.actions) == (Reason.ON_CANARY, ())
    assert plan.look_at == MADE + timedelta(minutes=2)


def test_it_soaks_behind_its_gates_which_were_open_before_it_began() -> None:
    gated = msgspec.structs.replace(ASKS, pace=Pace(gates=("errors",)))

    def said(answer: Answer | None, canary: CanaryFacts | None, **more: Any) -> Plan:
        reading = GateReading("errors", answer, "5xx", NOW, NOW, **more)
        return look(policy=gated, canary=canary, governed=True, gates=(reading,))

    assert said(Answer.CLOSED, None).reason is Reason.GATE_CLOSED
    assert said(Answer.OPEN, None).has(MakeCanary)
    for answer in (None, Answer.CLOSED):
        plan = said(answer, facts())
        assert (plan.reason, plan.asks) == (Reason.ON_CANARY, Phase.PROGRESSING)
    assert said(Answer.CLOSED, facts(), failed=True).reason is Reason.STOPPED
    assert said(Answer.OPEN, facts()).reason is Reason.CONFIG_CHANGED


def test_it_begins_when_its_turn_comes() -> None:
    later = NOW + timedelta(seconds=1)
    plan = look(turn_at=later)
    assert (plan.reason, plan.actions, plan.look_at) == (Reason.PACED, (), later)


def test_a_sick_canary_stops_it_and_the_record_says_why() -> None:
    first = look(canary=facts(State.GOES_ON, None, CRASHES))
    assert first.reason is Reason.STOPPED
    assert [type(one) for one in first.actions] == [NoteCanary]
    assert first.record is not None
    assert first.record.s == record({APP: ONE}, pins()).s
    for canary in (None, facts(State.GOES_ON, None, CRASHES)):
        then = look(last=first.record, canary=canary)
        assert (then.reason, then.actions) == (Reason.STOPPED, ())
        assert "crash loop, exit code 1" in then.message


def test_another_change_makes_the_verdict_void_and_has_a_canary_of_its_own() -> None:
    failed = look(canary=facts(State.GOES_ON, None, CRASHES)).record
    three = msgspec.structs.replace(TWO, digests={"": {"a": b"3" * 16}})
    assert look(three, last=failed).reason is Reason.ON_CANARY
    left = look(three, last=failed, canary=facts())
    assert (left.reason, left.actions) == (Reason.ON_CANARY, (RemoveCanary(),))
    going = look(three, last=failed, canary=facts(is_going=True))
    assert (going.reason, going.actions) == (Reason.ON_CANARY, ())


def test_a_template_that_somebody_changed_is_tried_anew_and_scaling_is_no_change() -> None:
    upgraded = {"template_hash": b"other"}
    assert look(canary=facts(), changes=upgraded).actions == (RemoveCanary(),)
    scaled = look(canary=facts(), changes={"generation": 9})
    assert scaled.reason is Reason.CONFIG_CHANGED


def test_what_is_not_the_fault_of_the_configuration_is_waited_for() -> None:
    quota = Diagnosis(Fault.ELSEWHERE, "exceeded quota")
    plan = look(canary=facts(State.GOES_ON, None, quota))
    assert plan.reason is Reason.ON_CANARY
    assert plan.look_at is not None
    assert "exceeded quota" in plan.message
    assert not plan.has(Patch)


def test_the_pods_of_a_late_canary_are_read() -> None:
    plan = look(canary=facts(State.GOES_ON, None))
    assert plan.actions == (ReadCanaryPods(),)


def test_a_person_decides() -> None:
    waits = look(policy=MANUAL, canary=facts())
    assert (waits.reason, waits.actions) == (Reason.ON_CANARY, ())
    assert "reroll promote" in waits.message
    before = record({APP: ONE}, pins())

    def said(word: str) -> Reason:
        verdict = CanaryVerdict(tried(), word, NOW, "by alice")
        last = msgspec.structs.replace(before, canary=verdict)
        return look(policy=MANUAL, last=last, canary=facts()).reason

    assert said("promoted") is Reason.CONFIG_CHANGED
    assert said("aborted") is Reason.STOPPED


@pytest.mark.parametrize("kind", ["DaemonSet", "CronJob", "Rollout"])
def test_a_kind_without_canaries_rolls_and_says_so(kind: str) -> None:
    plan = look(kind=KIND[kind])
    assert plan.reason is Reason.CONFIG_CHANGED
    (problem,) = plan.problems
    assert KIND[kind].no_canary in problem.sentence


def test_without_revisions_it_rolls_and_says_so() -> None:
    plain = msgspec.structs.replace(ASKS, revisions=False)
    plan = decide(seen({APP: TWO}, record({APP: ONE}, None), policy=plain), NOW)
    assert plan.reason is Reason.CONFIG_CHANGED
    assert "it has no revisions" in plan.problems[0].sentence


def test_how_many_pods_it_has() -> None:
    assert [pods_of(Parallel(2), n) for n in (0, 1, 50)] == [0, 2, 2]
    assert [pods_of(Parallel(percent=10), n) for n in (0, 1, 10, 11, 50)] == [0, 1, 1, 2, 5]
    assert len(canary_name("w" * 253)) == 253
