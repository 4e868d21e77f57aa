"""Pods of pinned templates name the copies when they are made, whoever sees to it."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.features.admission.every_field import PINS, pod_spec, put_in
from tests.scenarios.pins import Installation, content, pod, webhook_flags, webhook_rules
from tests.scenarios.stage import ENABLED, Controller, Stage, again, alone, eventually
from tests.support import build

from reroll.core.revisions.pins import PINS as ANNOTATION
from reroll.core.revisions.pins import read_pins, write_pins
from reroll_dev.api import path_to
from reroll_dev.cluster import DevCluster

Start = Callable[..., Controller]
REVISIONS = {**ENABLED, "reroll.dev/revisions": "true"}
PIN = {"policy": "admission", "webhook": "auto", "template": "template"}
SOURCES = (
    *(
        build.configmap(name, {"a": "1", "b": "2"})
        for name in ("app", "db", "other.name", "left-alone")
    ),
    *(build.secret(name, {"d": "1", "password": "2"}) for name in ("app", "db", "left-alone")),
)
LEFT = {("ConfigMap", "left-alone"), ("Secret", "left-alone")}
TEMPLATE_LABELS = {"reroll.dev/pins": "disabled"}


@pytest.fixture(params=["policy", "webhook"])
def rewriting(request: pytest.FixtureRequest, installation: Installation) -> None:
    """Pods are rewritten in the test's namespace."""
    put_in_force(request.param, request, installation)


def put_in_force(
    mode: str, request: pytest.FixtureRequest, installation: Installation
) -> Controller | None:
    """Install it; the controller, if one runs for that."""
    running = None
    more = ["--mode", mode]
    if mode == "webhook":
        start = request.getfixturevalue("controller")
        identity = request.getfixturevalue("kubeconfig_for")(webhook_rules(installation))
        running = start(*webhook_flags(installation), kubeconfig=identity)
        more += ["--url", installation.url]
    done = installation.install(*more)
    assert done.code == 0, done.err
    assert f"mode {mode}" in done.out
    return running


@pytest.mark.parametrize("mode", ["policy", "webhook", "template"])
def test_all_modes_give_the_same_pods(
    stage: Stage,
    controller: Start,
    installation: Installation,
    request: pytest.FixtureRequest,
    mode: str,
) -> None:
    web = build.deployment(annotations={**REVISIONS, "reroll.dev/pin": PIN[mode]})
    web["spec"]["template"]["spec"] = pod_spec()
    running = put_in_force(mode, request, installation)
    stage.make(*SOURCES, web)
    if running is None:
        controller()
    pins = eventually(lambda: read_pins(annotation(stage.template(web))), "it is pinned")
    assert pins.keys() == PINS.keys() | {("ConfigMap", "db"), ("Secret", "app")} | LEFT
    stage.settled(web)
    [pinned] = stage.pods(web)
    assert annotation(pinned) == write_pins(pins)

    by_hand = stage.make(pod(put_in(pod_spec(), pins), name="by-hand"))
    assert without_what_differs(pinned["spec"]) == without_what_differs(by_hand["spec"])
    names = stage.template(web)["spec"]
    assert (put_in(names, pins) == names) is (mode == "template")


def annotation(one: build.Object) -> str:
    return str(one["metadata"].get("annotations", {}).get(ANNOTATION, ""))


def without_what_differs(spec: build.Object) -> build.Object:
    """The API server gives the volume with the token a random name, the scheduler a node."""

    def named(items: list[build.Object]) -> list[build.Object]:
        return [one for one in items if not one["name"].startswith("kube-api-access-")]

    containers = {
        field: [{**each, "volumeMounts": named(each["volumeMounts"])} for each in spec[field]]
        for field in ("containers", "initContainers")
    }
    kept = {key: value for key, value in spec.items() if key != "nodeName"}
    return {**kept, "volumes": named(spec["volumes"]), **containers}


@pytest.mark.usefixtures("rewriting")
def test_odd_pins_stop_no_pod_and_good_ones_beside_them_count(stage: Stage) -> None:
    odd = "configmap/app=first,configmap/app=second, nonsense ,secret/=x,secret/db=,,CONFIGMAP/a=b"
    spec = build.pod_template("odd", uses=["configmap/app", "secret/db"])["spec"]
    sources = made_from(stage, spec, odd)
    assert sources == [{"configMapRef": {"name": "first"}}, {"secretRef": {"name": "db"}}]
    assert made_from(stage, spec, ",") == spec["containers"][0]["envFrom"]


def made_from(stage: Stage, spec: build.Object, pins: str) -> list[Any]:
    one = {
        **pod(spec, pins),
        "metadata": {"generateName": "odd-", "annotations": {ANNOTATION: pins}},
    }
    found: list[Any] = stage.make(one)["spec"]["containers"][0]["envFrom"]
    return found


def test_a_pin_of_a_missing_copy_makes_a_pod_that_waits_for_it(
    stage: Stage, installation: Installation
) -> None:
    assert installation.install().code == 0
    stage.make(build.configmap("app", {"level": "current"}))
    spec = build.pod_template("web", uses="configmap/app")["spec"]
    stage.make(pod(spec, "configmap/app=app-0123456789"))
    waiting = stage.api.get(path_to("Pod", "pod", stage.namespace))
    assert content(stage, waiting) == {"ConfigMap/app-0123456789": None}

    stage.make(build.configmap("app-0123456789", {"level": "old"}, immutable=True))
    assert content(stage, waiting) == {"level": "old"}


def test_pods_of_pinned_templates_are_right_with_no_controller_at_all(
    stage: Stage, installation: Installation
) -> None:
    assert installation.install().code == 0
    stage.make(
        build.configmap("app", {"level": "current"}),
        build.configmap("app-0123456789", {"level": "pinned"}, immutable=True),
        build.deployment(
            uses="configmap/app", template_annotations={ANNOTATION: "configmap/app=app-0123456789"}
        ),
    )
    web = build.deployment()
    stage.settled(web)
    stage.api.delete(stage.path({**web, "kind": "Pod", "apiVersion": "v1", "metadata": {
        "name": stage.pods(web)[0]["metadata"]["name"]
    }}))  # fmt: skip
    stage.api.patch(stage.path(web), {"spec": {"replicas": 3}})

    eventually(lambda: len(stage.pods(web)) == 3, "there are three pods")
    assert [content(stage, one) for one in stage.pods(web)] == [{"level": "pinned"}] * 3


def test_a_namespace_can_forbid_it_and_gets_names_in_templates(
    stage: Stage, installation: Installation, namespace: str, controller: Start
) -> None:
    assert installation.install().code == 0
    stage.api.patch(path_to("Namespace", namespace), {"metadata": {"labels": TEMPLATE_LABELS}})
    spec = build.pod_template("web", uses="configmap/app")["spec"]

    def names() -> Any:
        return made_from(stage, spec, "configmap/app=x")[0]["configMapRef"]["name"]

    eventually(lambda: names() == "app", "the API server knows the label")
    assert "pods are not rewritten (it is left out)" in installation.run("status").out
    second = installation.install()
    assert (second.code, "is left out, so it was not tried" in second.err) == (0, True)

    web = build.deployment(uses="configmap/app", annotations=REVISIONS)
    stage.make(build.configmap(), web)
    controller()
    pins = eventually(lambda: read_pins(annotation(stage.template(web))), "it is pinned")
    [source] = stage.template(web)["spec"]["containers"][0]["envFrom"]
    assert source["configMapRef"]["name"] == pins["ConfigMap", "app"]


def test_a_large_pod_is_within_the_limits_of_the_api_server(
    stage: Stage, installation: Installation
) -> None:
    assert installation.install().code == 0
    sources = [f"source-{number}" for number in range(10)]
    env = [
        {"name": f"V{n}", "valueFrom": {"configMapKeyRef": {"name": sources[n % 10], "key": "k"}}}
        for n in range(50)
    ]
    containers = [{"name": f"c{n}", "image": "example.invalid/app", "env": env} for n in range(20)]
    volumes = [{"name": f"v{n}", "configMap": {"name": sources[n % 10]}} for n in range(20)]
    pins = ",".join(f"configmap/{name}={name}-0123456789" for name in sources)
    made = stage.make(pod({"containers": containers, "volumes": volumes}, pins))
    assert json.dumps(made["spec"]).count("-0123456789") == 20 * 50 + 20


def test_the_next_roll_is_done_in_the_mode_that_is_installed_by_then(
    stage: Stage, installation: Installation, controller: Start
) -> None:
    web = build.deployment(uses="configmap/app", annotations=REVISIONS)
    stage.make(build.configmap("app", {"level": "0"}), web)
    running = alone(controller)

    def rolled(level: str) -> tuple[str, str]:
        """The name in the template, and the copy, after a change."""
        before = annotation(stage.template(web))
        stage.change("ConfigMap", "app", level=level)
        eventually(lambda: annotation(stage.template(web)) != before, "it is pinned anew")
        stage.settled(web)
        eventually(lambda: [content(stage, one) for one in stage.pods(web)] == [{"level": level}])
        [source] = stage.template(web)["spec"]["containers"][0]["envFrom"]
        pins = read_pins(annotation(stage.template(web)))
        return source["configMapRef"]["name"], pins["ConfigMap", "app"]

    eventually(lambda: annotation(stage.template(web)), "it is pinned")
    name, copy = rolled("1")
    assert name == copy
    assert installation.install().code == 0
    again(running)  # it looks once a minute
    assert rolled("2")[0] == "app"
    installation.uninstall()
    again(running)
    name, copy = rolled("3")
    assert name == copy


def test_installing_is_done_once_and_told_and_undone(
    stage: Stage, installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = installation.install("-o", "json").json
    assert first["mode"] == "policy"
    assert "admissionregistration.k8s.io/v1" in first["why"]
    assert first["tried"]["rewritten"]
    assert {one["what"] for one in first["objects"]} == {"created"}
    assert {one["what"] for one in installation.install("-o", "json").json["objects"]} == {
        "unchanged"
    }

    status = installation.run("status")
    assert installation.name in status.out
    assert "a pinned pod is rewritten when it is made (tried just now)" in status.out

    pinned = {ANNOTATION: "configmap/app=app-0123456789"}
    stage.make(
        build.deployment(uses="configmap/app", template_annotations=pinned),
        build.deployment("named", uses="configmap/app-0123456789", template_annotations=pinned),
    )
    with monkeypatch.context() as impatient:
        impatient.setattr("reroll.features.admission.probe.TRIES", 2)
        beside = installation.install("--mode", "webhook", "--url", "https://127.0.0.1:1/pins")
    assert "is the controller there, with --webhook?" in beside.err
    none = installation.install("--mode", "template")
    assert f"policy {installation.name} is installed, too; remove it" in none.err
    assert installation.uninstall("--mode", "webhook").out.count("deleted") == 1
    assert "would be deleted" in installation.uninstall("--dry-run").out
    gone = installation.uninstall()
    assert gone.out.count("deleted") == 2
    assert f"Deployment {stage.namespace}/web" in gone.err
    assert f"Deployment {stage.namespace}/named" not in gone.err
    assert "new pods of these start with the plain, current config" in gone.err
    assert "nothing called" in installation.uninstall().out
    eventually(lambda: not in_force(installation), "the API server knows that it is gone")


def test_a_dry_run_prints_what_would_be_applied_and_applies_nothing(
    installation: Installation, kubectl: Callable[..., str]
) -> None:
    done = installation.install("--dry-run")
    assert done.code == 0
    assert "mode policy" in done.err
    kubectl("create", "--dry-run=server", "-f", "-", input=done.out)
    assert not in_force(installation)


def in_force(installation: Installation) -> bool:
    tried: bool = installation.run("status", "-o", "json").json["tried"]["rewritten"]
    return tried


def test_what_cannot_be_done_is_said(
    installation: Installation, cluster: DevCluster, namespace: str
) -> None:
    done = Installation(cluster.kubeconfig("alice"), namespace).install()
    assert done.code == 1
    assert "mutatingadmissionpolicies.admissionregistration.k8s.io" in done.err
    done = installation.install("--mode", "webhook")
    assert done.code == 1
    assert "say where it is with --url" in done.err
    done = installation.run("install", "--namespace-selector", "no=label=selector")
    assert done.code == 2
    done = installation.install("--mode", "template")
    assert done.code == 0
    assert "nothing has to be installed" in done.out
