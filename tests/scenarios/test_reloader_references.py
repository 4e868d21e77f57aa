"""Every way to use a source counts for Reloader's annotations, and says who gets the mark."""

# ruff: noqa: E501  the tables read best one row a line

import hashlib
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from tests.scenarios.csi import Driver, volume
from tests.scenarios.reloads import AUTO, NEW, variables
from tests.scenarios.stage import Controller, Stage
from tests.support import build

pytestmark = pytest.mark.usefixtures("every_dialect")

Start = Callable[..., Controller]


def container(name: str, **more: Any) -> build.Object:
    return {"name": name, "image": "example.invalid/app:1", **more}


CONFIGMAP, SECRET = {"name": "app"}, {"name": "app"}
MOUNT = {"volumeMounts": [{"name": "v", "mountPath": "/v"}]}
FROM = {"envFrom": [{"configMapRef": CONFIGMAP}]}
REFERENCES: dict[str, tuple[str, build.Object, int]] = {
    "env of a key": ("ConfigMap", {"containers": [container("a"), container("b", env=[{"name": "K", "valueFrom": {"configMapKeyRef": {**CONFIGMAP, "key": "key"}}}])]}, 1),
    "env of a key of a Secret": ("Secret", {"containers": [container("a"), container("b", env=[{"name": "K", "valueFrom": {"secretKeyRef": {**SECRET, "key": "key"}}}])]}, 1),
    "envFrom": ("ConfigMap", {"containers": [container("a"), container("b", **FROM)]}, 1),
    "envFrom of a Secret": ("Secret", {"containers": [container("a"), container("b", envFrom=[{"secretRef": SECRET}])]}, 1),
    "a volume": ("ConfigMap", {"containers": [container("a"), container("b", **MOUNT)], "volumes": [{"name": "v", "configMap": CONFIGMAP}]}, 1),
    "a volume of a Secret": ("Secret", {"containers": [container("a"), container("b", **MOUNT)], "volumes": [{"name": "v", "secret": {"secretName": "app"}}]}, 1),
    "a volume before envFrom": ("ConfigMap", {"containers": [container("a", **FROM), container("b", **MOUNT)], "volumes": [{"name": "v", "configMap": CONFIGMAP}]}, 1),
    "a projected volume": ("ConfigMap", {"containers": [container("a"), container("b", **MOUNT)], "volumes": [{"name": "v", "projected": {"sources": [{"configMap": CONFIGMAP}]}}]}, 1),
    "a projected volume of a Secret": ("Secret", {"containers": [container("a"), container("b", **MOUNT)], "volumes": [{"name": "v", "projected": {"sources": [{"secret": SECRET}]}}]}, 1),
    "an init container": ("ConfigMap", {"containers": [container("a"), container("b")], "initContainers": [container("i", **FROM)]}, 0),
    "a volume of an init container": ("ConfigMap", {"containers": [container("a"), container("b")], "initContainers": [container("i", **MOUNT)], "volumes": [{"name": "v", "configMap": CONFIGMAP}]}, 0),
    "the second of two volumes": ("ConfigMap", {"containers": [container("a"), container("b", volumeMounts=[{"name": "w", "mountPath": "/w"}])], "volumes": [{"name": "v", "configMap": CONFIGMAP}, {"name": "w", "configMap": CONFIGMAP}]}, 1),
}  # fmt: skip


def test_every_reference_is_found_and_its_container_is_marked(
    another: Callable[..., Stage], controller: Start
) -> None:
    label = uuid.uuid4().hex[:8]
    stages = {name: another(labels={"run": label}) for name in REFERENCES}
    web = build.deployment("web")
    for name, stage in stages.items():
        workload = build.deployment("web", replicas=0, annotations=AUTO, pod=REFERENCES[name][1])
        stage.make(
            build.configmap("app", {"key": "old"}), build.secret("app", {"key": "old"}), workload
        )
    controller("--namespace-selector", f"run={label}", "--foreign-hashes", "same")
    for stage in stages.values():
        stage.adopted(web)

    for name, stage in stages.items():
        stage.change(REFERENCES[name][0], "app", key="new")

    found, expected = {}, {}
    for name, (kind, _, place) in REFERENCES.items():
        stages[name].rolled(web, since=1)
        marks = variables(stages[name].template(web))
        found[name] = [{k: v for k, v in each.items() if k != "K"} for each in marks]
        expected[name] = [{}, {}]
        expected[name][place] = {f"STAKATER_APP_{kind.upper()}": NEW}
    assert found == expected


CLASS = "secretproviderclass.reloader.stakater.com/"
SEARCH = {"reloader.stakater.com/search": "true"}
CLASSES: dict[str, tuple[dict[str, str], dict[str, str], bool]] = {
    # The annotations of the workload and of the class, and whether it rolls.
    "auto": (AUTO, {}, True),
    "typed": ({CLASS + "auto": "true"}, {}, True),
    "named": ({CLASS + "reload": "na.*"}, {}, True),
    "found": (SEARCH, {"reloader.stakater.com/match": "true"}, True),
    "unfound": (SEARCH, {}, False),
    "ignored": (AUTO, {"reloader.stakater.com/ignore": "true"}, False),
    "excluded": ({**AUTO, "secretproviderclasses.exclude.reloader.stakater.com/reload": "excluded"}, {}, False),
    "other": ({"secret.reloader.stakater.com/auto": "true"}, {}, False),
}  # fmt: skip


@pytest.mark.slow
def test_what_pods_mounted_of_a_class_counts_as_the_workload_and_the_class_say(
    stage: Stage, controller: Start, driver: Driver
) -> None:
    driver.install()
    made = {}
    for name, (annotations, on_class, _) in CLASSES.items():
        driver.has(stage, name, **on_class)
        driver.mounts(stage, name, of=name, password="1")
        mounts = {} if name == "named" else {
            "volumes": [volume(name)], "volume_mounts": [{"name": "v", "mountPath": "/v"}],
        }  # fmt: skip
        made[name] = build.deployment(name, replicas=0, annotations=annotations, **mounts)
        stage.make(made[name])
    controller()
    for name in CLASSES:
        stage.adopted(made[name])

    for name in CLASSES:
        driver.mounts(stage, name, of=name, password="2")

    for name, (_, _, rolls) in CLASSES.items():
        if rolls:
            stage.rolled(made[name], since=1)
    stage.quiet(made["ignored"])
    for name, (_, _, rolls) in CLASSES.items():
        text = f"SecretProviderClassName={name};password=2".encode()
        mark = {f"STAKATER_{name.upper()}_SECRETPROVIDERCLASS": hashlib.sha1(text).hexdigest()}
        assert variables(stage.template(made[name])) == [mark if rolls else {}], name
