"""What is shown of changes that propagate."""

from reroll.answers.propagation.changes import changes, standings
from reroll.core.decide.actions import GoBack
from reroll.core.decide.plan import Effect, Plan, without_action
from reroll.core.model.key import Key
from reroll.core.propagation.group import Group
from reroll.core.propagation.member import Member, Stage
from reroll.core.tables.reasons import Reason

SOURCE = Key("ConfigMap", "shop", "app")
BAD, WAITING, DONE = (Key("Deployment", "shop", name) for name in ("bad", "waiting", "done"))
PLANS: dict[Key, Plan] = {
    BAD: without_action(Reason.ROLLED_BACK),
    WAITING: without_action(Reason.STOPPED),
    DONE: without_action(Reason.UP_TO_DATE),
}


def group(*, stops: bool) -> Group:
    found = Group(SOURCE)
    found.put(WAITING, Member(Stage.BEHIND))
    found.put(BAD, Member(Stage.FAILED, stops=stops))
    found.put(DONE, Member(Stage.SETTLED))
    return found


def test_a_change_is_stopped_also_when_who_failed_has_gone_back() -> None:
    [change] = changes([group(stops=True)], PLANS)

    assert change.is_stopped
    assert change.counts == {"rolled back": 1, "held": 1}


def test_a_failure_with_on_failure_continue_is_no_stop() -> None:
    [change] = changes([group(stops=False)], PLANS)

    assert not change.is_stopped


def test_everyone_who_uses_a_source_has_a_standing_by_name() -> None:
    found = standings(group(stops=True), PLANS)

    assert [(one.key, one.stage) for one in found] == [
        (BAD, "rolled back"), (DONE, "settled"), (WAITING, "held"),
    ]  # fmt: skip


def test_who_is_to_go_back_has_not_gone_back_yet() -> None:
    plan = Plan(Reason.ROLLED_BACK, "", (GoBack(None),))
    assert plan.effect is Effect.GOES_BACK

    [bad, *_] = standings(group(stops=True), {**PLANS, BAD: plan})

    assert (bad.key, bad.stage) == (BAD, "failed")
