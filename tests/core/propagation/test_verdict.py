"""Verdicts: rules by example, and what holds of all evidence."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reroll.core.observe.diagnosis import Diagnosis, Fault
from reroll.core.observe.health import Health, State
from reroll.core.propagation.verdict import (
    LATE,
    NO_PROGRESS,
    RARELY,
    UNREADABLE_PODS,
    Evidence,
    Judgement,
    Verdict,
    judge,
)

ROLLED = datetime(2030, 1, 1, 12, tzinfo=UTC)
GAVE_UP = 'ProgressDeadlineExceeded: ReplicaSet "web-6d4" has timed out progressing.'
DONE = Health(State.DONE, total=3, updated=3, ready=3)
GOES_ON = Health(State.GOES_ON, "1 of 3 pods are new", 3, 1, 2, replacing=True)
SCALED = Health(State.GOES_ON, "3 of 5 pods are ready", 5, 5, 3)
FAILED = Health(State.FAILED, GAVE_UP, 3, 1, 2)
CRASHES = Diagnosis(Fault.CONFIG, "pod web-1: container main: CrashLoopBackOff (exit 3)")
NO_IMAGE = Diagnosis(Fault.ELSEWHERE, "pod web-1: container main: ErrImagePull")
UNREADY = Diagnosis(Fault.NONE, "pod web-1: not ready")
READY = Diagnosis(Fault.NONE, all_ready=True)


def at(seconds: float) -> datetime:
    return ROLLED + timedelta(seconds=seconds)


def judged(health: Health | None, now: float, **more: Any) -> Judgement:
    """Numbers are seconds: times since the roll, or how long."""
    times = ("done_since", "failed_since", "progressed_at", "read_at", "grew_at")
    given = {
        name: at(value) if name in times else timedelta(seconds=value)
        if isinstance(value, int) and not isinstance(value, bool) else value
        for name, value in more.items()
    }  # fmt: skip
    return judge(Evidence(ROLLED, health, **given), at(now))


# Done


@pytest.mark.parametrize(
    ("now", "evidence", "verdict"),
    [
        (5, {"done_since": 5}, Verdict.HEALTHY),
        (5, {}, Verdict.HEALTHY),
        (124, {"done_since": 5, "soak": 120}, None),
        (125, {"done_since": 5, "soak": 120}, Verdict.HEALTHY),
        (5, {"soak": 120}, None),
        # It was sick before, and is not any more.
        (900, {"done_since": 700, "diagnosis": CRASHES, "read_at": 600}, Verdict.HEALTHY),
        (900, {"done_since": 880, "soak": 60, "deadline": 600}, None),
    ],
)
def test_done_for_its_soak_time_is_healthy(
    now: int, evidence: dict[str, Any], verdict: Verdict | None
) -> None:
    judgement = judged(DONE, now, **evidence)
    assert judgement.verdict == verdict
    assert not judgement.needs_pods


def test_while_it_soaks_its_end_is_told() -> None:
    judgement = judged(DONE, 60, done_since=5, soak=120)
    assert (judgement.look_at, "12:02:05 UTC" in judgement.why) == (at(125), True)


# Under way


def test_pods_are_read_when_it_is_late_and_then_more_and_more_rarely() -> None:
    read: list[float] = []
    now, evidence = ROLLED, Evidence(ROLLED, GOES_ON, gives_up=True)
    while now < at(800):
        judgement = judge(evidence, now)
        assert judgement.verdict is None
        if judgement.needs_pods:
            read.append((now - ROLLED).total_seconds())
            changes: dict[str, Any] = {"diagnosis": UNREADY, "read_at": now}
            evidence = Evidence(ROLLED, GOES_ON, gives_up=True, **changes)
            continue
        assert judgement.look_at
        now = judgement.look_at
    assert read == [15, 30, 60, 120, 240, 360, 480, 600, 720]


def test_a_definite_failure_counts_at_once() -> None:
    judgement = judged(GOES_ON, 16, diagnosis=CRASHES, read_at=16, deadline=600)
    assert judgement == Judgement(Verdict.FAILED, CRASHES.why)


@pytest.mark.parametrize("diagnosis", [NO_IMAGE, UNREADY, READY])
def test_anything_else_waits_for_the_deadline(diagnosis: Diagnosis) -> None:
    judgement = judged(GOES_ON, 598, diagnosis=diagnosis, read_at=590, deadline=600)
    assert (judgement.verdict, judgement.look_at) == (None, at(600))
    assert judgement.why.endswith("1 of 3 pods are new")


DEADLINES: dict[str, tuple[Health, dict[str, Any], float]] = {
    "asked for: from the roll": (GOES_ON, {"deadline": 60, "progressed_at": 50}, 60),
    "asked for, and the controller has one": (GOES_ON, {"deadline": 60, "gives_up": True}, 60),
    "usual": (GOES_ON, {}, 600),
    "usual: from the last progress": (GOES_ON, {"progressed_at": 300}, 900),
    "progress of an earlier rollout": (GOES_ON, {"progressed_at": -300}, 600),
    "the controller gave up": (FAILED, {"failed_since": 77, "deadline": 600}, 77),
    "it gave up on the rollout before": (
        msgspec.structs.replace(FAILED, patience=60),
        {"failed_since": 1},
        60,
    ),
    "it gave up after its own deadline": (
        msgspec.structs.replace(FAILED, patience=60),
        {"failed_since": 77},
        77,
    ),
    "scaled while it soaks": (
        SCALED,
        {"done_since": 30, "soak": 900, "deadline": 60, "progressed_at": 300, "gives_up": True},
        360,
    ),
    "scaled, nothing asked for": (SCALED, {"done_since": 30, "progressed_at": 300}, 900),
}


@pytest.mark.parametrize(("health", "evidence", "due"), DEADLINES.values(), ids=DEADLINES)
def test_pods_decide_when_the_deadline_is_over(
    health: Health, evidence: dict[str, Any], due: int
) -> None:
    before = judged(health, due - 1, diagnosis=UNREADY, read_at=due - 1, **evidence)
    if health.state is not State.FAILED:
        assert (before.verdict, before.needs_pods) == (None, False)
    old = judged(health, due, diagnosis=UNREADY, read_at=due - 1, **evidence)
    assert (old.verdict, old.needs_pods) == (None, True)

    outcomes = {UNREADY: Verdict.FAILED, NO_IMAGE: Verdict.STUCK, READY: Verdict.STUCK}
    for diagnosis, verdict in outcomes.items():
        judgement = judged(health, due, diagnosis=diagnosis, read_at=due, **evidence)
        assert (judgement.verdict, judgement.needs_pods) == (verdict, False)
        assert health.message in judgement.why


def test_pods_that_are_wanted_late_have_the_whole_time() -> None:
    more = {"deadline": 60, "diagnosis": UNREADY, "grew_at": 500}
    assert judged(GOES_ON, 559, read_at=559, **more).verdict is None
    assert judged(GOES_ON, 560, read_at=560, **more).verdict is Verdict.FAILED


def test_a_controller_with_a_deadline_of_its_own_is_waited_for_an_hour_at_most() -> None:
    judgement = judged(GOES_ON, 3590, gives_up=True, diagnosis=UNREADY, read_at=3580)
    assert (judgement.verdict, judgement.look_at) == (None, at(3600))
    end = judged(GOES_ON, 3600, gives_up=True, diagnosis=UNREADY, read_at=3600)
    assert end.verdict is Verdict.FAILED


def test_what_is_stuck_is_looked_at_again() -> None:
    stuck = judged(GOES_ON, 610, diagnosis=NO_IMAGE, read_at=600)
    assert (stuck.verdict, stuck.look_at, stuck.needs_pods) == (Verdict.STUCK, at(720), False)
    later = judged(GOES_ON, 720, diagnosis=NO_IMAGE, read_at=600)
    assert (later.verdict, later.needs_pods) == (Verdict.STUCK, True)
    assert judged(GOES_ON, 721, diagnosis=CRASHES, read_at=720).verdict is Verdict.FAILED
    assert judged(DONE, 800, done_since=790).verdict is Verdict.HEALTHY


@pytest.mark.parametrize("health", [GOES_ON, FAILED])
def test_pods_that_may_not_be_read_make_no_verdict(health: Health) -> None:
    judgement = judged(health, 1210, read_at=1200)
    assert (judgement.verdict, judgement.needs_pods) == (None, False)
    assert (judgement.look_at, UNREADABLE_PODS in judgement.why) == (at(1320), True)


def test_a_workload_of_which_nothing_is_known_is_not_judged() -> None:
    judgement = judged(None, 7200, diagnosis=CRASHES, read_at=7200)
    assert (judgement.verdict, judgement.look_at) == (None, at(7215))


# What holds of all evidence

seconds = st.integers(0, 3 * 3600)
moments = seconds.map(at)
durations = seconds.map(lambda number: timedelta(seconds=number))
healths = st.sampled_from([None, DONE, GOES_ON, SCALED, FAILED])
diagnoses = st.sampled_from([CRASHES, NO_IMAGE, UNREADY, READY])


@st.composite
def cases(draw: st.DrawFn) -> tuple[Evidence, datetime]:
    """Evidence of up to a moment, and that moment."""
    now = draw(moments)
    past = st.integers(0, int((now - ROLLED).total_seconds())).map(at)
    read_at = draw(st.none() | past)
    evidence = Evidence(
        ROLLED,
        draw(healths),
        done_since=draw(st.none() | past),
        failed_since=draw(st.none() | past),
        progressed_at=draw(st.none() | past),
        soak=draw(st.just(timedelta()) | durations),
        deadline=draw(st.none() | durations),
        gives_up=draw(st.booleans()),
        diagnosis=draw(st.none() | diagnoses) if read_at else None,
        read_at=read_at,
    )
    return evidence, now


@given(cases())
def test_only_what_is_done_is_healthy(case: tuple[Evidence, datetime]) -> None:
    evidence, now = case
    judgement = judge(evidence, now)
    if judgement.verdict is Verdict.HEALTHY:
        assert evidence.health is DONE
        assert (evidence.done_since or now) + evidence.soak <= now


@given(cases())
def test_only_pods_that_were_read_make_a_failure(case: tuple[Evidence, datetime]) -> None:
    evidence, now = case
    verdict, diagnosis = judge(evidence, now).verdict, evidence.diagnosis
    if verdict in {Verdict.FAILED, Verdict.STUCK}:
        assert diagnosis is not None
    if verdict is Verdict.FAILED:
        assert diagnosis in {CRASHES, UNREADY}


@given(cases())
def test_there_is_a_verdict_or_a_time_to_look_again(case: tuple[Evidence, datetime]) -> None:
    evidence, now = case
    judgement = judge(evidence, now)
    assert judgement.verdict or judgement.why
    if judgement.look_at is None:
        assert judgement.verdict in {Verdict.HEALTHY, Verdict.FAILED}
    else:
        assert judgement.look_at > now
        assert judgement.look_at <= now + max(RARELY, evidence.soak)


@given(cases(), durations)
def test_time_alone_takes_no_verdict_back(
    case: tuple[Evidence, datetime], later: timedelta
) -> None:
    evidence, now = case
    verdict = judge(evidence, now).verdict
    if verdict:
        assert judge(evidence, now + later).verdict is verdict


@given(cases())
def test_every_rollout_with_a_deadline_comes_to_an_end(case: tuple[Evidence, datetime]) -> None:
    """If its health stays as it is, and its pods are read whenever that is asked for."""
    evidence, now = case
    if evidence.health is None or (evidence.deadline is None and evidence.gives_up):
        return
    for _ in range(1_000):
        judgement = judge(evidence, now)
        if judgement.verdict:
            return
        if judgement.needs_pods:
            evidence = with_reading(evidence, now)
        else:
            assert judgement.look_at
            now = judgement.look_at
            if evidence.health is DONE and evidence.done_since is None:
                evidence = with_done(evidence, now)
    pytest.fail(f"no verdict until {now}")


def with_reading(evidence: Evidence, now: datetime) -> Evidence:
    return msgspec.structs.replace(evidence, diagnosis=evidence.diagnosis or UNREADY, read_at=now)


def with_done(evidence: Evidence, now: datetime) -> Evidence:
    return msgspec.structs.replace(evidence, done_since=now)


def test_the_usual_deadline_leaves_time_to_read_pods() -> None:
    assert LATE < RARELY < NO_PROGRESS


def test_pods_that_are_replaced_one_after_the_other_have_their_time_each() -> None:
    more = {"deadline": 60, "diagnosis": UNREADY, "progressed_at": 500}
    assert judged(GOES_ON, 559, read_at=559, left="not all evicted", **more).verdict is None
    assert judged(GOES_ON, 560, read_at=560, left="not all evicted", **more).verdict is (
        Verdict.FAILED
    )
    assert judged(GOES_ON, 559, read_at=559, **more).verdict is Verdict.FAILED
