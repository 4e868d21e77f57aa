"""Custom kinds in the commands: what is told of them, and what is done to them."""

import json
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from tests.scenarios import custom
from tests.scenarios.custom import SAMPLES, marks
from tests.scenarios.stage import ENABLED, Stage, eventually
from tests.support import build
from tests.support.build import Object
from tests.support.command import Finished, reroll
from tests.support.tools import kubeconfig_of

from reroll.cli.errors import Exit
from reroll_dev.api import Api
from reroll_dev.cluster import DevCluster

APP_CONFIG = {
    "group": "example.com",
    "version": "v1",
    "kind": "AppConfig",
    "resource": "appconfigs",
    "paths": ["spec.level"],
}
FILE = {**custom.rows("prometheus-operator", "openkruise", "knative"), "sources": [APP_CONFIG]}
KINDS = custom.tables(FILE).by_name
SETS, PROMETHEUS = KINDS["StatefulSet.apps.kruise.io"], KINDS["Prometheus.monitoring.coreos.com"]
KNATIVE = KINDS["Service.serving.knative.dev"]


@pytest.fixture
def run(
    cluster: DevCluster, namespace: str, tmp_path: Path, definitions: None
) -> Callable[..., Finished]:
    """A command in the test's namespace, with the rows of the file."""
    path = custom.config(tmp_path, FILE)
    where = ("-n", namespace, "--kubeconfig", kubeconfig_of(cluster, "admin"), "--config", path)

    def command(name: str, *args: str) -> Finished:
        engine = (
            () if name in {"hold", "release", "history"} else ("--controller-namespace", namespace)
        )
        return reroll(name, *args, *where, *engine)

    return command


def a_prometheus() -> Object:
    spec = SAMPLES[PROMETHEUS.name].spec
    return custom.made(PROMETHEUS, "main", spec, **{"reroll.dev/sources": "appconfig/web"})


@pytest.fixture
def shop(stage: Stage, run: Callable[..., Finished]) -> Stage:
    """A set of each of the two kinds that are called the same, a Prometheus, and their sources."""
    settings = {"apiVersion": "example.com/v1", "kind": "AppConfig", "metadata": {"name": "web"}}
    stage.make(
        build.configmap("app", {"level": "info"}),
        build.secret("db", {"password": "old"}),
        {**settings, "spec": {"level": "info"}},
        a_prometheus(),
        custom.made(SETS, "web", SAMPLES[SETS.name].spec),
        build.statefulset("web", replicas=0, uses=["configmap/app"], annotations=ENABLED),
    )
    adopted = run("sync")
    assert adopted.code == Exit.OK, adopted.err
    return stage


def test_looks_at_a_cluster_tell_of_custom_kinds_and_sources(
    shop: Stage, run: Callable[..., Finished]
) -> None:
    namespace = shop.namespace
    tree = run("graph").out.splitlines()
    of_source = run("graph", "appconfig/web").out
    shop.change("Secret", "db", password="new")

    planned = json.loads(run("plan", "-o", "json").out)
    told = run("explain", "prometheuses.monitoring.coreos.com/main")
    apart = (
        run("explain", "statefulset/web", "-o", "json"),
        run("explain", "statefulset.apps.kruise.io/web", "-o", "json"),
    )

    assert "├─ AppConfig.example.com web" in tree
    assert "│  └─ Prometheus.monitoring.coreos.com main: annotation" in tree
    assert "   ├─ Prometheus.monitoring.coreos.com main: spec.thanos.objectStorageConfig" in tree
    assert "missing" not in "".join(tree)
    assert of_source.splitlines()[1:] == [
        "└─ AppConfig.example.com web",
        "   └─ Prometheus.monitoring.coreos.com main: annotation",
    ]
    rolling = {row["kind"]: row["strategy"] for row in planned["workloads"] if row["strategy"]}
    assert rolling == {
        "Prometheus.monitoring.coreos.com": "stamp",
        "StatefulSet.apps.kruise.io": "env",
    }
    assert f"Prometheus.monitoring.coreos.com {namespace}/main" in told.out
    assert "It rolls by stamp." in told.out
    assert [json.loads(one.out)["workload"]["kind"] for one in apart] == [
        "StatefulSet",
        "StatefulSet.apps.kruise.io",
    ]


def well(api: Api, path: str, **counts: int) -> None:
    """What an operator says of an object that it is done with."""
    seen = api.get(path)
    generation = seen["metadata"]["generation"]
    condition = {"type": "Available", "status": "True", "observedGeneration": generation}
    ready = {**condition, "type": "Ready"}
    status = {"observedGeneration": generation, "conditions": [condition, ready], **counts}
    api.patch(f"{path}/status", {"status": status})


def test_sync_waits_for_what_the_status_of_a_custom_kind_tells(
    shop: Stage, run: Callable[..., Finished]
) -> None:
    counts = dict.fromkeys(("replicas", "updatedReplicas", "availableReplicas"), 2)
    main, sets = a_prometheus(), custom.made(SETS, "web", {})
    ends: list[Finished] = []
    shop.change("Secret", "db", password="new")

    waiting = Thread(target=lambda: ends.append(run("sync", "--wait", "--timeout", "60s")))
    waiting.start()
    eventually(lambda: marks(PROMETHEUS, shop.get(main)) and marks(SETS, shop.get(sets)))
    assert not ends, "nothing has told that it is done"
    well(shop.api, shop.path(main), **counts)
    well(shop.api, shop.path(sets), **dict.fromkeys(counts, 1))
    waiting.join()

    assert ends[0].code == Exit.OK, ends[0].err
    late = run("restart", "prometheus/main", "--timeout", "1s")
    assert late.code == Exit.TIMED_OUT
    assert "the change has not been noticed yet" in late.out + late.err


def test_custom_kinds_are_restarted_held_released_and_have_a_history(
    shop: Stage, run: Callable[..., Finished]
) -> None:
    main = a_prometheus()
    shop.make(custom.made(KNATIVE, "web", SAMPLES[KNATIVE.name].spec))

    restarted = run("restart", "prometheus/main", "service.serving.knative.dev/web", "--no-wait")
    refused = run("restart", "statefulset.apps.kruise.io/web")
    held = run("hold", "prometheus/main", "--reason", "incident")
    kept = run("restart", "prometheus/main", "--no-wait")
    released = run("release", "prometheus/main")
    past = json.loads(run("history", "prometheus/main", "-o", "json").out)["history"]

    assert [restarted.code, held.code, released.code] == [Exit.OK] * 3, restarted.err
    written = shop.get(main)["spec"]["podMetadata"]["annotations"]
    assert written.keys() == {"kubectl.kubernetes.io/restartedAt"}
    assert refused.code == Exit.USAGE
    assert "StatefulSet.apps.kruise.io web cannot be restarted" in refused.err
    assert "is held, nothing is restarted" in kept.err
    assert past[0]["workload"]["kind"] == "Prometheus.monitoring.coreos.com"
    assert past[0]["reason"] == "Restarted"


@pytest.mark.parametrize("command", ["plan", "history"])
def test_a_bad_row_is_told_by_every_command(command: str, tmp_path: Path) -> None:
    file: dict[str, Any] = {"kinds": [{"kind": "Prometheus", "templat3": "spec"}]}
    path = custom.config(tmp_path, file)

    end = reroll(command, "--config", path)

    assert (end.code, end.out) == (Exit.USAGE, "")
    assert "kinds[0] (Prometheus): there is no field 'templat3'" in end.err


def test_doctor_tells_of_rows_that_do_not_fit(
    cluster: DevCluster, namespace: str, tmp_path: Path, definitions: None
) -> None:
    base = {"group": "example.com", "version": "v1", "kind": "Widget", "resource": "widgets"}
    file = {"kinds": [{**base, "template": "spec.pod"}], "sources": [APP_CONFIG]}
    where = ("--kubeconfig", kubeconfig_of(cluster, "admin"), "-n", namespace)

    command = ("doctor", *where, "--config", custom.config(tmp_path, file), "-o", "json")
    told: dict[str, str] = {}

    def compared() -> bool:
        """Of a new CRD the schema is published a moment after the kind is served."""
        findings = json.loads(reroll(*command).out)["findings"]
        told.clear()
        told.update({one["sentence"]: one["level"] for one in findings})
        return not any("publishes no schema" in sentence for sentence in told)

    eventually(compared, "both rows are compared with the schemas of their kinds")
    (wrong,) = [sentence for sentence in told if "template: spec has no pod" in sentence]
    assert wrong.startswith("Widget.example.com, of the config file: ")
    assert told[wrong] == "warning"
    assert told["AppConfig.example.com, of the config file, is served"] == "ok"
