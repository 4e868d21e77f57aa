"""The webhook: every replica answers, its certificates are renewed, and pods wait for it."""

import asyncio
import base64
import os
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.scenarios.pins import Installation, pod, webhook_flags, webhook_rules
from tests.scenarios.stage import Controller, Stage, eventually
from tests.support import build, minors, session
from tests.support.command import reroll

from reroll.clock import SystemClock
from reroll.features.admission.store import CertificateStore
from reroll.kube.auth import load
from reroll.kube.client import Client
from reroll_dev import components
from reroll_dev.api import ApiError, path_to
from reroll_dev.cluster import DevCluster
from reroll_dev.kubernetes import Switches
from reroll_dev.start import Options

Start = Callable[..., Controller]
GROUP = "admissionregistration.k8s.io"
HOOKS = f"/apis/{GROUP}/v1/mutatingwebhookconfigurations"
POLICIES = ("mutatingadmissionpolicies", "mutatingadmissionpolicybindings")


class Earlier(SystemClock):
    def now(self) -> datetime:
        return super().now() - timedelta(days=795)


@pytest.fixture
def identity(kubeconfig_for: Callable[..., Path], installation: Installation) -> Path:
    return kubeconfig_for(webhook_rules(installation))


async def make_certificates(kubeconfig: Path, namespace: str) -> None:
    """As three replicas that start at once would have done two years ago."""
    async with Client(load({}, kubeconfig=str(kubeconfig))) as client:
        one = CertificateStore(client, Earlier(), namespace, "reroll-webhook", ["127.0.0.1"])
        made = await asyncio.gather(one.current(), one.current(), one.current())
        assert made[0] == made[1] == made[2]


def bundle(stage: Stage, installation: Installation) -> str:
    found = stage.api.get(f"{HOOKS}/{installation.name}")
    text = base64.b64decode(found["webhooks"][0]["clientConfig"].get("caBundle", ""))
    return text.decode()


def names(stage: Stage) -> Any:
    spec = build.pod_template("web", uses="configmap/app")["spec"]
    one = pod(spec, "configmap/app=copy")
    one["metadata"] = {**one["metadata"], "generateName": "pod-"}
    del one["metadata"]["name"]
    made = stage.make(one)
    stage.api.delete(path_to("Pod", made["metadata"]["name"], stage.namespace))
    return made["spec"]["containers"][0]["envFrom"][0]["configMapRef"]["name"]


def test_certificates_are_renewed_and_the_api_server_is_told_before_it_meets_a_new_authority(
    stage: Stage, controller: Start, installation: Installation, cluster: DevCluster, identity: Path
) -> None:
    asyncio.run(make_certificates(cluster.kubeconfig(), stage.namespace))
    secret = path_to("Secret", "reroll-webhook", stage.namespace)
    old = stage.api.get(secret)["data"]

    leader = controller(*webhook_flags(installation), kubeconfig=identity)
    done = installation.install("--mode", "webhook", "--url", installation.url)
    assert done.code == 0, done.err
    new = stage.api.get(secret)["data"]
    assert new["tls.crt"] != old["tls.crt"]
    authorities = [base64.b64decode(data["ca.crt"]).decode() for data in (old, new)]
    assert authorities[1].startswith(authorities[0])
    assert authorities[1].count("BEGIN CERTIFICATE") == 2

    # Whatever somebody makes of it, the leader puts it right when it looks.
    operation = {"op": "remove", "path": "/webhooks/0/clientConfig/caBundle"}
    stage.api.patch(f"{HOOKS}/{installation.name}", [operation], kind="json")
    leader.stop()
    leader.start()
    eventually(
        lambda: bundle(stage, installation) == authorities[1], "the leader tells whom to trust"
    )
    assert "PRIVATE KEY" not in leader.log.read_text()


def test_a_replica_that_does_not_lead_answers_too_and_pinned_pods_wait_when_nobody_does(
    stage: Stage, controller: Start, installation: Installation, identity: Path
) -> None:
    lease = ("--lease-duration", "30s")  # The leader goes on to lead on a busy machine, too.
    controller(*webhook_flags(installation), *lease, kubeconfig=identity)
    follower = controller(
        *webhook_flags(installation), *lease, kubeconfig=identity, wait="watching"
    )
    done = installation.install("--mode", "webhook", "--url", installation.url)
    assert done.code == 0, done.err
    assert names(stage) == "copy"
    assert not [line for line in follower.lines() if line["msg"] == "leading"]

    assert follower.stop() == 0
    with pytest.raises(ApiError, match=r"pins\.reroll\.dev"):
        names(stage)
    plain = build.pod_template("web", uses="configmap/app")["spec"]
    assert stage.make(pod(plain))["spec"]["containers"][0]["envFrom"] == [
        {"configMapRef": {"name": "app"}}
    ]
    failed = installation.run("status")
    assert "no pod could be made to try it" in failed.out

    follower.start(wait="watching")
    assert eventually(lambda: names(stage)) == "copy"


@pytest.mark.parametrize("mode", ["policy", "webhook"])
def test_what_the_cluster_and_the_controller_need_to_run_waits_for_no_rewriting(
    stage: Stage,
    controller: Start,
    installation: Installation,
    identity: Path,
    another: Callable[..., Stage],
    cluster: DevCluster,
    mode: str,
) -> None:
    other, system = another(), Stage(stage.api, "kube-system")
    running = controller(*webhook_flags(installation), kubeconfig=identity)
    where = f"kubernetes.io/metadata.name in ({stage.namespace},{other.namespace},kube-system)"
    done = reroll(
        *("pins", "install", "--name", installation.name, "--namespace-selector", where),
        *("--controller-namespace", stage.namespace, "--kubeconfig", cluster.kubeconfig()),
        *("--mode", mode, "--url", installation.url, "-n", other.namespace),
    )
    assert done.code == 0, done.err
    assert names(other) == "copy"

    assert running.stop() == 0
    if mode == "webhook":
        with pytest.raises(ApiError, match=r"pins\.reroll\.dev"):
            names(other)
    assert names(stage) == names(system) == "app"
    # Revisions work there, too: by names in the template.
    status = reroll("pins", "status", "--kubeconfig", cluster.kubeconfig(), "-n", stage.namespace)
    assert "it is left out" in status.out


def test_an_api_server_that_takes_a_policy_and_does_not_heed_it_is_found_out(
    tmp_path: Path, control_plane: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that serves only the beta API, and whose feature gate is off, as before 1.36."""
    served = {f"{GROUP}/v1beta1": True}
    if minors.ground(os.environ).minor.has_policies:
        served |= dict.fromkeys((f"{GROUP}/v1/{name}" for name in POLICIES), False)
        usual = components.apiserver

        def apiserver(*args: Any, **more: Any) -> list[str]:
            return [*usual(*args, **more), "--disable-admission-plugins=MutatingAdmissionPolicy"]

        monkeypatch.setattr(components, "apiserver", apiserver)
    monkeypatch.setattr("reroll.features.admission.probe.TRIES", 5)
    other = DevCluster(tmp_path / "other", progress=session.quiet())
    config = ",".join(f"{name}={str(on).lower()}" for name, on in served.items())
    other.up(control_plane, Options(switches=Switches(runtime_config=config)))
    try:
        where = ("--kubeconfig", other.kubeconfig())
        done = reroll("pins", "install", *where)
        assert done.code == 1
        assert f"{GROUP}/v1beta1 MutatingAdmissionPolicy" in done.out
        assert "does not heed it" in done.err
        assert "(nothing is installed)" in reroll("pins", "status", *where).out
    finally:
        other.down()
