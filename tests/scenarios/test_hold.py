"""`reroll hold` and `reroll release`: a roll is delayed, never lost."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.scenarios.rolling import Command, a_web
from tests.scenarios.stage import ENABLED, Controller, Stage, eventually
from tests.support import build
from tests.support.command import reroll
from tests.support.terminal import in_terminal

from reroll.cli.errors import Exit
from reroll_dev.api import path_to
from reroll_dev.cluster import DevCluster

HOLD = "reroll.dev/hold"


def test_a_hold_keeps_a_workload_from_rolling_until_it_is_released(
    stage: Stage,
    hold: Command,
    release: Command,
    sync: Command,
    controller: Callable[..., Controller],
) -> None:
    stage.make(build.configmap())
    web, other = stage.make(a_web()), stage.make(a_web("other"))
    one = controller()
    stage.adopted(web)
    number = stage.adopted(other)["n"]

    held = hold("deployment/web", "--reason", "incident 42")
    assert (held.code, held.err) == (Exit.OK, "")
    assert held.out.splitlines()[1].split() == [
        "deployment/web", "held", "incident", "42",
    ]  # fmt: skip
    stage.change("ConfigMap", "app", key="new")
    stage.rolled(other, number)
    eventually(lambda: stage.events(web, "Held"), "people are told")
    assert "incident 42" in stage.events(web, "Held")[0]["message"]
    assert stage.stamp(web) is None
    shell = sync()
    assert (shell.code, "incident 42" in shell.out) == (Exit.OK, True)
    assert stage.stamp(web) is None
    assert one.said("Held", "/web")

    let_go = release("deployment/web")
    assert let_go.out.splitlines()[1].split()[-1] == "released"
    eventually(lambda: stage.stamp(web), "it rolls")
    assert release("deployment/web").out.splitlines()[1].endswith("was not held")


def test_a_namespace_is_held_and_a_hold_ends_by_itself(
    stage: Stage,
    hold: Command,
    release: Command,
    controller: Callable[..., Controller],
) -> None:
    stage.make(build.configmap())
    web = stage.make(a_web())
    exempt = a_web("exempt")
    exempt["metadata"]["annotations"][HOLD] = "false"
    late = build.deployment("late", replicas=0, uses=["configmap/app"])
    stage.make(exempt, late)
    controller()
    stage.adopted(web)
    number = stage.adopted(exempt)["n"]

    assert hold(f"namespace/{stage.namespace}").code == Exit.OK
    # Namespaces and ConfigMaps come by two watches: what it does next tells that it knows of this.
    here = path_to("Namespace", stage.namespace)
    stage.api.patch(here, {"metadata": {"annotations": ENABLED}})
    stage.adopted(late)
    stage.change("ConfigMap", "app", key="new")
    stage.rolled(exempt, number)
    eventually(lambda: stage.events(web, "Held"), "it is held")
    assert hold(f"ns/{stage.namespace}", "--until", "2s", "--reason", "sale").code == Exit.OK
    namespace = stage.api.get(here)
    assert namespace["metadata"]["annotations"][HOLD].startswith("until 20")
    assert namespace["metadata"]["annotations"][HOLD].endswith("Z sale")

    eventually(lambda: stage.stamp(web), "it rolls when the time has come")


def test_what_does_not_exist_cannot_be_held(stage: Stage, hold: Command, release: Command) -> None:
    stage.make(a_web("checkout"))

    for command in (hold, release):
        done = command("deployment/checkot")
        assert (done.code, done.out) == (Exit.FAILED, "")
        assert (
            f"there is no Deployment {stage.namespace}/checkot; did you mean deployment/checkout?"
            in done.err
        )
    assert hold("deployment/checkout", "-o", "json").json["targets"][0]["hold"] == "true"


def test_who_may_not_change_a_workload_is_told(
    stage: Stage, hold: Command, kubeconfig_for: Callable[..., Path]
) -> None:
    stage.make(a_web())
    rules = [{"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get"]}]
    done = hold("deployment/web", identity=kubeconfig_for(rules, stage.namespace))

    assert done.code == Exit.FAILED
    assert "deployments.apps" in done.err


USAGE = {
    ("--until", "tomorrow"): "'tomorrow' is neither a time nor a duration",
    ("--until", "2020-01-01T00:00:00Z"): "2020-01-01T00:00:00Z is over already",
    ("--until", "0s"): "0s is over already",
    ("--reason", "false"): "is not a reason; say it in words",
}


@pytest.mark.parametrize(("args", "sentence"), USAGE.items(), ids=map(str, USAGE))
def test_a_hold_that_means_nothing_is_refused(args: tuple[str, ...], sentence: str) -> None:
    done = reroll("hold", "deployment/web", *args)

    assert (done.code, done.out) == (Exit.USAGE, "")
    assert sentence in done.err


def test_a_hold_in_a_terminal(stage: Stage, cluster: DevCluster) -> None:
    stage.make(a_web())
    where = ("-n", stage.namespace, "--kubeconfig", cluster.kubeconfig("admin"))

    seen = in_terminal("hold", *where, "deployment/web")

    assert seen.code == Exit.OK
    assert "held" in seen.text


def test_labels_select_what_is_held_and_released(
    stage: Stage, hold: Command, release: Command
) -> None:
    web, other = a_web(), a_web("other")
    web["metadata"]["labels"] = {"tier": "web"}
    stage.make(build.configmap(), web, other)

    held = hold("-l", "tier=web", "--reason", "incident 42")

    assert held.code == Exit.OK, held.err
    annotations = [stage.get(one)["metadata"]["annotations"].get(HOLD) for one in (web, other)]
    assert annotations == ["incident 42", None]
    assert release("-l", "tier=web").out.splitlines()[1].endswith("released")
    assert hold("-l", "tier=none").out == "no workload here has these labels\n"
    for wrong in ((), ("deployment/web", "-l", "tier=web"), ("-l", "a in b")):
        assert hold(*wrong).code == Exit.USAGE
