"""What is so of a workload: nothing false over random histories, and no two commands disagree."""

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.core.build import NOW, content, reference, snapshot
from tests.core.cluster import APP
from tests.core.decide.histories import (
    BACK_AND_FORTH,
    DONE,
    GOES_ON,
    STEPS,
    USED,
    History,
    at,
    audited,
    judged,
    pod,
    record_of,
    seen,
)

from reroll.core.decide.chains import decide
from reroll.core.decide.plan import Effect, Plan
from reroll.core.decide.situation import Circumstances, Concern, Met, reported, situation
from reroll.core.decide.wording import MADE
from reroll.core.model.record import Record, Todo
from reroll.core.observe.health import Health
from reroll.core.observe.pods import PodFacts, PodsHave, Progress
from reroll.core.observe.proof import is_settled
from reroll.core.observe.provenance import Write, Writes
from reroll.core.observe.snapshot import Absence
from reroll.core.observe.staleness import HeldSince, Verdict, judge
from reroll.core.policy.policy import Hold
from reroll.core.policy.references import Use
from reroll.core.tables.kinds import Strategy
from reroll.core.tables.reasons import Reason


@settings(max_examples=300)
@example(BACK_AND_FORTH, Strategy.STAMP)
@given(
    st.lists(st.sampled_from(STEPS), min_size=2, max_size=14),
    st.sampled_from((Strategy.STAMP, Strategy.NOTIFY)),
)
def test_no_answer_is_false_and_no_command_contradicts_another(
    steps: list[str], strategy: Strategy
) -> None:
    past = History.of(steps, strategy)
    now, is_current = past.snapshot(), past.pod_value == past.value

    blind = judged(now, Circumstances(None, past.health))
    found = judged(now, past.evidence())

    claims = {PodsHave.CURRENT, PodsHave.YOUNGER}
    for one in (blind, found):
        assert is_current or (MADE not in one.plan.message and one.have not in claims)
        assert one.plan.reason is Reason.DECLINED or not one.declined
    if not is_current and not found.plan.strategy:
        # `plan`, `sync`, `explain` and `status` show this plan; `audit` shows what is older.
        assert found.older or found.have is PodsHave.RECORDED
        quiet = found.plan.reason is Reason.UP_TO_DATE
        assert not quiet or found.have in {PodsHave.REPLACING, PodsHave.RECORDED}
    if found.plan.reason is Reason.PODS_OLDER:
        assert (found.plan.effect, found.have) == (Effect.STALE, PodsHave.OLDER)
        assert found.rolls_on_request


# One by one


def test_the_sentence_about_pods_needs_a_record_of_a_rollout_that_is_over() -> None:
    rolled = record_of("new", at(5), "ConfigChanged", "stamp")
    fresh = (pod(at(6), at(4)),)

    def said(record: Record, health: Health = DONE) -> str:
        return judged(seen(record), Circumstances(fresh, health)).plan.message

    assert said(rolled) == MADE
    assert MADE not in said(rolled, GOES_ON)
    assert said(record_of("new", at(5), "Adopted")) == (
        "nothing has changed since it was recorded (Adopted, 19h ago); "
        "its pods started after what they use was last written"
    )
    for odd in ("KeyLost", "Undone", "Recorded", "KeyRotated"):
        assert MADE not in said(msgspec.structs.replace(rolled, why=odd)), odd
    assert MADE not in said(msgspec.structs.replace(rolled, how=""))
    assert MADE not in said(msgspec.structs.replace(rolled, how="notify"))


def test_a_record_of_an_adoption_proves_nothing_about_older_pods() -> None:
    found = judged(
        seen(record_of("new", at(5), "Adopted")), Circumstances((pod(at(4), at(5)),), DONE)
    )

    assert (found.plan.reason, found.plan.actions) == (Reason.PODS_OLDER, ())
    assert found.plan.message.endswith(": ConfigMap shop/app; nothing has rolled them since; "
                                       "`reroll sync --stale` does")  # fmt: skip


def test_adopting_says_it_too_and_rolls_nothing() -> None:
    found = judged(seen(None), Circumstances((pod(at(4), at(5)),), DONE))

    assert (found.plan.reason, found.plan.strategy) == (Reason.ADOPTED, None)
    assert found.is_notable
    assert Reason.PODS_OLDER.sentence in found.plan.message
    assert found.rolls_on_request == (APP,)


def test_pods_that_a_rollout_has_not_replaced_yet_are_being_replaced() -> None:
    rolled = record_of("new", at(5), "ConfigChanged", "stamp")
    sick = pod(at(5), at(4), name="web-2", trouble="CrashLoopBackOff (exit 1)", runs=False)
    old = pod(at(3), at(4))

    found = judged(seen(rolled), Circumstances((old, sick), GOES_ON))

    assert (found.have, found.running) == (PodsHave.REPLACING, 1)
    assert found.plan.message == (
        "it rolled for the current configuration 19h ago; pods from before that roll still run, "
        "with an older ConfigMap shop/app"
    )
    assert found.rollout.sentence == (
        "failing: pod web-2 CrashLoopBackOff (exit 1); 0 of 1 pods are new"
    )


def test_trouble_of_pods_from_before_the_roll_is_not_that_of_the_rollout() -> None:
    rolled = record_of("new", at(5), "ConfigChanged", "stamp")
    sick = pod(at(3), at(2), trouble="CrashLoopBackOff")

    found = judged(seen(rolled), Circumstances((sick,), GOES_ON))

    assert found.rollout.progress is Progress.PROGRESSING


def test_what_a_record_of_a_roll_settles_is_not_stale() -> None:
    """A write of another key, or back and forth, after the pods of the roll had started."""
    rolled = seen(record_of("new", at(5), "ConfigChanged", "stamp"))
    evidence = Circumstances((pod(at(6), at(7)),), DONE)

    found = judged(rolled, evidence)

    assert audited(at(6), at(7))[0].verdict is Verdict.STALE
    assert (found.older, found.have) == ((), PodsHave.RECORDED)
    assert found.plan.message.endswith("after its pods started, and holds what it held then")
    assert is_settled(rolled, audited(at(6), at(7))[0], found.rollout)
    adopted = seen(record_of("new", at(5), "Adopted"))
    assert not is_settled(adopted, audited(at(6), at(7))[0], found.rollout)


@pytest.mark.parametrize(
    ("strategy", "left", "result"),
    [
        (Strategy.EVICT, "pods from before the change are still to be evicted", "progressing"),
        (Strategy.RELOAD, "pods are still to be asked to reload", ""),
    ],
)
def test_a_roll_that_has_not_come_to_all_pods_is_not_complete_whatever_the_status_says(
    strategy: Strategy, left: str, result: str
) -> None:
    todo = Todo(strategy.value, at(5))
    begun = record_of("new", at(5), "ConfigChanged", strategy.value, todo=todo)
    old = Circumstances((pod(at(3), at(4)),), DONE)

    found = judged(seen(begun, strategy=strategy), old)
    assert (found.rollout.progress, found.rollout.message) == (Progress.PROGRESSING, left)
    assert found.last_roll == result

    done = judged(seen(msgspec.structs.replace(begun, todo=None), strategy=strategy), old)
    assert done.rollout.progress is Progress.COMPLETE


def test_content_that_was_taken_back_is_declined_until_pods_start_with_it() -> None:
    undone = record_of("new", at(6), "Undone", "stamp", declined=["configmap/app"])

    found = judged(seen(undone), Circumstances((pod(at(3), at(5)),), DONE))
    assert (found.plan.reason, found.plan.effect) == (Reason.DECLINED, Effect.DECLINED)
    assert found.plan.message.endswith(": configmap/app")
    assert judged(seen(undone), Circumstances((pod(at(8), at(5)),), DONE)).declined == ()
    assert judged(seen(undone, "other"), Circumstances((pod(at(3), at(5)),), DONE)).declined == ()


def test_content_that_failed_stays_declined_while_pods_of_before_run() -> None:
    failed = record_of("new", at(6), "Undone", "stamp", declined=["configmap/app"], failed=True)
    live = PodFacts("web-1", at(3))  # Its file is new, and it started with the old one.

    found = judged(seen(failed), Circumstances((live,), DONE))
    assert (found.plan.reason, found.is_declined) == (Reason.DECLINED, True)
    assert found.plan.message.startswith("a rollout failed, so it was taken back")
    assert judged(seen(failed), Circumstances(None, DONE)).is_declined
    since = judged(seen(failed), Circumstances((pod(at(8), at(5)),), DONE))
    assert (since.failed, since.is_declined) == (False, False)
    ill = judged(seen(failed), Circumstances((pod(at(8), at(5), is_ready=False),), GOES_ON))
    assert (ill.failed, ill.is_declined) == (True, True)
    changed = judged(seen(failed, "other"), Circumstances((live,), DONE))
    assert (changed.failed, changed.is_declined) == (False, False)


def test_a_missing_source_is_said_though_nothing_changed() -> None:
    record = record_of("new", at(5), "ConfigChanged", "stamp")
    gone = snapshot({USED: Absence.MISSING}, record)

    found = situation(gone, decide(gone, NOW), Circumstances((pod(at(6), at(4)),), DONE), NOW)

    assert decide(gone, NOW).reason is Reason.UP_TO_DATE
    assert found.plan.reason is Reason.SOURCE_MISSING
    assert "ConfigMap shop/app; create it" in found.plan.message
    assert found.obstacle
    assert found.is_notable


def test_what_an_event_tells_is_in_the_way_while_the_work_is_not_done() -> None:
    todo = Todo("evict", at(5))
    waits = record_of("new", at(5), "ConfigChanged", "evict", todo=todo)
    met = Met(Reason.EVICTION_REFUSED, "the budget allows no disruption", at(6))

    around = Circumstances((), DONE, met)
    found = judged(seen(waits, strategy=Strategy.EVICT), around)
    assert found.obstacle
    assert (found.plan.reason, found.obstacle.reason) == (Reason.CONTINUED, met.reason)
    over = msgspec.structs.replace(waits, todo=None)
    assert (
        judged(seen(over, strategy=Strategy.EVICT), Circumstances((), DONE, met)).obstacle is None
    )
    later = msgspec.structs.replace(waits, at=at(7))
    assert (
        judged(seen(later, strategy=Strategy.EVICT), Circumstances((), DONE, met)).obstacle is None
    )


def test_a_hold_is_in_the_way_though_nothing_waits_for_it() -> None:
    current = seen(record_of("new", at(5), "ConfigChanged", "stamp"))
    policy = msgspec.structs.replace(current.policy, hold=Hold(why="incident 42"))
    held = msgspec.structs.replace(current, policy=policy)

    found = judged(held, Circumstances((pod(at(6), at(4)),), DONE))

    assert found.plan.message == MADE
    assert found.obstacle
    assert "incident 42" in found.obstacle.message
    assert found.obstacle.detail == "incident 42"


@pytest.mark.parametrize(
    ("kind", "strategy", "said"),
    [
        ("CronJob", Strategy.NEXT_RUN, "its next run reads the current configuration"),
        ("CronJob", Strategy.TRIGGER, "a Job that it starts reads the current configuration"),
        ("Deployment", Strategy.RELOAD, "what they read then is not known"),
        ("Deployment", Strategy.NOTIFY, "its pods started after what they use was last written"),
    ],
)
def test_what_replaces_no_pods_has_a_sentence_of_its_own(
    kind: str, strategy: Strategy, said: str
) -> None:
    record = record_of("new", at(5), "ConfigChanged", strategy.value)

    found = judged(seen(record, strategy=strategy, kind=kind), Circumstances((pod(at(6), at(4)),)))

    assert found.plan.reason is Reason.UP_TO_DATE
    assert said in found.plan.message
    assert MADE not in found.plan.message


def test_older_pods_that_sync_would_not_roll_are_said_with_what_does() -> None:
    old = Circumstances((pod(at(3), at(4)),), DONE)
    record = record_of("new", at(5), "ConfigChanged", "notify")

    notify = judged(seen(record, strategy=Strategy.NOTIFY), old).plan
    assert (notify.reason, "`reroll restart`" in notify.message) == (Reason.PODS_OLDER, True)
    run = judged(seen(record, strategy=Strategy.NEXT_RUN, kind="CronJob"), old).plan
    assert (run.reason, "keep an older" in run.message) == (Reason.UP_TO_DATE, True)


def test_a_source_that_does_not_count_is_none_of_it() -> None:
    other = snapshot({reference(APP, "b"): content({"b": "x"})})
    keyed = Use("ConfigMap", APP.name, "env A", keys=frozenset("a"), container="main")
    writes = Writes(at(0), (Write("kubectl", at(5), frozenset("a"), only_data=True),))
    found = tuple(judge("shop", [keyed], {"main": HeldSince(at(4))}, lambda _: writes))

    assert found[0].verdict is Verdict.STALE
    assert (
        situation(
            other, decide(other, NOW), Circumstances((PodFacts("w", findings=found),)), NOW
        ).older
        == ()
    )


def test_a_verdict_that_the_status_does_not_show_yet_is_told_as_the_rollouts() -> None:
    """Its deadline is over, and its own controller goes on trying."""
    now = seen(record_of("new", at(5), "ConfigChanged", "stamp"))
    verdict = Plan(Reason.FAILING, f"{Reason.FAILING.sentence}: pod web-2 is not ready")

    found = situation(now, verdict, Circumstances((), GOES_ON), NOW)

    assert found.rollout.sentence == "failing: pod web-2 is not ready"
    assert found.concern is Concern.FAILING
    well = situation(now, verdict, Circumstances((), DONE), NOW)
    assert well.rollout.progress is Progress.COMPLETE


def test_an_event_says_with_its_reason_what_else_is_so() -> None:
    undone = record_of("new", at(6), "Undone", "stamp", declined=["configmap/app"])
    restored = Plan(Reason.RECORD_RESTORED, "it is restored", (object(),))  # type: ignore[arg-type]

    said = reported(seen(undone), restored, NOW)

    assert (said.reason, said.actions) == (restored.reason, restored.actions)
    assert said.message.startswith("it is restored; it was taken back from what its sources hold")
    rolled = seen(record_of("new", at(6), "ConfigChanged", "stamp"))
    assert reported(rolled, restored, NOW) is restored


def test_an_event_says_that_a_source_is_gone_though_nothing_is_to_be_done() -> None:
    rolled = record_of("new", at(6), "ConfigChanged", "stamp")
    gone = msgspec.structs.replace(seen(rolled), sources={APP: Absence.MISSING})
    plan = decide(gone, NOW)

    said = reported(gone, plan, NOW)

    assert (plan.reason, said.reason) == (Reason.UP_TO_DATE, Reason.SOURCE_MISSING)
    assert said.message.endswith(f"{APP}; create it")
    assert said.message == judged(gone, Circumstances((), DONE)).plan.message
    for absence in (Absence.FORBIDDEN, Absence.UNREAD):
        unknown = msgspec.structs.replace(gone, sources={APP: absence})
        assert reported(unknown, plan, NOW) is plan
    there = decide(seen(rolled), NOW)
    assert reported(seen(rolled), there, NOW) is there
