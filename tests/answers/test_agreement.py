"""No two answers contradict each other, whatever happened to a workload."""

from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.core.build import NOW
from tests.core.decide.histories import STEPS, TROUBLES, History, judged

from reroll.answers.doctor.findings import Finding, Level
from reroll.answers.doctor.workloads import judge_workloads
from reroll.answers.history.history import HistoryEntry, RecordCopy, history, with_results
from reroll.cli.commands.status import state_of
from reroll.core.decide.chains import decide
from reroll.core.decide.plan import Effect
from reroll.core.decide.situation import Concern, Situation, reported
from reroll.core.decide.wording import MADE
from reroll.core.observe.pods import PodsHave, Progress
from reroll.core.tables.kinds import Strategy
from reroll.core.tables.reasons import Reason

WELL = {"up to date", "up to date, by the times of its pods", "unchanged, no pod runs"}
"""What `status` says where nothing is wrong."""


def told(past: History, found: Situation) -> list[HistoryEntry]:
    """`reroll history`: the record of now, and those that revisions keep."""
    copies = [RecordCopy(found.key, record, f"web-{n}") for n, record in enumerate(past.rolls)]
    if found.record:
        copies.append(RecordCopy(found.key, found.record))
    return with_results(history(copies, [], {}), {found.key: found})


def checked(found: Situation) -> list[Finding]:
    """`reroll doctor`."""
    return list(judge_workloads([found]))


ROLLED = ["look", "change", "look"]


@settings(max_examples=400)
@example([*ROLLED, "undo"], Strategy.STAMP)
@example([*ROLLED, "crash"], Strategy.STAMP)
@example([*ROLLED, "finish", "remove"], Strategy.STAMP)
@given(
    st.lists(st.sampled_from(STEPS + TROUBLES), min_size=2, max_size=14),
    st.sampled_from((Strategy.STAMP, Strategy.NOTIFY)),
)
def test_history_doctor_status_and_events_say_what_the_others_say(
    steps: list[str], strategy: Strategy
) -> None:
    past = History.of(steps, strategy)
    now, is_current = past.snapshot(), past.pod_value == past.value
    found = judged(now, past.evidence())
    plan, state, [finding] = found.plan, state_of(found), checked(found)

    # A doctor who is content has nothing against him in any other answer, and the reverse.
    is_well = finding.level is Level.OK
    assert is_well == (found.concern is Concern.NONE)
    if is_well:
        assert not found.obstacle or found.obstacle.reason is Reason.DEBOUNCING
        assert plan.effect not in {Effect.STALE, Effect.DECLINED, Effect.FAILING, Effect.HELD}
        assert found.rollout.progress is not Progress.FAILING
        allowed = {PodsHave.REPLACING, PodsHave.RECORDED}
        assert is_current or plan.strategy or found.have in allowed
    else:
        assert state not in WELL
        assert str(found.key) in finding.sentence

    # The past ends with the record that the others speak of, and a roll that others call failed,
    # declined or unfinished is not called complete.
    rows = told(past, found)
    if found.record:
        assert (rows[0].at, rows[0].reason) == (found.record.at, found.record.why)
    results = [row.result for row in rows if row.result]
    assert len(results) <= 1
    if found.record and found.record.declined:
        assert results == ["taken back"]
    else:
        assert not found.declined
        assert plan.reason is not Reason.DECLINED
    is_rolled = found.record and found.record.rolled and strategy is Strategy.STAMP
    if is_rolled and results != ["taken back"]:
        assert results == [found.rollout.progress.value]
    if "complete" in results:
        assert found.rollout.is_over
        assert found.concern not in {Concern.FAILING, Concern.DECLINED}

    # What an Event says is the reason and the words of the plan that `explain` shows.
    event = reported(now, decide(now, NOW), NOW)
    missing = Reason.SOURCE_MISSING
    assert event.reason is (missing if plan.reason is missing else decide(now, NOW).reason)
    assert MADE not in event.message
    if event.actions and plan.reason is event.reason and found.declined:
        assert Reason.DECLINED.sentence in event.message


def test_a_workload_that_fails_is_told_by_name_and_cause() -> None:
    past = History.of([*ROLLED, "crash"], Strategy.STAMP)
    found = judged(past.snapshot(), past.evidence())

    [finding] = checked(found)

    assert finding.level is Level.WARNING
    assert finding.sentence.startswith(
        "the rollout fails: Deployment shop/web (pod web-2 CrashLoopBackOff (exit 1)"
    )
    assert [row.result for row in told(past, found)] == ["failing"]


def test_the_doctor_counts_by_concern_and_names_what_somebody_asked_for() -> None:
    held, older = (
        judged(past.snapshot(), past.evidence())
        for past in (
            History.of(["look", "hold"], Strategy.STAMP),
            History.of(["change", "look"], Strategy.STAMP),
        )
    )

    findings = list(judge_workloads([held, older]))

    assert [one.level for one in findings] == [Level.WARNING, Level.NOTE]
    assert "(ConfigMap shop/app)" in findings[0].sentence
    assert "incident 42" in findings[1].sentence
    assert list(judge_workloads([])) == []
