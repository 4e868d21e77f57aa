"""The chart on a real node, as the pages about installing tell it."""

from collections.abc import Callable

import pytest
from tests.node.installation.installed import NAME, Installation, amiss
from tests.node.installation.pages import page, rolls, web
from tests.node.serving import ServingStage
from tests.scenarios.stage import ENABLED, eventually
from tests.support.tools import Tool

from reroll_dev.api import Api, path_to

Install = Callable[..., Installation]
Shell = Callable[..., str]

LEFT_BY_KUBERNETES = {"kube-root-ca.crt"}


def test_an_opted_in_workload_shows_its_new_page(
    install: Install, stage: ServingStage, kubectl: Tool, shell: Shell
) -> None:
    one = web()
    stage.make(page("Hello world"), one)
    installed = install()
    assert len(installed.pods()) == 2
    assert "Succeeded" in installed.helm("test")
    stage.settled(one)

    kubectl("annotate", "deployment/web", "-n", stage.namespace, "reroll.dev/enabled=true")
    stage.adopted(one)
    stage.all_answer(one, "/", "Hello world")
    rolls(stage, one, "updated")

    assert len(stage.revisions(one)) == 2
    assert [event["reason"] for event in stage.events(one)] == ["ConfigChanged"]
    home = ("--controller-namespace", installed.home)
    said = shell("doctor", "-v", *home)
    assert "2 of 2 replicas are ready" in said
    assert amiss(said) == []
    versions = [line for line in said.splitlines() if " has version " in line]
    assert len(versions) == len(set(versions)) >= 2, "each replica is told once"
    assert "1 workload opted in, and nothing is wrong" in said
    said = shell("explain", "deployment/web", "-n", stage.namespace, *home)
    assert "because of configmap/app (index.html)" in said
    assert installed.restarts() == 0


def test_helm_test_fails_where_a_right_is_missing_and_its_pod_says_which(
    install: Install, kubectl: Tool
) -> None:
    installed = install({"replicas": 1})
    kubectl("delete", "clusterrolebinding", f"{NAME}-{installed.home}")

    with pytest.raises(AssertionError, match="pod reroll-test failed"):
        installed.helm("test")

    said = kubectl("logs", "-n", installed.home, f"{NAME}-test").splitlines()
    assert [line for line in said if line.startswith("problem: rights: rolling: ")]


def test_the_pod_is_confined_as_it_asks_to_be(install: Install, api: Api, kubectl: Tool) -> None:
    installed = install({"replicas": 1})
    [name] = installed.pods()
    inside = ("exec", "-n", installed.home, name, "--")

    assert kubectl(*inside, "id", "-u").strip() == "65532"
    status = kubectl(*inside, "cat", "/proc/self/status")
    facts = dict(line.split(":\t", 1) for line in status.splitlines())
    assert int(facts["CapBnd"], 16) == 0
    assert (facts["NoNewPrivs"], facts["Seccomp"]) == ("1", "2")
    for place in ("/tmp", "/opt/reroll", "/"):
        with pytest.raises(AssertionError, match="Read-only file system"):
            kubectl(*inside, "touch", f"{place}/file")
    # And what is not confined so is not let in.
    with pytest.raises(AssertionError, match="violates PodSecurity"):
        kubectl("run", "other", "-n", installed.home, "--image=localhost/web:dev")
    kubectl("run", "other", "-n", "default", "--image=localhost/web:dev", "--dry-run=server")


def test_a_changed_setting_replaces_the_controller_and_a_rollback_brings_it_back(
    install: Install, stage: ServingStage
) -> None:
    one = web(annotations=ENABLED)
    stage.make(page("one"), one)
    installed = install()
    stage.adopted(one)
    first = set(installed.pods())

    installed.apply("upgrade", {"settings": {"debounce": "2s"}})
    second = set(installed.pods())
    assert not first & second
    rolls(stage, one, "two")
    installed.helm("rollback", "--wait")
    installed.settled()
    assert not second & set(installed.pods())
    rolls(stage, one, "three")

    assert len(stage.revisions(one)) == 3
    assert installed.restarts() == 0


def test_after_an_uninstall_workloads_run_on_and_the_next_installation_knows_them(
    install: Install, stage: ServingStage, api: Api
) -> None:
    one = web(annotations=ENABLED)
    stage.make(page("one"), one)
    installed = install()
    stage.adopted(one)
    rolls(stage, one, "two")
    pods, record = stage.uids(one), stage.record(one)

    installed.helm("uninstall", "--wait")

    eventually(lambda: installed.every_pod() == [], "its pods are gone")
    assert stage.uids(one) == pods
    assert stage.record(one) == record
    left = {
        kind: {each["metadata"]["name"] for each in api.list(path_to(kind, "", installed.home))}
        for kind in ("ConfigMap", "Secret", "Lease", "Service", "Role", "NetworkPolicy")
    }
    assert left.pop("Secret") == {f"{NAME}-digest-key"}
    assert left.pop("Lease") == {NAME}
    records = left.pop("ConfigMap") - LEFT_BY_KUBERNETES
    assert records
    assert all(
        "reroll.dev/records"
        in api.get(path_to("ConfigMap", name, installed.home))["metadata"]["labels"]
        for name in records
    )
    assert set().union(*left.values()) == set()
    stage.change("ConfigMap", "app", **{"index.html": "while it was away"})
    installed.apply("install", {})
    stage.all_answer(one, "/", "while it was away")
    assert len(stage.revisions(one)) == 3


@pytest.mark.parametrize("mode", ["policy", "webhook"])
def test_with_revisions_pods_have_the_copy_of_their_revision(
    install: Install, stage: ServingStage, shell: Shell, mode: str
) -> None:
    one = web(annotations={**ENABLED, "reroll.dev/revisions": "true"})
    stage.make(page("one"), one)
    installed = install({"features": {"revisions": True}, "pins": {"mode": mode}})
    stage.adopted(one)
    rolls(stage, one, "two")

    pin = stage.template(one)["metadata"]["annotations"]["reroll.dev/pins"]
    [pod] = stage.pods(one)
    names = [each["configMap"]["name"] for each in pod["spec"]["volumes"] if "configMap" in each]
    assert pin == f"configmap/app={names[0]}"
    assert names[0] != "app"
    assert installed.restarts() == 0
    assert amiss(shell("doctor", "--controller-namespace", installed.home)) == []
