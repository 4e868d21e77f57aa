"""What a workload asks for that is off in this installation: reported, and done without. Pure."""

from collections.abc import Callable, Collection
from typing import Any, NamedTuple

import msgspec

from reroll.core.model.canary import CanaryPolicy
from reroll.core.model.key import Key, Problem
from reroll.core.policy.policy import Policy
from reroll.core.tables.annotations import DOMAIN
from reroll.core.tables.kinds import Kind, Strategy
from reroll.core.tables.reasons import Reason
from reroll.core.tables.rights import OPTIONAL, Feature


class Need(NamedTuple):
    """A feature that a policy can ask for."""

    feature: Feature
    is_asked: Callable[[Policy, Kind], bool]
    what: str
    without: dict[str, Any]
    """The fields of a policy that does not ask for it."""
    instead: str


def _of_strategy(strategy: Strategy) -> Need:
    return Need(
        Feature(strategy.value),
        lambda policy, kind: policy.strategy_for(kind) is strategy,
        f"strategy {strategy.value!r}",
        {"strategy": None},
        "it does {usual!r} instead",
    )


_STRATEGIES = {strategy.value for strategy in Strategy}
NEEDS: tuple[Need, ...] = (
    Need(
        Feature.REVISIONS,
        lambda policy, _: policy.revisions,
        f"{DOMAIN}revisions",
        {"revisions": False},
        "it rolls without copies of its sources",
    ),
    Need(
        Feature.CANARY,
        lambda policy, _: policy.canary.is_asked,
        f"{DOMAIN}canary",
        {"canary": CanaryPolicy()},
        "it rolls without a canary",
    ),
    *(_of_strategy(Strategy(one.value)) for one in OPTIONAL if one.value in _STRATEGIES),
)


def within(policy: Policy, kind: Kind, where: Key, features: Collection[str]) -> Policy:
    """The policy as far as an installation with these features can follow it."""
    if policy.enabled is not True:
        return policy
    for need in NEEDS:
        if need.feature.value in features or not need.is_asked(policy, kind):
            continue
        name, instead = need.feature.value, need.instead.format(usual=kind.default_strategy.value)
        sentence = (
            f"{where} asks for {need.what}, and {name} is off in this installation: {instead}; set "
            f"the chart's value features.{name} to true, or add {name} to --features"
        )
        problems = (*policy.problems, Problem(sentence, Reason.FEATURE_OFF))
        policy = msgspec.structs.replace(policy, **need.without, problems=problems)
    return policy
