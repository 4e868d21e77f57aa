"""Commands find the controller of a chart release, whatever it is called, and decide as it does."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.chart.rendered import values_file
from tests.scenarios.stage import ENABLED, Controller, Stage
from tests.support import build
from tests.support.chart import CHART
from tests.support.command import Finished, reroll
from tests.support.tools import Tool, kubeconfig_of

from reroll.cli.errors import Exit
from reroll_dev.api import Api, path_to
from reroll_dev.cluster import DevCluster

Install = Callable[..., tuple[str, ...]]
Grant = Callable[..., Path]


@pytest.fixture
def install(api: Api, helm: Tool, tmp_path: Path) -> Iterator[Install]:
    """`install("nu", namespace, {…})`: a release, and the flags for a process that runs as it."""
    made: list[tuple[str, str]] = []

    def run(release: str, home: str, settings: dict[str, Any]) -> tuple[str, ...]:
        file = values_file(tmp_path, {"replicas": 0, "settings": settings})
        helm("install", release, CHART, "--namespace", home, "--values", file)
        made.append((release, home))
        name = release if "reroll" in release else f"{release}-reroll"
        content = api.get(path_to("ConfigMap", name, home))["data"]["reroll.yaml"]
        config = tmp_path / f"{release}.yaml"
        config.write_text(content.replace("probes: :8081", "probes: 127.0.0.1:0"))
        return "--config", str(config), "--namespace-selector", ""

    yield run
    for release, home in made:
        helm("uninstall", release, "--namespace", home, "--ignore-not-found")


@pytest.fixture
def command(cluster: DevCluster, namespace: str) -> Callable[..., Finished]:
    """A command as the guides print it: nothing says where the controller is."""

    def run(*args: str | Path, identity: str | Path = "admin") -> Finished:
        return reroll(*args, "--kubeconfig", kubeconfig_of(cluster, identity))

    return run


def test_after_an_installation_every_command_works_as_printed(
    stage: Stage,
    install: Install,
    controller: Callable[..., Controller],
    command: Callable[..., Finished],
    cluster: DevCluster,
) -> None:
    place = stage.namespace
    flags = install("nu", place, {"namespaces": [place], "mounts": "live"})
    web = build.deployment("web", uses=["configmap/app", "secret/db"], annotations=ENABLED)
    stage.make(build.configmap("app"), build.secret("db"), web)
    controller(*flags, kubeconfig=cluster.kubeconfig("admin"))
    stage.adopted(web)

    explained = command("explain", "deployment/web", "-n", place, "-o", "json")
    assert explained.code == Exit.OK, explained.err
    facts = {one["name"]: one["value"] for one in explained.json["decided"]}
    assert facts["mounts"] == "live"
    assert explained.json["reason"] == "UpToDate"
    assert command("plan", "-n", place).code == Exit.OK
    assert command("sync", "-n", place).code == Exit.OK
    status = command("key", "status", "--controller-namespace", place, "-o", "json")
    assert status.json["secret"] == f"Secret {place}/nu-reroll-digest-key"
    assert status.json["keys"][0]["records"] == 1


def test_of_several_that_look_at_a_namespace_one_is_taken_and_that_is_said(
    stage: Stage, install: Install, command: Callable[..., Finished]
) -> None:
    place = stage.namespace
    for release in ("one", "two"):
        install(release, place, {"namespaces": [place], "mounts": "live"})
    stage.make(build.configmap("app"), build.deployment("web", annotations=ENABLED))

    done = command("plan", "-n", place)
    assert f"installations here (Deployment {place}/one-reroll, " in done.err
    assert f"this is decided as Deployment {place}/one-reroll does; choose with" in done.err
    chosen = command("plan", "-n", place, "--controller-namespace", place, "--lease", "two-reroll")
    assert chosen.err == ""
    refused = command("key", "status", "--controller-namespace", place)
    assert refused.code == Exit.USAGE
    assert f"Deployment {place}/one-reroll, Deployment {place}/two-reroll" in refused.err
    one = ("--controller-namespace", place, "--lease", "one-reroll")
    missing = command("key", "status", *one).err
    assert f"Secret {place}/one-reroll-digest-key does not exist" in missing


def test_who_may_not_look_for_it_is_told_once_and_needs_no_key_for_config_maps(
    stage: Stage, install: Install, command: Callable[..., Finished], kubeconfig_for: Grant
) -> None:
    place = stage.namespace
    web = build.deployment("web", uses="configmap/app", annotations=ENABLED)
    stage.make(build.configmap("app"), web)
    mine = [
        _rule("apps", "deployments", "get", "list", "patch"),
        _rule("", "configmaps", "get"),
        _rule("", "events", "create"),
        _rule("apps", "replicasets", "list"),
    ]
    pipeline = kubeconfig_for(mine, place)

    adopted = command("sync", "deployment/web", "-n", place, identity=pipeline)
    assert adopted.code == Exit.OK, adopted.err
    assert adopted.err.count("deployments.apps in all namespaces may not be listed") == 1
    assert "--controller-namespace" in adopted.err
    assert "k" not in stage.record(web)
    stage.change("ConfigMap", "app", key="new")
    rolled = command("sync", "deployment/web", "-n", place, identity=pipeline)
    assert rolled.code == Exit.OK
    assert stage.record(web)["why"] == "ConfigChanged"
    assert stage.api.list(path_to("Secret", "", place)) == []


def _rule(group: str, resource: str, *verbs: str) -> dict[str, Any]:
    return {"apiGroups": [group], "resources": [resource], "verbs": list(verbs)}


def test_a_deployment_that_only_looks_like_a_controller_is_left_out(
    stage: Stage, api: Api, command: Callable[..., Finished], namespace: str
) -> None:
    """Anyone may give a Deployment our label, and settings by which everything rolls."""
    stage.make(build.configmap("app"), build.deployment("web", uses=["configmap/app"]))
    fake = build.deployment("fake")
    fake["metadata"]["labels"] = {"reroll.dev/component": "controller"}
    (container,) = fake["spec"]["template"]["spec"]["containers"]
    container["image"] = "reroll"
    container["args"] = ["run", "--enabled=true", f"--namespaces={namespace}"]
    stage.make(fake)

    done = command("plan", "-n", namespace, "--all", "-o", "json")

    assert f"Deployment {namespace}/fake looks like a controller and may not roll here" in done.err
    assert not [row for row in done.json["workloads"] if row["reason"] == "Adopted"]
