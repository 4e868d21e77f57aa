"""A change that propagates with care: how many at once, and what stops it, whatever is killed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.scenarios import propagating
from tests.scenarios.propagating import (
    PODS_THAT_RUN,
    Spreading,
    Start,
    all_healthy,
    begun,
    change,
    healed,
    impatient,
    judged,
    killed_at_each,
    pinned,
    rolled,
    sick,
    sicken,
    told,
    trial,
    verdict,
    web,
)
from tests.scenarios.stage import Stage, eventually
from tests.support import build

from reroll.core.tables.kinds import Kind

Webs = list[build.Object]
Step = Callable[[Stage, Webs], bool]


def that_many_rolled(number: int) -> Step:
    return lambda stage, webs: len(rolled(stage, webs)) >= number


def that_many_healthy(number: int) -> Step:
    return lambda stage, webs: sum(verdict(stage, one) == "healthy" for one in webs) >= number


ROUNDS: dict[str, Step] = {
    "when the change was made": lambda *_: True,
    "when the first rolled": that_many_rolled(1),
    "when the first is healthy": that_many_healthy(1),
    "when the second round began": that_many_rolled(2),
    "when the second round is healthy": that_many_healthy(3),
    "when the third round began": that_many_rolled(4),
    "when one of the third round is healthy": that_many_healthy(4),
    "when the last rolled": that_many_rolled(8),
}
NEEDED = [0, 1, 1, 3, 3, 3, 3, 7]
"""How many have to be healthy before the first, the second ... begins."""


killed = pytest.mark.parametrize("killed", [False, True], ids=["never", "at every step"])


@pytest.mark.thorough
@killed
def test_a_change_goes_to_one_then_two_then_four_though_it_is_killed(
    stage: Stage,
    controller: Start,
    audit: Callable[..., list[dict[str, Any]]],
    reroll_kubeconfig: Path,
    killed: bool,
) -> None:
    webs = [web(number, max_parallel="doubling") for number in range(8)]
    stage.make(build.configmap(), *webs)
    one = begun(stage, controller, webs)
    spreading = Spreading(audit, reroll_kubeconfig, "deployments")

    change(stage, "second")
    if killed:
        killed_at_each(ROUNDS, one, stage, webs)
    all_healthy(stage, webs)

    begins = spreading.begins()
    assert len(begins) == 8
    for needed, (under_way, healthy) in zip(NEEDED, begins, strict=True):
        assert healthy >= needed
        assert under_way + healthy <= 2 ** (healthy + 1).bit_length() - 1
    for each in webs:
        assert len(stage.revisions(each)) == 2


@pytest.mark.slow
def test_the_replica_that_takes_over_goes_on_where_the_leader_was(
    stage: Stage,
    controller: Start,
    audit: Callable[..., list[dict[str, Any]]],
    reroll_kubeconfig: Path,
) -> None:
    webs = [web(number, max_parallel="doubling") for number in range(8)]
    stage.make(build.configmap(), *webs)
    first = controller()
    controller(wait="watching")
    for each in webs:
        stage.adopted(each)
        stage.settled(each)
    spreading = Spreading(audit, reroll_kubeconfig, "deployments")

    change(stage, "second")
    eventually(lambda: that_many_rolled(3)(stage, webs), "the second round began")
    first.kill()
    all_healthy(stage, webs)

    begins = spreading.begins()
    assert len(begins) == 8
    assert all(healthy >= needed for needed, (_, healthy) in zip(NEEDED, begins, strict=True))


# The third is sick

FAILURE: dict[str, Step] = {
    "when the change was made": lambda *_: True,
    "when the first rolled": that_many_rolled(1),
    "when two are healthy": that_many_healthy(2),
    "when the third rolled": that_many_rolled(3),
    "when the third failed": lambda stage, webs: verdict(stage, webs[2]) == "failed",
}


def one_after_another(stage: Stage, *, of: Kind = propagating.DEPLOYMENT, **more: str) -> Webs:
    """Four of them, each in a wave of its own; the third is sick with the next content."""
    webs = [web(number, of=of, wave=str(number), **more) for number in range(4)]
    stage.make(build.configmap(), webs[0], webs[1])
    sick(stage, webs[2])
    stage.make(webs[3])
    return webs


def stopped_at_the_third(stage: Stage, webs: Webs) -> None:
    why = judged(stage, webs[2], "failed")["why"]
    assert "by its deadline" in why
    told(stage, webs[3], "Stopped", "web-2", "ConfigMap", why)
    assert rolled(stage, webs) == ["web-0", "web-1", "web-2"]


@pytest.mark.slow
def test_a_failure_stops_the_rest_though_it_is_killed_at_every_step(
    stage: Stage, controller: Start
) -> None:
    webs = one_after_another(stage)
    one = begun(stage, controller, webs)

    change(stage, "broken")
    killed_at_each(FAILURE, one, stage, webs)

    stopped_at_the_third(stage, webs)
    stage.quiet(webs[3])
    assert [len(stage.revisions(each)) for each in webs] == [2, 2, 2, 1]


@pytest.mark.thorough
@pytest.mark.parametrize("kind", PODS_THAT_RUN, ids=lambda kind: kind.name, indirect=True)
def test_a_failure_stops_the_rest_and_the_next_content_goes_through(
    kind: Kind, stage: Stage, controller: Start
) -> None:
    webs = one_after_another(stage, of=kind)
    one = begun(stage, controller, webs)
    change(stage, "broken")
    stopped_at_the_third(stage, webs)
    assert one.said("Failing", "web-2")
    last = stage.record(webs[3])

    healed(stage, webs[2])
    assert stage.record(webs[3]) == last
    change(stage, "mended")

    # The sick one needs no turn, since it may be the repair; who was held skips the bad content.
    stage.rolled(webs[3], since=last["n"])
    all_healthy(stage, [webs[0], webs[1], webs[3]])
    assert len(stage.revisions(webs[3])) == 2


def so_many_are_back(number: int, field: str) -> Step:
    """Those that went back, by a field of their trials."""
    return lambda stage, webs: sum(bool(trial(stage, one).get(field)) for one in webs) >= number


WAY_BACK: dict[str, Step] = {
    "when the change was made": lambda *_: True,
    "when the first rolled": that_many_rolled(1),
    "when the first is healthy": that_many_healthy(1),
    "when the second wave began": that_many_rolled(3),
    "when the third failed": lambda stage, webs: verdict(stage, webs[2]) == "failed",
    "when the first went back": so_many_are_back(1, "back"),
    "when all went back": so_many_are_back(3, "back"),
    "when one is healthy again": so_many_are_back(1, "b"),
    "when all are": so_many_are_back(3, "b"),
}


@pytest.mark.thorough
@killed
def test_those_that_rolled_go_back_and_are_held_though_it_is_killed(
    stage: Stage, controller: Start, killed: bool
) -> None:
    more = {"on_failure": "rollback", "revisions": "true"}
    webs = [web(number, wave=wave, **more) for number, wave in enumerate("0112")]
    stage.make(build.configmap(), webs[0], webs[1], impatient(webs[2]), webs[3])
    one = begun(stage, controller, webs)
    pinned(stage, webs)
    good = stage.record(webs[3])["pins"]
    sicken(stage, webs[1])  # Without a deadline that is soon over: it is under way until then.
    sicken(stage, webs[2])
    before = [len(stage.revisions(each)) for each in webs]

    change(stage, "broken")
    if killed:
        killed_at_each(WAY_BACK, one, stage, webs)

    told(stage, webs[3], "Stopped", "web-2")
    for each in webs[:3]:
        if not killed:  # An Event that a process did not live to send is not sent again.
            told(stage, each, "RolledBack", "web-2", "by its deadline")
        eventually(lambda each=each: trial(stage, each).get("b") == "healthy", "it is back")
        record = stage.record(each)
        assert record["held"]
        assert record["pins"] != good
        assert good in stage.template(each)["metadata"]["annotations"].values()
    assert stage.record(webs[3])["pins"] == good
    stage.quiet(webs[3])
    # Each rolled once, and went back to a ReplicaSet that was there.
    after = [len(stage.revisions(each)) for each in webs]
    assert [now - then for now, then in zip(after, before, strict=True)] == [1, 1, 1, 0]


def test_a_failure_that_may_go_on_stops_nothing(stage: Stage, controller: Start) -> None:
    webs = one_after_another(stage, on_failure="continue")
    begun(stage, controller, webs)

    change(stage, "broken")

    all_healthy(stage, [webs[0], webs[1], webs[3]])
    judged(stage, webs[2], "failed")
