"""`reroll restart`: what `kubectl rollout restart` does, with a reason, a wait and a way back."""

from collections.abc import Callable

import pytest
from tests.scenarios.propagating import healthy_pods, new_pods
from tests.scenarios.rolling import Command, a_web, that_fails
from tests.scenarios.stage import ENABLED, Controller, Stage, a, eventually
from tests.scenarios.test_sync_failing import heard, started
from tests.support import build
from tests.support.command import reroll
from tests.support.faultproxy import FaultProxy
from tests.support.faults import Answer, DropResponse, Fault, Match

from reroll.cli.errors import Exit
from reroll.core.tables.kinds import KINDS, Strategy
from reroll_dev.cluster import DevCluster

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
        assert told == "a restart was requested: rotate connections"
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


def let_through(stage: Stage, one: build.Object) -> None:
    """The pods of its roll are there, and get ready only now: it is the turn of the next."""
    eventually(lambda: new_pods(stage, one), "its new pods are there")
    healthy_pods(stage, one)


def test_what_happens_before_its_turn_counts(
    stage: Stage, cluster: DevCluster, sync: Command, hold: Command
) -> None:
    stage.make(build.configmap())
    first, rolled = that_fails(stage, a_web("a")), a_web("b")
    held, left = build.deployment("c"), a_web("d")
    names = [f"deployment/{one['metadata']['name']}" for one in (first, rolled, held, left)]
    stage.make(rolled, held, left)
    for one in (rolled, held, left):
        stage.settled(one)
    sync()

    command = ("restart", *names, "--max-parallel", "1")
    with started(stage.namespace, cluster.kubeconfig("admin"), command=command) as (process, err):
        heard(err, f"Deployment {stage.namespace}/a: rolling")
        stage.change("ConfigMap", "app", key="new")
        sync("deployment/b")
        hold("deployment/c", "--reason", "incident 42")
        hold("deployment/d", "--reason", "incident 43")
        let_through(stage, first)
        rest = err.read()

    assert process.returncode == Exit.OK, rest
    assert f"Deployment {stage.namespace}/b: rolled" in rest
    for name, why in (("c", "incident 42"), ("d", "incident 43")):
        assert f"Deployment {stage.namespace}/{name}: held, " in rest
        assert why in rest
    restarted = [RESTARTED in str(stage.template(one)) for one in (first, rolled, held, left)]
    assert restarted == [True, True, False, False]


def test_a_namespace_that_is_held_before_its_turn_counts(
    stage: Stage, cluster: DevCluster, hold: Command
) -> None:
    first, later = that_fails(stage, build.deployment("a")), build.deployment("b")
    stage.make(later)
    stage.settled(later)

    command = ("restart", "deployment/a", "deployment/b", "--max-parallel", "1")
    with started(stage.namespace, cluster.kubeconfig("admin"), command=command) as (process, err):
        heard(err, f"Deployment {stage.namespace}/a: rolling")
        hold(f"namespace/{stage.namespace}", "--reason", "incident 42")
        let_through(stage, first)
        rest = err.read()

    assert process.returncode == Exit.OK, rest
    assert f"Deployment {stage.namespace}/b: held, " in rest
    assert "annotations" not in stage.template(later)["metadata"]


PASSING: dict[str, Fault] = {
    "unavailable": Answer(503),
    "too many requests": Answer(429, retry_after=1),
    "done, and the answer lost": DropResponse(),
}


@pytest.mark.parametrize("enabled", [ENABLED, {}], ids=["opted in", "not opted in"])
@pytest.mark.parametrize("fault", PASSING.values(), ids=PASSING)
def test_an_error_that_passes_is_waited_out_and_it_restarts_once(
    fault: Fault,
    enabled: dict[str, str],
    stage: Stage,
    sync: Command,
    restart: Command,
    fault_proxy: FaultProxy,
) -> None:
    stage.make(build.configmap())
    web = stage.make(build.deployment("web", uses=["configmap/app"], annotations=enabled))
    stage.settled(web)
    sync()
    fault_proxy.inject(fault, Match("PATCH", "/deployments/web$"))

    done = restart("deployment/web", "-o", "json", identity=fault_proxy.kubeconfig())

    assert done.code == Exit.OK, done.out + done.err
    assert [one["result"] for one in done.json["workloads"]] == ["rolled"]
    assert len(stage.revisions(web)) == 2
    assert len(stage.events(web, "Restarted")) == 1


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


def test_labels_select_what_is_restarted(stage: Stage, restart: Command) -> None:
    web, other = a_web(), a_web("other")
    web["metadata"]["labels"] = {"tier": "web"}
    stage.make(build.configmap(), web, other)
    for one in (web, other):
        stage.settled(one)

    done = restart("-l", "tier=web", "--no-wait", "-o", "json")

    assert done.code == Exit.OK, done.err
    assert [one["name"] for one in done.json["workloads"]] == ["web"]
    assert restart().code == Exit.USAGE
