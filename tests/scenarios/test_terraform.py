"""Terraform's way of writing: one PUT with what it knows, and so without what others added.

Each `apply` takes record and stamp away, and the rollout that this is has to be the only one.
"""

from collections.abc import Callable
from functools import partial

from tests.scenarios.releases import QUIET
from tests.scenarios.stage import ENABLED, Controller, Stage, eventually
from tests.support import build
from tests.support.build import Object
from tests.support.settled import is_settled

Start = Callable[..., Controller]


def web(edition: str = "1") -> Object:
    return build.deployment(
        uses="configmap/app", annotations=ENABLED, template_labels={"edition": edition}
    )


def apply(stage: Stage, value: str, edition: str = "1") -> None:
    """What it knows is in its state; what it does not know is gone afterwards."""
    for manifest in (build.configmap("app", {"key": value}), web(edition)):
        stage.api.replace(stage.path(manifest), manifest)


def rollouts(stage: Stage) -> int:
    """The number of the newest: it grows when an old ReplicaSet is taken again, too."""
    key = "deployment.kubernetes.io/revision"
    return max(int(one["metadata"]["annotations"][key]) for one in stage.revisions(web()))


def done(stage: Stage, count: int) -> bool:
    """It had so many rollouts, is through with the last, and has its record."""
    return rollouts(stage) >= count and is_settled(stage.get(web())) and bool(stage.record(web()))


def test_each_apply_is_one_rollout_whatever_it_takes_away(stage: Stage, controller: Start) -> None:
    """Ours, where the template stays as it was; else theirs, in which pods have what is new."""
    stage.make(build.configmap("app", {"key": "one"}), web())
    controller(*QUIET, wait="watching")
    stage.adopted(web())
    stage.settled(web())
    applied = [("two", "1"), ("three", "1"), ("four", "2"), ("five", "2"), ("five", "3")]

    for count, (value, edition) in enumerate(applied, start=2):
        apply(stage, value, edition)
        eventually(partial(done, stage, count), f"rollout {count} is done")
        stage.quiet(web(), 2.5)
        assert rollouts(stage) == count, (value, edition)


def test_an_apply_that_changes_nothing_rolls_nothing_and_the_record_comes_back(
    stage: Stage, controller: Start
) -> None:
    stage.make(build.configmap("app", {"key": "one"}), web())
    controller(*QUIET, wait="watching")
    record = stage.adopted(web())
    stage.settled(web())

    for _ in range(3):
        apply(stage, "one")
        eventually(lambda: stage.record(web()) == record, "it has its record again")

    stage.quiet(web(), 2.5)
    assert rollouts(stage) == 1


def test_an_apply_that_only_takes_a_stamp_away_is_no_fight(stage: Stage, controller: Start) -> None:
    """That is a rollout, which nobody but them can spare; ours does not answer it with another."""
    stage.make(build.configmap("app", {"key": "one"}), web())
    controller(*QUIET, wait="watching")
    number = stage.adopted(web())["n"]
    stage.change("ConfigMap", "app", key="two")
    record = stage.rolled(web(), since=number)
    stage.settled(web())

    for _ in range(3):
        apply(stage, "two")
        eventually(lambda: stage.record(web()) == record, "it has its record again")
        stage.settled(web())

    stage.quiet(web(), 2.5)
    assert stage.stamp(web()) is None
    assert rollouts(stage) == 3
