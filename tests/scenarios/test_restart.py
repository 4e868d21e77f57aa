"""`reroll restart`: what `kubectl rollout restart` does, with a reason, a wait and a way back."""

from collections.abc import Callable

import pytest
from tests.scenarios.rolling import Command, a_web, that_fails
from tests.scenarios.stage import ENABLED, Controller, Stage, a
from tests.support import build
from tests.support.command import reroll

from reroll.cli.errors import Exit
from reroll.core.kinds import KINDS, Strategy
from reroll.devcluster.cluster import DevCluster

RESTARTED = "kubectl.kubernetes.io/restartedAt"
ABLE = [kind for kind in KINDS if Strategy.RESTART in kind.strategies]


def test_every_kind_gets_new_pods_for_a_reason_and_nothing_rolls_twice(
    stage: Stage,
    rollouts: DevCluster,
    sync: Command,
    restart: Command,
    controller: Callable[..., Controller],
) -> None:
    stage.make(build.configmap())
    workloads = [a(kind, kind.name.lower(), uses=["configmap/app"]) for kind in ABLE]
    workloads[0]["metadata"]["annotations"] = dict(ENABLED)
    for one in workloads:
        stage.make(one)
    for one in workloads:
        stage.settled(one)
    sync()
    stage.change("ConfigMap", "app", key="new")
    old = {pod["metadata"]["uid"] for one in workloads for pod in stage.pods(one)}
    names = [f"{kind.name.lower()}/{kind.name.lower()}" for kind in ABLE]

    done = restart(*names, "--reason", "rotate connections", "-o", "json")

    assert done.code == Exit.OK, done.err
    assert {one["result"] for one in done.json["workloads"]} == {"rolled"}
    for one in workloads:
        assert old.isdisjoint(pod["metadata"]["uid"] for pod in stage.pods(one))
        told = stage.events(one, "Restarted")[0]["message"]
        assert told == "somebody asked for a restart: rotate connections"
        if one["kind"] != "Rollout":
            assert RESTARTED in stage.template(one)["metadata"]["annotations"]
    enabled, *others = workloads
    assert stage.record(enabled)["why"] == "Restarted"
    assert all(stage.record(one) == {} for one in others)
    assert sync("--exit-code").code == Exit.NOTHING
    controller()
    stage.quiet(enabled)


def test_a_restart_that_fails_goes_back(stage: Stage, sync: Command, restart: Command) -> None:
    stage.make(build.configmap())
    web = that_fails(stage, a_web())
    before = stage.template(web)
    sync()

    done = restart("deployment/web", "--timeout", "1s", "--rollback-on-failure")

    assert done.code == Exit.ROLLED_BACK, done.err
    assert stage.template(web) == before
    assert stage.record(web)["why"] == "Undone"


def test_what_is_held_is_not_restarted(stage: Stage, restart: Command, hold: Command) -> None:
    web = stage.make(build.deployment("web"))
    hold("deployment/web", "--reason", "incident 42")

    refused = restart("deployment/web", "--no-wait")

    assert refused.code == Exit.FAILED
    assert "is held, nothing is restarted" in refused.err
    assert "incident 42" in refused.err
    assert "annotations" not in stage.template(web)["metadata"]


USAGE = {
    ("cronjob/nightly",): "CronJob nightly cannot be restarted; this is for Deployment,",
    ("deployment/web", "--no-wait", "--max-parallel", "1"): "--max-parallel needs --wait",
}


@pytest.mark.parametrize(("args", "sentence"), USAGE.items(), ids=map(str, USAGE))
def test_what_cannot_be_restarted_is_told_before_anybody_is_asked(
    args: tuple[str, ...], sentence: str
) -> None:
    done = reroll("restart", *args)

    assert (done.code, done.out) == (Exit.USAGE, "")
    assert sentence in done.err
