"""A workload that asks for a feature that is off: reported, and everything else applies."""

import msgspec
import pytest

from reroll.core.model.canary import CanaryPolicy
from reroll.core.model.key import Key
from reroll.core.model.pace import Parallel
from reroll.core.policy.features import NEEDS, within
from reroll.core.policy.policy import Policy
from reroll.core.tables.catalog import TABLES
from reroll.core.tables.kinds import Strategy
from reroll.core.tables.reasons import Reason
from reroll.core.tables.rights import OPTIONAL, Feature

ASKING = {
    Feature.REVISIONS: ("Deployment", Policy(enabled=True, revisions=True)),
    Feature.CANARY: ("Deployment", Policy(enabled=True, canary=CanaryPolicy(Parallel(1)))),
    Feature.EVICT: ("Deployment", Policy(enabled=True, strategy=Strategy.EVICT)),
    Feature.RELOAD: ("Deployment", Policy(enabled=True, strategy=Strategy.RELOAD)),
    Feature.TRIGGER: ("CronJob", Policy(enabled=True, strategy=Strategy.TRIGGER)),
    Feature.RECREATE: ("Job", Policy(enabled=True, strategy=Strategy.RECREATE)),
}


def test_every_optional_feature_has_a_row() -> None:
    assert {need.feature for need in NEEDS} == set(OPTIONAL) == set(ASKING)


@pytest.mark.parametrize("feature", ASKING)
def test_what_is_off_is_reported_with_the_value_to_set_and_done_without(feature: Feature) -> None:
    name, policy = ASKING[feature]
    kind, where = TABLES.by_name[name], Key(name, "shop", "web")

    without = within(policy, kind, where, set(OPTIONAL) - {feature})

    [problem] = without.problems
    assert problem.reason is Reason.FEATURE_OFF
    assert f"{feature.value} is off in this installation" in problem.sentence
    assert f"features.{feature.value} to true" in problem.sentence
    assert msgspec.structs.replace(without, problems=()) == Policy(enabled=True)
    assert within(policy, kind, where, set(OPTIONAL)) == policy


def test_a_workload_that_is_not_in_is_told_nothing() -> None:
    policy = Policy(enabled=None, revisions=True)
    kind = TABLES.by_name["Deployment"]
    assert within(policy, kind, Key("Deployment", "shop", "web"), ()) == policy
