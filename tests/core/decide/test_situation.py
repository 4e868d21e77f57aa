"""What is so of a workload: nothing false over random histories, and no two commands disagree."""

from datetime import datetime, timedelta

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.core.build import EAGER, KIND, NOW, content, reference, snapshot
from tests.core.cluster import APP

from reroll.core.decide.chains import decide
from reroll.core.decide.plan import Effect
from reroll.core.decide.situation import MADE, Circumstances, Met, PodsHave, Situation, situation
from reroll.core.model.digest import reference_digest
from reroll.core.model.moment import Moment
from reroll.core.model.record import Record, Todo
from reroll.core.observe.health import Health, State
from reroll.core.observe.pods import PodFacts, Progress
from reroll.core.observe.proof import is_settled
from reroll.core.observe.provenance import Write, Writes
from reroll.core.observe.snapshot import Absence, Snapshot
from reroll.core.observe.staleness import Finding, HeldSince, Verdict, judge
from reroll.core.policy.policy import Hold
from reroll.core.policy.references import Use
from reroll.core.tables.kinds import Strategy
from reroll.core.tables.reasons import Reason

USED = reference(APP)
HOUR = timedelta(hours=1)
USE = Use("ConfigMap", APP.name, "envFrom of container main", container="main")
DONE = Health(State.DONE, total=1, updated=1, ready=1)
GOES_ON = Health(State.GOES_ON, "0 of 1 pods are new", 1, 0, 1, replacing=True)


def at(hours: float) -> datetime:
    return NOW - 24 * HOUR + hours * HOUR


def digest(value: str) -> str:
    return reference_digest(USED, content({"a": value}), "") or ""


def audited(started: datetime, written: datetime) -> tuple[Finding, ...]:
    """What `reroll audit` finds by times."""
    writes = Writes(at(-100), (Write("kubectl", written, frozenset("a"), only_data=True),))
    return tuple(judge("shop", [USE], {"main": HeldSince(started)}, lambda _: writes))


def pod(started: datetime, written: datetime, **more: object) -> PodFacts:
    found = PodFacts("web-1", started, findings=audited(started, written))
    return msgspec.structs.replace(found, **more)


def seen(
    record: Record | None,
    value: str = "new",
    written: datetime = NOW,
    strategy: Strategy | None = None,
    kind: str = "Deployment",
) -> Snapshot:
    policy = msgspec.structs.replace(EAGER, strategy=strategy)
    held = content({"a": value}, Moment(0, 50, written))
    return snapshot({USED: held}, record, kind=KIND[kind], policy=policy)


def judged(looked_at: Snapshot, evidence: Circumstances) -> Situation:
    return situation(looked_at, decide(looked_at, NOW), evidence, NOW)


def record_of(value: str, when: datetime, why: str, how: str = "", **more: object) -> Record:
    found = Record(1, when, why, {"configmap/app": digest(value)}, how=how)
    return msgspec.structs.replace(found, rolled=when if how else None, **more)


# Random histories


class History:
    """A workload with one pod that runs, acted on by a controller as the strategies do."""

    def __init__(self, strategy: Strategy) -> None:
        self.strategy, self.hour = strategy, 0
        self.value, self.written = "0", at(0)
        self.pod_value, self.started = "0", at(0)
        self.record: Record | None = None
        self.health = DONE

    def step(self, what: str) -> None:
        self.hour += 1
        getattr(self, what)()

    def change(self) -> None:
        self.value, self.written = f"{self.hour % 3}", at(self.hour)

    def restart_pod(self) -> None:
        self.pod_value, self.started = self.value, at(self.hour)

    def lose_record(self) -> None:
        self.record = None

    def lose_key(self) -> None:
        if self.record:
            self.record = record_of(self.value, at(self.hour), "KeyLost")

    def look(self) -> None:
        """Adopt it, or roll it; its pod follows later, or never."""
        if self.record is None:
            self.record = record_of(self.value, at(self.hour), "Adopted")
        elif self.record.s["configmap/app"] != digest(self.value):
            self.record = record_of(self.value, at(self.hour), "ConfigChanged", self.strategy)
            self.health = GOES_ON if self.strategy is Strategy.STAMP else DONE

    def finish(self) -> None:
        if self.health is GOES_ON:
            self.restart_pod()
            self.health = DONE

    def undo(self) -> None:
        """Of a rollout that is stuck: the pod of before stays."""
        if self.health is GOES_ON and self.record:
            self.record = msgspec.structs.replace(
                self.record, why="Undone", at=at(self.hour), declined=["configmap/app"]
            )
            self.health = DONE


OFTEN = ("change", "look") * 3
STEPS = (*OFTEN, "finish", "finish", "restart_pod", "undo", "lose_record", "lose_key")
BACK_AND_FORTH = ["look", "change", "look", "finish", "look", "change", "restart_pod", "change"]
"""A pod that restarted by itself has a content that came and went after the roll."""


@settings(max_examples=300)
@example(BACK_AND_FORTH, Strategy.STAMP)
@given(
    st.lists(st.sampled_from(STEPS), min_size=2, max_size=14),
    st.sampled_from((Strategy.STAMP, Strategy.NOTIFY)),
)
def test_no_answer_is_false_and_no_command_contradicts_another(
    steps: list[str], strategy: Strategy
) -> None:
    past = History(strategy)
    for step in steps:
        past.step(step)
    now = seen(past.record, past.value, past.written, strategy)
    is_current = past.pod_value == past.value

    blind = judged(now, Circumstances(None, past.health))
    found = judged(now, Circumstances((pod(past.started, past.written),), past.health))

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
    assert found.plan.message.endswith(": ConfigMap shop/app; nothing rolled them for it, "
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


def test_content_that_was_taken_back_is_declined_until_pods_start_with_it() -> None:
    undone = record_of("new", at(6), "Undone", "stamp", declined=["configmap/app"])

    found = judged(seen(undone), Circumstances((pod(at(3), at(5)),), DONE))
    assert (found.plan.reason, found.plan.effect) == (Reason.DECLINED, Effect.DECLINED)
    assert found.plan.message.endswith(": configmap/app")
    assert judged(seen(undone), Circumstances((pod(at(8), at(5)),), DONE)).declined == ()
    assert judged(seen(undone, "other"), Circumstances((pod(at(3), at(5)),), DONE)).declined == ()


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
