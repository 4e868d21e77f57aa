"""Rolls as trials: what they write, their verdict, and the way back, on a single look."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest
from tests.core import build
from tests.core.build import EAGER, NOW, content
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
    written,
)
from tests.core.decide.trial_cases import (
    A_MINUTE,
    BACK,
    DONE,
    ENTRY,
    FAILED,
    GOES_ON,
    OTHER,
    OVER,
    READ,
    SECRET,
    THREE,
    UNDER_WAY,
    looked,
    taken_back,
    tried,
)

from reroll.core.decide.actions import GoBack, ReadTemplateWriters, SetMarks
from reroll.core.decide.chains import decide
from reroll.core.decide.pin_state import released
from reroll.core.model.gates import Answer, GateReading
from reroll.core.model.key import Key
from reroll.core.model.moment import Moment
from reroll.core.model.pace import Limits, OnFailure, Pace, SourcePace
from reroll.core.model.record import Record, Trial
from reroll.core.observe.health import UNNOTICED, Health, State
from reroll.core.observe.snapshot import RolloutFacts
from reroll.core.observe.spread import Spread, Traffic
from reroll.core.policy.policy import Hold
from reroll.core.policy.windows import parse_windows
from reroll.core.revisions.pins import write_pins
from reroll.core.tables.annotations import STAMP
from reroll.core.tables.reasons import Reason

GIVEN_UP = Health(State.FAILED, "no progress")

# What a roll writes


def test_a_roll_of_what_is_healthy_remembers_its_pins_and_its_stamp() -> None:
    last = record({APP: ONE}, pins(ONE))
    plan = looked({APP: TWO}, last, pins(ONE), changes={"marks": {STAMP: "one"}})
    assert plan.record is not None
    assert (plan.record.trial, plan.record.good) == (Trial([ENTRY]), write_pins(pins(ONE)))
    assert plan.record.mark == "one"


def test_a_healthy_verdict_keeps_what_there_is_to_go_back_to() -> None:
    plan = looked({APP: TWO}, tried(Trial([ENTRY])), pins(TWO))
    assert plan.reason is Reason.HEALTHY
    assert plan.record is not None
    assert plan.record.good == write_pins(pins(ONE))


@pytest.mark.parametrize("health", [DONE, GOES_ON, GIVEN_UP], ids=lambda one: one.state.value)
def test_a_template_that_nobody_watched_has_no_verdict_before_its_writers_are_read(
    health: Health,
) -> None:
    """Another writer may have changed it while no controller ran."""
    facts = RolloutFacts(health, done_since=NOW - A_MINUTE, is_unwatched=True, read_at=NOW)
    plan = looked({APP: TWO}, tried(Trial([ENTRY])), pins(TWO), rollout=facts)
    assert plan.actions == (ReadTemplateWriters(),)

    theirs = msgspec.structs.replace(facts, is_unwatched=False, is_foreign=True)
    plan = looked({APP: TWO}, tried(Trial([ENTRY])), pins(TWO), rollout=theirs)
    assert plan.record is not None
    assert plan.record.trial is not None
    assert plan.record.trial.v == "unjudged"


NEWER = {"template": Moment(310, 311)}
"""Its template was written after `THIRD`, and a controller saw both."""
THIRD = content({"a": "3"}, Moment(300, 305))


@pytest.mark.parametrize(
    ("facts", "before", "after"),
    [
        (UNDER_WAY, Trial([ENTRY]), Trial([ENTRY])),
        (OVER, Trial([ENTRY], v="healthy", at=NOW), Trial([ENTRY])),
        (UNDER_WAY, Trial([SECRET], v="healthy", at=NOW), Trial([ENTRY], ok=[SECRET])),
        (UNDER_WAY, Trial([SECRET]), Trial([ENTRY, SECRET])),
        (RolloutFacts(GOES_ON, is_foreign=True), Trial([ENTRY]), None),
        (RolloutFacts(GOES_ON, is_unwatched=True), Trial([ENTRY]), None),
    ],
    ids=["under way", "over", "another is proved", "another is not", "foreign", "unwatched"],
)
def test_a_content_that_came_while_it_rolled_is_on_trial_with_the_same_pods(
    facts: RolloutFacts, before: Trial, after: Trial | None
) -> None:
    """They were made after it came, so it does not roll again, and who waits for it has to know."""
    last = record({APP: TWO, DB: DB_ONE}, None, trial=before, rolled=NOW)
    seen = {"policy": msgspec.structs.replace(EAGER, pace=BACK), "changes": NEWER}
    look = build.snapshot({APP: THIRD, DB: DB_ONE}, last, governed=True, rollout=facts, **seen)

    plan = decide(look, NOW)

    assert plan.reason is Reason.ROLLED_ELSEWHERE
    assert plan.record is not None
    assert plan.record.trial == after


@pytest.mark.parametrize("trial", [Trial([ENTRY], v="healthy"), Trial([ENTRY], sick=True)])
def test_nothing_is_read_of_one_that_nobody_judges_any_more(trial: Trial) -> None:
    facts = RolloutFacts(DONE, done_since=NOW - A_MINUTE, is_unwatched=True)
    assert not looked({APP: TWO}, tried(trial), pins(TWO), rollout=facts).actions


@pytest.mark.parametrize("trial", [FAILED, Trial([ENTRY])], ids=["failed", "without a verdict"])
def test_a_further_change_does_not_make_what_is_not_proved_good(trial: Trial) -> None:
    plan = looked({APP: THREE}, tried(trial), pins(TWO), rollout=UNDER_WAY)
    assert plan.reason is Reason.CONFIG_CHANGED
    assert plan.record is not None
    assert plan.record.good == write_pins(pins(ONE))


def test_one_that_is_sick_before_the_roll_is_no_evidence_and_not_good() -> None:
    plan = looked({APP: TWO}, record({APP: ONE}, pins(ONE)), pins(ONE), rollout=UNDER_WAY)
    assert plan.record is not None
    assert plan.record.trial == Trial([ENTRY], sick=True)
    assert plan.record.good is None


@pytest.mark.parametrize(("ready", "sick"), [(2, False), (1, True)])
def test_a_write_that_its_controller_has_not_seen_yet_is_no_sickness(
    ready: int, sick: bool
) -> None:
    """A record of ours is such a write: of a Deployment, annotations are a new generation."""
    unseen = RolloutFacts(Health(State.GOES_ON, UNNOTICED, 2, 0, ready, replacing=True))
    plan = looked({APP: TWO}, record({APP: ONE}, pins(ONE)), pins(ONE), rollout=unseen)
    assert plan.record is not None
    assert plan.record.trial == Trial([ENTRY], sick=sick)


# The way back


def test_a_failure_takes_it_back_to_the_pins_and_the_stamp_of_before() -> None:
    last = msgspec.structs.replace(tried(FAILED), mark="one")
    plan = looked({APP: TWO}, last, pins(TWO), changes={"marks": {STAMP: "two"}})
    assert plan.reason is Reason.ROLLED_BACK
    assert written(plan) == (pins(ONE), pins(TWO))
    (marks,) = [edit.marks for edit in build.edits(plan) if isinstance(edit, SetMarks)]
    assert [mark.value for mark in marks] == ["one"]
    assert plan.record is not None
    assert (plan.record.held, plan.record.trial) == (
        NOW, msgspec.structs.replace(FAILED, back=NOW),
    )  # fmt: skip
    assert plan.record.good == write_pins(pins(ONE))


@pytest.mark.parametrize(
    ("pace", "goes"),
    [
        (BACK, True),
        (Pace(on_failure=OnFailure.HOLD), False),
        (Pace(on_failure=OnFailure.CONTINUE), False),
        (Pace(), False),
    ],
)
def test_its_own_annotation_decides_whether_a_failure_elsewhere_takes_it_back(
    pace: Pace, goes: bool
) -> None:
    spread = Spread(APP.source, stopped_by=OTHER, why="it crashes", is_definite=True)
    healthy = Trial([ENTRY], v="healthy", at=NOW)
    plan = looked({APP: TWO}, tried(healthy), pins(TWO), pace=pace, spreads=(spread,))
    assert (plan.reason is Reason.ROLLED_BACK) is goes
    if goes:
        assert f"{OTHER} failed with {APP.source}: it crashes" in plan.message
    stuck = msgspec.structs.replace(spread, is_definite=False)
    found = looked({APP: TWO}, tried(healthy), pins(TWO), pace=pace, spreads=(stuck,))
    assert found.reason is not Reason.ROLLED_BACK


def test_neither_limits_nor_cooldown_nor_windows_nor_gates_delay_it_and_a_hold_does() -> None:
    an_hour = timedelta(hours=1)
    pace = msgspec.structs.replace(BACK, cooldown=an_hour, soak=an_hour, gates=("calm",))
    gates = (GateReading("calm", Answer.CLOSED, "Down fires", NOW, NOW),)
    busy = Traffic(Limits(cluster=1, namespace=1), cluster=1, namespace=1, beside=OTHER)
    closed = msgspec.structs.replace(POLICY, window=parse_windows("2090-01-01; deny 2026-03-01"))
    more: dict[str, Any] = {"pace": pace, "traffic": busy, "turn_at": NOW + A_MINUTE}
    more |= {"policy": closed, "gates": gates}
    assert looked({APP: TWO}, tried(FAILED), pins(TWO), **more).reason is Reason.ROLLED_BACK
    again = released(taken_back(), NOW)
    assert looked({APP: TWO}, again, pins(ONE), **(more | {"turn_at": None})).reason is (
        Reason.RELEASED
    )
    held = msgspec.structs.replace(POLICY, hold=Hold())
    assert looked({APP: TWO}, tried(FAILED), pins(TWO), policy=held).reason is Reason.HELD


def test_a_secret_goes_back_only_if_it_says_so_itself() -> None:
    new = content({"p": "y"}, LATER)
    trial = Trial([SECRET], v="failed", at=NOW)
    last = tried(trial, {("Secret", "db"): pins(None, DB_ONE)["Secret", "db"]}, {DB: new})
    assert looked({DB: new}, last, pins(None, new), rollout=READ).reason is Reason.FAILING
    asks = msgspec.structs.replace(new, pace=SourcePace(on_failure=OnFailure.ROLLBACK))
    plan = looked({DB: asks}, last, pins(None, new), pace=Pace())
    assert plan.reason is Reason.ROLLED_BACK
    assert written(plan)[0] == pins(None, DB_ONE)


def test_a_copy_that_is_gone_is_no_way_back() -> None:
    gone = frozenset({Key("ConfigMap", "shop", pins(ONE)["ConfigMap", "app"])})
    plan = looked({APP: TWO}, tried(FAILED), pins(TWO), copies_missing=gone, rollout=READ)
    assert (plan.reason, plan.actions) == (Reason.ROLLBACK_FAILED, ())
    assert "there is no way back: no copy" in plan.message


def test_without_revisions_the_template_of_before_comes_back_and_what_that_means_is_said() -> None:
    last = Record(
        1, NOW - A_MINUTE, "ConfigChanged", record({APP: TWO}, None).s, trial=FAILED,
        by=[ENTRY], rolled=NOW - A_MINUTE,
    )  # fmt: skip
    plan = looked({APP: TWO}, last, None, policy=EAGER)
    (action,) = plan.actions
    assert isinstance(action, GoBack)
    assert action.record is not None
    assert (action.record.why, action.record.declined) == ("RolledBack", [ENTRY])
    assert "because revisions are off" in plan.message

    after = looked({APP: TWO}, action.record, None, policy=EAGER)
    assert (after.reason, after.record) == (
        Reason.ROLLED_BACK,
        action.record.trial and after.record,
    )
    again = released(action.record, NOW)
    assert again is not None
    then = looked({APP: TWO}, again, None, policy=EAGER)
    assert (then.reason, then.record and then.record.trial) == (
        Reason.RELEASED, Trial([ENTRY], why=FAILED.why, was="failed"),
    )  # fmt: skip
