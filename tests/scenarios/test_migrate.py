"""Moving from Reloader or Wave and back: nothing rolls, and they find what they look for."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.scenarios.stage import Controller, Stage
from tests.support import build
from tests.support.wave import DISABLED, HASH, IN, INVALID, expected_hash

from reroll.core.tables.kinds import KINDS

pytestmark = pytest.mark.usefixtures("every_dialect")

Start = Callable[..., Controller]
AUTO = {"reloader.stakater.com/auto": "true"}
LAST = "reloader.stakater.com/last-reloaded-from"


def sha1(**data: str) -> str:
    """Reloader's hash of a ConfigMap."""
    text = ";".join(f"{key}={value}" for key, value in sorted(data.items()))
    return hashlib.sha1(text.encode()).hexdigest()


def variable(stage: Stage, manifest: build.Object, name: str) -> str | None:
    (container,) = stage.template(manifest)["spec"]["containers"]
    return next((v["value"] for v in container.get("env", ()) if v["name"] == name), None)


def reloaded_from(stage: Stage, manifest: build.Object) -> dict[str, Any]:
    text = stage.template(manifest)["metadata"].get("annotations", {}).get(LAST, "{}")
    found: dict[str, Any] = json.loads(text)
    return found


def as_wave_left_it(stage: Stage) -> build.Object:
    web = build.statefulset("wave", uses=["configmap/app", "secret/db"], annotations=IN)
    web["spec"]["template"]["metadata"]["annotations"] = {
        HASH: expected_hash(stage.api, stage.namespace, web)
    }
    return web


def as_reloader_left_it(name: str) -> build.Object:
    """As each of its two strategies leaves a workload that it has rolled."""
    if name == "variables":
        env = [{"name": "STAKATER_APP_CONFIGMAP", "value": sha1(key="value")}]
        return build.deployment(name, uses="configmap/app", annotations=AUTO, env=env)
    source = {"type": "CONFIGMAP", "name": "app", "hash": sha1(key="value"), "observedAt": 1}
    return build.deployment(
        name,
        uses="configmap/app",
        annotations=AUTO,
        template_annotations={LAST: json.dumps(source)},
    )


def state(stage: Stage, *manifests: build.Object) -> list[tuple[Any, ...]]:
    """What tells whether something rolled: the template, what was made of it, and generations.

    That of a Deployment counts its annotations too, so those of its ReplicaSets are taken.
    """
    return [
        (
            stage.template(one),
            [ident(each) for each in stage.revisions(one)],
            [ident(each)[0] for each in stage.pods(one)],
            one["kind"] != "Deployment" and ident(stage.get(one)),
        )
        for one in manifests
    ]


def ident(found: build.Object) -> tuple[str, int]:
    return found["metadata"]["uid"], found["metadata"].get("generation", 0)


@pytest.mark.parametrize("strategy", ["env-vars", "annotations"])
def test_changing_controllers_rolls_nothing_and_the_next_change_rolls_once(
    stage: Stage, controller: Start, strategy: str
) -> None:
    stage.make(build.configmap("app"), build.secret("db"))
    theirs = (
        as_wave_left_it(stage),
        as_reloader_left_it("variables"),
        as_reloader_left_it("annotations"),
    )
    stage.make(*theirs)
    for one in theirs:
        stage.settled(one)
    before = state(stage, *theirs)

    ours = controller("--reloader-strategy", strategy, "--foreign-hashes", "same")
    numbers = [stage.adopted(one)["n"] for one in theirs]
    stage.quiet(theirs[0])

    assert state(stage, *theirs) == before

    stage.change("ConfigMap", "app", key="new")
    for one, number in zip(theirs, numbers, strict=True):
        stage.rolled(one, since=number)
        stage.settled(one)
    wave, variables, annotations = theirs
    assert [len(stage.revisions(one)) for one in theirs] == [2, 2, 2]
    # Each tool compares with what it would compute, and would do nothing.
    annotated = stage.template(wave)["metadata"]["annotations"]
    assert annotated[HASH] == expected_hash(stage.api, stage.namespace, stage.get(wave))
    if strategy == "env-vars":
        assert variable(stage, variables, "STAKATER_APP_CONFIGMAP") == sha1(key="new")
    else:
        assert reloaded_from(stage, annotations)["hash"] == sha1(key="new")

    # And the way back: ours goes, and nothing is left that would make anything roll.
    after = state(stage, *theirs)
    assert ours.stop() == 0
    stage.quiet(wave)
    assert state(stage, *theirs) == after


# reroll migrate check


def check(kubeconfig: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    command = (sys.executable, "-m", "reroll", "migrate", "check", "--kubeconfig", str(kubeconfig))
    return subprocess.run(
        [*command, *argv], text=True, capture_output=True, check=False, timeout=60
    )


READ = [
    *({"apiGroups": [k.group], "resources": [k.plural], "verbs": ["list"]} for k in KINDS),
    {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get", "list"]},
    {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["list"]},
]


def furnished(stage: Stage) -> None:
    """Two controllers, who is in, and who is stuck."""
    tool = {"image": "ghcr.io/stakater/reloader:v1.4.21"}
    tool["args"] = ["--reload-strategy=annotations", "--webhook-url=https://x.invalid/token"]  # type: ignore[assignment]
    init = [{"name": "i", "image": "x", "envFrom": [{"configMapRef": {"name": "late"}}]}]
    pod = {"initContainers": init}
    stage.make(
        build.deployment("reloader", replicas=1, container=tool),
        build.deployment("gone", replicas=0, container={"image": "quay.io/wave-k8s/wave:v0.11.0"}),
        build.deployment("web", uses="configmap/app", annotations={**AUTO, **IN}, pod=pod),
        build.daemonset(
            "left",
            uses="configmap/never",
            annotations={DISABLED: "mine", **IN},
            pod={"schedulerName": INVALID},
        ),
        build.deployment("bad", annotations={"secret.reloader.stakater.com/reload": "a(b"}),
        build.deployment("nobody"),
    )


def test_check_tells_what_is_there_and_what_will_be_different(
    stage: Stage, kubeconfig_for: Callable[..., Path], controller: Start
) -> None:
    furnished(stage)
    controller(wait="leading")
    kubeconfig = kubeconfig_for(READ, None)

    done = check(kubeconfig, "-n", stage.namespace, "-o", "json")

    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    mine = {one["object"]: one for one in found["controllers"] if stage.namespace in one["object"]}
    reloader = mine[f"Deployment {stage.namespace}/reloader"]
    assert (reloader["tool"], reloader["active"]) == ("Reloader", True)
    assert reloader["settings"] == {
        "dialects": ["reroll", "reloader"],
        "reloader-strategy": "annotations",
        "strategy": "notify",
        "notices": [
            {
                "name": "webhook",
                "to": {"webhook": {"url-file": "/etc/reroll-notices/webhook"}},
                "about": ["rolled"],
            }
        ],
    }
    assert mine[f"Deployment {stage.namespace}/gone"]["active"] is False
    assert mine[f"Lease {stage.namespace}/reroll"]["tool"] == "Reroll"
    assert f"Deployment {stage.namespace}/reloader" in found["rivals"]
    web, left, bad = (workload(found, stage, name) for name in ("web", "left", "bad"))
    assert web["dialects"] == ["reloader", "wave"]
    assert [change for change in web["changes"] if "configmap/late" in change]
    assert left["dialects"] == ["wave"]
    assert bad["problems"]
    assert [one["workload"] for one in found["stuck"]] == [f"DaemonSet {stage.namespace}/left"]
    assert workload(found, stage, "nobody") == {}
    assert found["gaps"] == []
    assert "token" not in done.stdout


def workload(found: dict[str, Any], stage: Stage, name: str) -> dict[str, Any]:
    listed = [one for one in found["workloads"] if one["workload"].endswith(f"/{name}")]
    assert all(stage.namespace in one["workload"] for one in listed)
    return listed[0] if listed else {}


def test_check_for_people_says_that_moving_rolls_nothing(
    stage: Stage, kubeconfig_for: Callable[..., Path]
) -> None:
    furnished(stage)

    done = check(kubeconfig_for(READ, None), "-n", stage.namespace)

    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert done.returncode == 0
    assert f"Reloader Deployment {stage.namespace}/reloader yes" in lines
    assert "--reload-strategy=annotations: becomes reloader-strategy" in lines
    assert any(line.startswith(f"reloader,wave Deployment {stage.namespace}/web") for line in lines)
    assert any("Wave overlooks the environment of init containers" in line for line in lines)
    assert (
        "Moving rolls nothing: Reroll records what it finds, and rolls when that changes." in lines
    )
    assert "token" not in done.stdout


def test_check_with_few_rights_gives_a_part_and_says_so(
    stage: Stage, kubeconfig_for: Callable[..., Path]
) -> None:
    furnished(stage)
    few = [{"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["list"]}]

    done = check(kubeconfig_for(few, stage.namespace), "-n", stage.namespace)

    assert done.returncode == 0
    assert f"Deployment {stage.namespace}/web" in done.stdout
    assert "deployments.apps in all namespaces may not be listed" in done.stderr
    assert f"daemonsets.apps in namespace {stage.namespace} may not be listed" in done.stderr
    assert f"Namespace {stage.namespace} may not be read" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("kubeconfig", "told", "code"),
    [
        ("", "cannot connect to 127.0.0.1:1", 1),
        ("contexts: [", "broken YAML", 2),
    ],
    ids=["nobody there", "broken"],
)
def test_check_without_a_cluster_is_a_sentence(
    tmp_path: Path, kubeconfig: str, told: str, code: int
) -> None:
    path = tmp_path / "kubeconfig"
    nobody = {
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "users": [{"name": "u", "user": {}}],
        "current-context": "c",
    }
    path.write_text(kubeconfig or json.dumps(nobody), encoding="utf-8")

    done = check(path)

    assert (done.returncode, done.stdout) == (code, "")
    assert told in done.stderr
    assert "Traceback" not in done.stderr
