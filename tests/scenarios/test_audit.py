"""`reroll audit` on a cluster prepared by hand: real writes, real start times, no Reroll in it."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.scenarios.audit_shapes import OWNERS, SHAPES, change_secret, pod
from tests.scenarios.stage import Stage, eventually
from tests.support import build
from tests.support.build import Object
from tests.support.command import Finished, reroll
from tests.support.pages import DOCS, files
from tests.support.settled import is_settled
from tests.support.terminal import in_terminal
from tests.support.tools import Tool, kubeconfig_of

from reroll_dev.api import path_to
from reroll_dev.cluster import DevCluster
from reroll_dev.pki import new_authority

GUIDE = (DOCS / "guides" / "answers.md").read_text(encoding="utf-8")
READ = yaml.safe_load(files(GUIDE)["audit-role.yaml"])["rules"]
"""What the guide says is enough."""


@pytest.fixture
def audit_command(cluster: DevCluster, namespace: str) -> Callable[..., Finished]:
    def run(*args: str, identity: str | Path = "admin") -> Finished:
        where = ("-n", namespace, "--kubeconfig", kubeconfig_of(cluster, identity))
        return reroll("audit", *where, *args)

    return run


def started(stage: Stage) -> list[datetime]:
    """When each container of the namespace started, once all run."""

    def all_run() -> list[Object] | None:
        pods = stage.api.list(path_to("Pod", "", stage.namespace))
        names = {one["metadata"]["labels"]["app"] for one in pods}
        runs = all(one["status"].get("phase") == "Running" for one in pods)
        # A DaemonSet makes its pods one after the other.
        is_whole = is_settled(stage.get(build.daemonset("daemonset")))
        return pods if runs and is_whole and names == set(SHAPES) else None

    pods = eventually(all_run, "all pods run")
    return [
        datetime.fromisoformat(status["state"]["running"]["startedAt"])
        for one in pods
        for status in one["status"]["containerStatuses"]
    ]


def a_second_after(moments: list[datetime]) -> None:
    """The API server tells whole seconds."""
    while datetime.now(UTC) < max(moments) + timedelta(seconds=1):
        time.sleep(0.05)


def pod_of(name: str, pods: list[dict[str, Any]]) -> dict[str, Any]:
    """The pod of that name, or that what has this name made."""
    of = [one for one in pods if one["name"] not in SHAPES and one["workload"]["name"] == name]
    found, *_ = [one for one in pods if one["name"] == name] or of
    return found


def own_use(one: dict[str, Any]) -> dict[str, Any]:
    """Every pod has the root certificate of its cluster beside it."""
    [use] = [use for use in one["uses"] if use["source"]["name"] != "kube-root-ca.crt"]
    return dict(use)


def verdict(one: dict[str, Any]) -> str:
    use = own_use(one)
    doubt = use["verdict"] == "stale" and not use["certain"]
    return f"{use['verdict']}?" if doubt else str(use["verdict"])


def test_the_audit_is_right_about_a_cluster_prepared_by_hand(
    stage: Stage,
    audit_command: Callable[..., Finished],
    kubeconfig_for: Callable[..., Path],
    audit: Callable[..., list[dict[str, Any]]],
    kubectl: Tool,
) -> None:
    for name, shape in SHAPES.items():
        stage.make(*filter(None, [shape.source(name)]), shape.make(name, **shape.uses(name)))
    kubectl("create", "job", "now", "--from=cronjob/cronjob", "-n", stage.namespace)
    a_second_after(started(stage))
    for name, shape in SHAPES.items():
        shape.change(stage, name)
    reader = kubeconfig_for(READ, stage.namespace)

    done = audit_command("-o", "json", identity=reader)

    assert (done.code, done.err) == (0, "")
    found = {name: pod_of(name, done.json["pods"]) for name in SHAPES}
    expected = {name: shape.expected for name, shape in SHAPES.items()}
    assert {name: verdict(one) for name, one in found.items()} == expected
    for name, kind in OWNERS.items():
        assert found[name]["workload"] == {
            "kind": kind, "namespace": stage.namespace, "name": name,
        }  # fmt: skip
    use = own_use(found["env"])
    assert use["how"] == "env KEY of container main"
    assert use["keys"] == ["key"]
    assert use["changed"] > use["started"]
    calls = audit(reader)
    assert {call["verb"] for call in calls} == {"list"}


@pytest.fixture
def stale(stage: Stage) -> Stage:
    """Two pods of a Deployment with an old password, and one pod that is up to date."""
    stage.make(build.secret("db"), build.configmap("app"))
    # Kubernetes brings it a moment after the namespace, and every pod uses it.
    stage.api.wait_for(path_to("ConfigMap", "kube-root-ca.crt", stage.namespace), bool)
    web = build.deployment("web", replicas=2, uses=["secret/db#password"])
    stage.make(web, pod("fresh", uses=["configmap/app"]))
    stage.settled(web)
    runs = lambda one: one["status"].get("phase") == "Running"  # noqa: E731
    seen = [*stage.pods(web), stage.api.wait_for(path_to("Pod", "fresh", stage.namespace), runs)]
    statuses = [status for one in seen for status in one["status"]["containerStatuses"]]
    starts = [status["state"]["running"]["startedAt"] for status in statuses]
    a_second_after([datetime.fromisoformat(start) for start in starts])
    change_secret(stage, "db")
    return stage


def test_people_see_a_line_for_each_workload_and_ci_an_exit_code(
    stale: Stage, cluster: DevCluster, audit_command: Callable[..., Finished]
) -> None:
    done = audit_command()

    assert done.code == 0
    head, row, _, total = done.out.splitlines()
    assert head.split() == ["VERDICT", "WORKLOAD", "PODS", "SOURCE", "USED", "AS", "CHANGED"]
    where = "stale deployment/web 2 secret/db env DB_PASSWORD of container main"
    assert " ".join(row.split()).startswith(where)
    assert row.endswith("ago by unknown")
    assert total == "2 of 3 running pods have stale configuration"
    assert "\x1b" not in done.out

    assert audit_command("--fail-on", "stale").code == 3
    assert audit_command("--fail-on", "certain").code == 3
    assert audit_command("--fail-on", "stale", "-l", "app=fresh").code == 0
    assert audit_command("--pods").out.count(" pod/") == 2
    everywhere = reroll("audit", "-A", "--kubeconfig", kubeconfig_of(cluster, "admin"))
    assert f"{stale.namespace}  deployment/web" in everywhere.out
    assert "2 of 2 running pods" in audit_command("deployment/web").out
    assert audit_command("-o", "name").out == "deployment/web\n"
    assert audit_command("deployment/nope").code == 1


def test_the_table_fits_the_terminal_and_colours_can_be_turned_off(
    stale: Stage, cluster: DevCluster
) -> None:
    home = ("-n", stale.namespace, "--controller-namespace", stale.namespace)
    where = ("audit", *home, "--kubeconfig", kubeconfig_of(cluster, "admin"))

    narrow = in_terminal(*where, columns=60)
    plain = in_terminal(*where, columns=120, env={"NO_COLOR": "1"})

    assert (narrow.code, plain.code) == (0, 0)
    assert narrow.widest <= 60
    assert "\x1b[1m" in narrow.raw
    assert "\x1b[3" not in plain.raw
    assert "2 of 3 running pods have stale configuration" in plain.text


def test_what_may_not_be_listed_is_told_and_the_rest_is_shown(
    stale: Stage, audit_command: Callable[..., Finished], kubeconfig_for: Callable[..., Path]
) -> None:
    blind = [{**READ[0], "resources": ["pods", "configmaps"]}, *READ[1:]]
    reader = kubeconfig_for(blind, stale.namespace)

    done = audit_command(identity=reader)

    assert done.code == 0
    where = f"namespace {stale.namespace}"
    assert done.err == f"reroll: secrets in {where} may not be listed; grant `list` on them\n"
    assert "unknown" in done.out
    assert "0 of 3 running pods have stale configuration" in done.out
    assert audit_command("--fail-on", "stale", identity=reader).code == 1


def certificate(name: str) -> Object:
    """A Secret with a new certificate, and its key."""
    pair = new_authority()
    texts = {"tls.crt": pair.certificate.decode(), "tls.key": pair.key.decode()}
    return build.secret(name, texts, type="kubernetes.io/tls")


def test_certificates_that_pods_have_in_an_older_version_are_told_without_the_key(
    stage: Stage,
    audit_command: Callable[..., Finished],
    kubeconfig_for: Callable[..., Path],
    audit: Callable[..., list[dict[str, Any]]],
) -> None:
    stage.make(certificate("web-tls"), build.secret("other"))
    mount = {"name": "tls", "mountPath": "/tls/tls.crt", "subPath": "tls.crt"}
    volume = {"name": "tls", "secret": {"secretName": "web-tls"}}
    stage.make(pod("web", volumes=[volume], volume_mounts=[mount]))
    path = path_to("Pod", "web", stage.namespace)
    seen = stage.api.wait_for(path, lambda one: one["status"].get("phase") == "Running")
    status = seen["status"]["containerStatuses"][0]
    a_second_after([datetime.fromisoformat(status["state"]["running"]["startedAt"])])
    renewed = certificate("web-tls")
    stage.api.patch(path_to("Secret", "web-tls", stage.namespace), {"data": renewed["data"]})
    get = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}
    reader = kubeconfig_for([*READ, get], stage.namespace)

    done = audit_command("--certificates", identity=reader)
    facts = audit_command("--certificates", "-o", "json", identity=reader).json

    assert done.code == 0
    assert f"Secret {stage.namespace}/web-tls" in done.out
    assert "CN=reroll development cluster" in done.out
    [use] = [use for use in facts["pods"][0]["uses"] if use["source"]["name"] == "web-tls"]
    assert use["certificates"][0]["subject"] == "CN=reroll development cluster"
    assert use["certificates"][0]["ends"] > use["certificates"][0]["begins"]
    assert "PRIVATE" not in done.out + str(facts)
    read = {call["objectRef"].get("name") for call in audit(reader) if call["verb"] == "get"}
    assert read == {"web-tls"}, "only Secrets that pods use are read"


def test_without_an_api_server_there_is_a_sentence(tmp_path: Path) -> None:
    nowhere = reroll("audit", "--kubeconfig", tmp_path / "none")
    assert nowhere.code == 2
    assert "none" in nowhere.err
