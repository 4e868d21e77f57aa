"""What can be wrong with a way back, what must not be taken back, and what must not delay it."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.scenarios import custom
from tests.scenarios.custom import EXAMPLE_KINDS, SAMPLES
from tests.scenarios.revised import copies, pins
from tests.scenarios.stage import Controller, Stage, again, alone, eventually
from tests.scenarios.test_custom_commands import well
from tests.scenarios.withdrawn import (
    DEPLOYMENT,
    STATEFULSET,
    Play,
    Start,
    app,
    fragile,
    kubelet,
    reads_good,
)
from tests.support import build
from tests.support.build import Object
from tests.support.command import Finished, reroll

from reroll.core.tables.kinds import Kind
from reroll_dev.api import path_to
from reroll_dev.cluster import DevCluster

Command = Callable[..., Finished]
COUNTS = ("replicas", "updatedReplicas", "availableReplicas")


# The rollback is sick too


def test_a_rollback_that_is_sick_too_is_told_and_nothing_more_is_tried(
    stage: Stage, controller: Start
) -> None:
    stage.make(app())
    is_broken: list[bool] = []
    with kubelet(stage, lambda values: reads_good(values) and not is_broken):
        web = fragile(DEPLOYMENT, spec={"strategy": {"type": "Recreate"}})
        play = Play(stage, controller, web)
        is_broken.append(True)  # Say, a database that is down.

        play.change("bad")
        trial = play.until("is sick with both", v="failed", b="failed")
        assert "taken back: pod" in trial["why"]
        (event, *_) = eventually(lambda: stage.events(web, "RollbackFailed"))
        assert "nothing more is tried" in event["message"]
        n = stage.record(web)["n"]
        again(play.one)
        stage.quiet(web, 4)
        assert stage.record(web)["n"] == n
        assert play.pins == play.good


# Secrets


def password(stage: Stage, web: Object) -> str:
    return pins(stage, web).get(("Secret", "db"), "")


def with_secret(kind: Kind = DEPLOYMENT, **more: Any) -> Object:
    return fragile(kind, uses="secret/db", **more)


def test_a_secret_is_never_taken_back_unless_it_says_so_itself(
    stage: Stage, controller: Start
) -> None:
    stage.make(build.secret("db", {"key": "first"}))
    with kubelet(stage, lambda values: "YmFk" not in str(values)):  # "bad", encoded.
        play = Play(stage, controller, with_secret(), source="Secret")
        stage.change("Secret", "db", key="bad")
        play.until("fails", v="failed")
        stage.quiet(play.web, 4)
        assert "back" not in play.trial
        assert password(stage, play.web) != play.good

        stage.api.patch(
            path_to("Secret", "db", stage.namespace),
            {"metadata": {"annotations": {"reroll.dev/on-failure": "rollback"}}},
        )
        play.until("goes back", back=True, b="healthy")
        assert password(stage, play.web) == play.good


@pytest.mark.slow
def test_an_old_credential_that_was_revoked_is_told_as_such(
    stage: Stage, controller: Start
) -> None:
    asks = {"reroll.dev/on-failure": "rollback"}
    stage.make(build.secret("db", {"key": "first"}, annotations=asks))
    revoked: list[str] = []
    with kubelet(stage, lambda values: not any(one in str(values) for one in revoked)):
        web = with_secret(spec={"strategy": {"type": "Recreate"}})
        play = Play(stage, controller, web, source="Secret")
        revoked += ["YmFk", "Zmlyc3Q="]  # "bad" never worked, and "first" does not any more.
        stage.change("Secret", "db", key="bad")
        play.until("is sick with both", v="failed", b="failed")
        (event, *_) = eventually(lambda: stage.events(web, "RollbackFailed"))
        assert f"what Secret {stage.namespace}/db held before may be revoked" in event["message"]
        n = stage.record(web)["n"]
        stage.quiet(web, 3)
        assert stage.record(web)["n"] == n


def test_a_source_without_revisions_rolls_and_has_no_way_back(
    stage: Stage, controller: Start
) -> None:
    stage.make(app(annotations={"reroll.dev/revisions": "false"}))
    with kubelet(stage):
        web = fragile(DEPLOYMENT)
        stage.make(web)
        one = alone(controller)
        stage.adopted(web)
        stage.settled(web)
        stage.change("ConfigMap", "app", key="bad")
        (event, *_) = eventually(lambda: stage.events(web, "RollbackFailed"))
        assert "there is no way back" in event["message"]
        assert pins(stage, web) == {}
        stage.quiet(web)
        assert not one.said("RolledBack")


# Stateful sets that are stuck


@pytest.mark.thorough
@pytest.mark.parametrize("policy", ["OrderedReady", "Parallel"])
def test_the_stuck_pods_of_a_statefulset_are_replaced_when_it_goes_back(
    stage: Stage, controller: Start, policy: str
) -> None:
    stage.make(app())
    spec = {"podManagementPolicy": policy, "replicas": 2}
    with kubelet(stage):
        play = Play(stage, controller, fragile(STATEFULSET, spec=spec))
        play.change("bad")
        play.is_back()
        play.pods_read("first")

        # A repair gets through as well, where nothing went back.
        stage.annotate(play.web, on_failure="hold")
        play.change("bad too")
        play.until("fails", v="failed")
        play.change("good")
        play.until("is healthy", v="healthy")
        play.pods_read("good")


# What does not delay it


@pytest.mark.slow
def test_neither_cooldown_nor_soak_nor_limits_delay_the_way_back_or_a_release(
    stage: Stage, controller: Start, release: Command, tmp_path: Path
) -> None:
    """Another one is under way for as long as the test runs, and there is room for one."""
    file = tmp_path / "limits.yaml"
    file.write_text(json.dumps({"limits": {"cluster": 2}}))
    stage.make(app())
    slow = fragile(DEPLOYMENT, "slow", soak="1h", deadline="1h", on_failure="hold")
    slow["spec"]["progressDeadlineSeconds"] = 3000
    with kubelet(stage):
        stage.make(slow)
        web = fragile(DEPLOYMENT, soak="1h")
        play = Play(stage, controller, web, "--config", str(file))
        eventually(lambda: pins(stage, slow), "the other is pinned")
        stage.settled(slow)
        play.change("bad")
        play.rolls()  # Before that a cooldown would delay the roll itself.
        stage.annotate(web, cooldown="1h")
        file.write_text(json.dumps({"limits": {"cluster": 1}}))
        again(play.one)
        play.is_back()
        eventually(lambda: (stage.record(slow).get("trial") or {}).get("of"), "it is under way")

        release("deployment/web")
        play.rolls()
        play.until("fails again", v="failed", back=True)
        play.is_back()


# Copies that a way back needs


@pytest.mark.slow
def test_the_copy_to_go_back_to_is_not_collected(
    stage: Stage, controller: Start, cluster: DevCluster
) -> None:
    stage.make(app())
    with kubelet(stage):
        web = fragile(DEPLOYMENT, spec={"revisionHistoryLimit": 0}, on_failure="hold")
        play = Play(stage, controller, web)
        for value in ("bad", "bad too", "bad again"):
            n = stage.record(web)["n"]
            play.change(value)
            stage.rolled(web, since=n)
            play.until("fails", v="failed", back="")
        where = ("-n", stage.namespace, "--kubeconfig", cluster.kubeconfig())
        done = reroll("gc", *where, "--min-age", "0s", "--keep", "0")
        assert done.code == 0, done.err
        assert play.good in copies(stage)

        stage.annotate(web, on_failure="rollback")
        play.is_back()


# Templates that stay as they are


@pytest.mark.slow
def test_evictions_end_at_the_first_pod_that_fails_and_there_is_no_way_back(
    stage: Stage, controller: Start
) -> None:
    stage.make(app())
    with kubelet(stage):
        web = fragile(DEPLOYMENT, revisions=False, strategy="evict", spec={"replicas": 3})
        play = Play(stage, controller, web)
        before = {pod["metadata"]["uid"] for pod in stage.pods(web)}

        play.change("bad")
        play.until("fails", v="failed")
        (event, *_) = eventually(lambda: stage.events(web, "RollbackFailed"), "people are told")
        assert "strategy 'evict' leaves its template as it is" in event["message"]
        again(play.one)
        stage.quiet(web)
        after = {pod["metadata"]["uid"] for pod in stage.pods(web)}
        assert len(before & after) == 2

        play.change("good")
        play.until("is healthy", v="healthy")
        play.pods_read("good")


# Kinds that keep no earlier templates


def test_a_custom_kind_without_revisions_has_no_way_back_and_that_is_said(
    stage: Stage, started: Callable[..., Controller]
) -> None:
    kind = next(one for one in EXAMPLE_KINDS if one.kind == "DeploymentConfig")
    stage.make(build.configmap("app", {"level": "info", "other": "x"}), build.secret("db"))
    asked = {"reroll.dev/on-failure": "rollback", "reroll.dev/deadline": "3s"}
    web = custom.made(kind, "web", SAMPLES[kind.name].spec, **asked)
    made = stage.make(web)
    well(stage.api, stage.path(web), **dict.fromkeys(COUNTS, 1))
    started(custom.rows("openshift"))
    number = stage.adopted(web)["n"]

    stage.change("ConfigMap", "app", level="bad")
    stage.rolled(web, since=number)
    owner = {key: made[key] for key in ("apiVersion", "kind")}
    owner |= {"name": "web", "uid": made["metadata"]["uid"], "controller": True}
    pod = build.pod_template("web", fail="crashloop")
    metadata = {**pod["metadata"], "name": "web-1", "ownerReferences": [owner]}
    stage.make({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod["spec"]})

    (event, *_) = eventually(lambda: stage.events(web, "RollbackFailed"), "people are told")
    assert "keeps no earlier templates; turn its revisions on" in event["message"]
    assert stage.record(web)["trial"]["v"] == "failed"
    before = stage.get(web)["spec"]
    time.sleep(1.5)
    assert stage.get(web)["spec"] == before
