"""`reroll sync` when rollouts fail, hang, or the way to the API server breaks; and bad input."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest
import yaml
from tests.scenarios.rolling import Command, a_web, that_fails
from tests.scenarios.stage import ENABLED, Controller, Stage, a, eventually
from tests.support import build
from tests.support.command import reroll
from tests.support.faultproxy import FaultProxy
from tests.support.settled import is_settled

from reroll.cli.errors import Exit
from reroll.core.tables import rights
from reroll.core.tables.kinds import KINDS, Kind
from reroll_dev.cluster import DevCluster

QUICK = {"progressDeadlineSeconds": 1}
with_rollouts = pytest.mark.parametrize(
    "kind", [k for k in KINDS if k.counts], ids=lambda k: k.name, indirect=True
)


def template_of(stage: Stage, manifest: dict[str, Any]) -> dict[str, Any]:
    """Without what a roll writes."""
    found = stage.template(manifest)
    return {**found, "metadata": {k: v for k, v in found["metadata"].items() if v}}


@pytest.mark.thorough
@with_rollouts
def test_a_failed_run_goes_back_and_is_not_rolled_forward_until_the_source_changes(
    kind: Kind, stage: Stage, sync: Command, controller: Callable[..., Controller]
) -> None:
    stage.make(build.configmap())
    bad = that_fails(stage, a(kind, "bad", uses=["configmap/app"], annotations=ENABLED))
    good = stage.make(a_web("good"))
    stage.settled(good)
    sync()
    before = {one: template_of(stage, which) for one, which in (("bad", bad), ("good", good))}
    stage.change("ConfigMap", "app", key="broken")

    # The good one is through with it by then, there and back, on a busy machine too.
    done = sync("--wait", "--timeout", "8s", "--rollback-on-failure", "-o", "json")

    assert done.code == Exit.ROLLED_BACK, done.out + done.err
    told = {one["name"]: one for one in done.json["workloads"]}
    assert {one["result"] for one in told.values()} == {"rolled back"}
    assert (told["bad"]["failedAs"], told["good"]["failedAs"]) == ("timed out", "")
    for one in (bad, good):
        assert template_of(stage, one) == before[one["metadata"]["name"]]
        assert stage.record(one)["why"] == "Undone"
        [event] = stage.events(one, "Undone")
        assert event["type"] == "Warning"
        assert event["message"].startswith("a rollout failed, so it was taken back")
        assert "configmap/app still holds what failed" in event["message"]
    assert is_settled(stage.get(good))

    assert "still holds what failed" in done.err
    again = sync("--exit-code", "-o", "json")
    told = {one["name"]: one["result"] for one in again.json["workloads"]}
    assert (again.code, told["bad"]) == (Exit.FAILED, "declined")
    if kind.name != "Deployment":
        return
    controller()
    stage.quiet(good)
    number = stage.record(good)["n"]
    stage.change("ConfigMap", "app", key="mended")
    stage.rolled(good, number)


def test_a_stuck_pod_does_not_keep_a_statefulset_from_going_back(
    stage: Stage, sync: Command
) -> None:
    stage.make(build.configmap())
    db = build.statefulset("db", replicas=2, uses=["configmap/app"], annotations=ENABLED)
    that_fails(stage, db, "crashloop")
    sync()
    stage.change("ConfigMap", "app", key="broken")
    undone: list[str] = []

    done = sync("--wait", "--timeout", "1m", "--rollback-on-failure")

    assert done.code == Exit.ROLLED_BACK, done.err
    assert "CrashLoopBackOff" in done.out
    current = stage.get(db)["status"]["currentRevision"]
    undone += [pod["metadata"]["labels"]["controller-revision-hash"] for pod in stage.pods(db)]
    assert set(undone) == {current}


def test_a_deployment_that_gave_up_has_failed_and_nothing_more_is_begun(
    stage: Stage, sync: Command
) -> None:
    stage.make(build.configmap())
    bad = that_fails(stage, a_web("bad", spec=QUICK))
    later = stage.make(a_web("later"))
    stage.settled(later)
    sync()
    stage.change("ConfigMap", "app", key="broken")

    done = sync("--wait", "--max-parallel", "1")

    assert done.code == Exit.FAILED
    assert "ProgressDeadlineExceeded" in done.out
    assert "not begun" in done.out
    assert stage.stamp(bad)
    assert stage.stamp(later) is None
    # What was not begun is stale still: the next run takes it up.
    assert sync("deployment/later").code == Exit.OK
    assert stage.stamp(later)


def test_a_rollout_that_hangs_is_told_with_what_it_waits_for(stage: Stage, sync: Command) -> None:
    stage.make(build.configmap())
    that_fails(stage, a_web("slow"))
    that_fails(stage, a_web("crashing"), "crashloop")
    sync()
    stage.change("ConfigMap", "app", key="broken")

    slow = sync("deployment/slow", "--wait", "--timeout", "5s")
    assert slow.code == Exit.TIMED_OUT
    assert "1 old pod is not gone yet; pod slow-" in slow.out
    assert ": not ready" in slow.out
    crashing = sync("deployment/crashing", "--wait", "--timeout", "1m")
    assert crashing.code == Exit.FAILED
    assert "CrashLoopBackOff" in crashing.out


@contextmanager
def started(
    namespace: str, kubeconfig: Path, *args: str, command: tuple[str, ...] = ("sync", "--wait")
) -> Iterator[tuple["subprocess.Popen[str]", IO[str]]]:
    """The command as a process, and what it writes to stderr."""
    program = (sys.executable, "-m", "reroll", *command, "-n", namespace, *args)
    where = ("--kubeconfig", str(kubeconfig), "--controller-namespace", namespace)
    out, err = subprocess.DEVNULL, subprocess.PIPE
    with subprocess.Popen((*program, *where), stdout=out, stderr=err, text=True) as process:
        assert process.stderr
        yield process, process.stderr


def heard(lines: Iterable[str], word: str) -> None:
    """Wait for a line with this word."""
    assert any(word in line for line in lines), f"it never said {word!r}"


def test_ctrl_c_says_what_is_under_way(stage: Stage, sync: Command, cluster: DevCluster) -> None:
    stage.make(build.configmap())
    web = that_fails(stage, a_web())
    sync()
    stage.change("ConfigMap", "app", key="broken")

    with started(stage.namespace, cluster.kubeconfig("admin")) as (process, err):
        heard(err, "1 updated")
        process.send_signal(signal.SIGINT)
        rest = err.read()

    assert process.returncode == Exit.INTERRUPTED
    assert f"Deployment {stage.namespace}/web goes on in the cluster: rolling" in rest
    assert "Traceback" not in rest
    assert stage.stamp(web)
    assert eventually(lambda: stage.events(web, "ConfigChanged"), "the Event was sent")


def test_what_somebody_else_deploys_meanwhile_is_not_undone(
    stage: Stage, sync: Command, cluster: DevCluster
) -> None:
    stage.make(build.configmap())
    web = that_fails(stage, a_web())
    sync()
    stage.change("ConfigMap", "app", key="broken")
    image = {"spec": {"containers": [{"name": "main", "image": "mended:2"}]}}
    args = ("--rollback-on-failure", "--timeout", "8s")  # Somebody else comes before.

    with started(stage.namespace, cluster.kubeconfig("admin"), *args) as (process, err):
        heard(err, "updated")
        patch = {"spec": {"template": image}}
        stage.api.patch(stage.path(web), patch, kind="strategic")
        rest = err.read()

    assert process.returncode == Exit.TIMED_OUT
    assert "not rolled back: its template was changed by somebody else" in rest
    assert stage.template(web)["spec"]["containers"][0]["image"] == "mended:2"


def test_an_api_server_that_goes_away_is_waited_for(
    stage: Stage, sync: Command, fault_proxy: FaultProxy
) -> None:
    stage.make(build.configmap())
    web = a_web()
    web["spec"]["template"]["metadata"]["annotations"] = {"dev.reroll.dev/ready-after": "3s"}
    stage.make(web)
    sync()
    stage.change("ConfigMap", "app", key="new")

    with started(stage.namespace, fault_proxy.kubeconfig()) as (process, err):
        heard(err, "updated")
        fault_proxy.refuse()
        heard(err, "trying again until the time is up")
        fault_proxy.accept()
        heard(err, "the API server answers again")
        heard(err, "rolled")
        # Its Event waited for the API server, too: nothing is missing that could be told.
        assert list(err) == []

    assert process.returncode == Exit.OK
    events = stage.api.list(f"/api/v1/namespaces/{stage.namespace}/events")
    assert [one["reason"] for one in events if one["source"].get("component") == "reroll"]


# Bad input


def test_a_workload_that_does_not_exist_is_told_with_the_nearest_names(
    stage: Stage, sync: Command
) -> None:
    stage.make(build.configmap())
    stage.make(a_web("checkout"))
    stage.make(build.statefulset("checkout-db"))

    done = sync("deployment/checkot", "statefulset/checkout")

    assert done.code == Exit.FAILED
    assert f"there is no Deployment checkot in namespace {stage.namespace}; did" in done.err
    assert "did you mean deployment/checkout?" in done.err
    assert f"there is no StatefulSet checkout in namespace {stage.namespace}; did" in done.err
    assert "did you mean statefulset/checkout-db" in done.err
    source = sync("--source", "configmap/ap")
    assert source.code == Exit.FAILED
    assert "no workload here that opted in uses ConfigMap ap; did you mean app?" in source.err


def test_without_rights_on_one_kind_the_rest_is_done_and_it_is_said(
    stage: Stage, sync: Command, kubeconfig_for: Callable[..., Path], namespace: str
) -> None:
    stage.make(build.configmap())
    web = stage.make(a_web())
    rules = rights.cluster([k for k in KINDS if k.name not in {"StatefulSet", "Rollout"}])
    mine = [rule for rule in rules if rule["resources"] != ["namespaces"]]
    own = rights.own("reroll-digest-key", "reroll")
    identity = kubeconfig_for([*mine, *own], namespace)

    done = sync("-o", "json", identity=identity)

    assert done.code == Exit.FAILED
    gap = f"statefulsets.apps in namespace {namespace} may not be listed; grant `list` on them"
    assert gap in done.json["problems"]
    assert f"reroll: {gap}" in done.err
    assert "annotations on it do not count; grant `get` on namespaces" in done.err
    assert stage.record(web)["why"] == "Adopted"
    # Who names what may be seen misses nothing.
    assert sync("deployment/web", identity=identity).code == Exit.OK


def test_without_the_digest_key_of_the_records_nothing_is_written(
    stage: Stage, sync: Command, another: Callable[..., Stage], cluster: DevCluster
) -> None:
    stage.make(build.secret())
    web = stage.make(build.deployment("web", uses=["secret/db"], annotations=ENABLED))
    sync()
    before = stage.record(web)
    there = another()
    elsewhere = there.namespace
    there.make(build.secret(), build.deployment("web", uses=["secret/db"], annotations=ENABLED))
    where = ("-n", stage.namespace, "--kubeconfig", cluster.kubeconfig("admin"))

    done = reroll("sync", *where, "--controller-namespace", elsewhere)

    assert done.code == Exit.FAILED
    assert f"Secret {elsewhere}/reroll-digest-key, the digest key of the records" in done.err
    assert "say where the controller runs with --controller-namespace" in done.err
    assert stage.record(web) == before

    admin = ("--kubeconfig", cluster.kubeconfig("admin"))
    reroll("sync", "-n", elsewhere, *admin, "--controller-namespace", elsewhere)
    other = reroll("sync", *where, "--controller-namespace", elsewhere)
    assert other.code == Exit.FAILED
    assert f"does not hold the digest key {before['k']} of the records" in other.err
    assert stage.record(web) == before


def test_a_cluster_that_cannot_be_reached_is_a_sentence(
    cluster: DevCluster, tmp_path: Path
) -> None:
    good = cluster.kubeconfig("admin")
    wrong = reroll("sync", "--kubeconfig", good, "--context", "nowhere")
    assert wrong.code == Exit.USAGE
    assert "nowhere" in wrong.err

    config = yaml.safe_load(good.read_text())
    config["users"][0]["user"] = {"token": "expired"}
    expired = tmp_path / "expired"
    expired.write_text(yaml.safe_dump(config))
    done = reroll("sync", "--kubeconfig", expired)
    assert done.code == Exit.FAILED
    assert "does not accept these credentials" in done.err
    assert "log in again, or choose another context with --context" in done.err

    config["clusters"][0]["cluster"]["server"] = "https://127.0.0.1:1"
    expired.write_text(yaml.safe_dump(config))
    gone = reroll("sync", "--kubeconfig", expired)
    assert gone.code == Exit.FAILED
    assert "127.0.0.1:1" in gone.err
    missing = reroll("sync", "--kubeconfig", tmp_path / "none")
    assert missing.code == Exit.USAGE
    for told in (wrong, done, gone, missing):
        assert "Traceback" not in told.err
        assert told.out == ""


USAGE = {
    ("--rollback-on-failure",): "--rollback-on-failure needs --wait",
    ("--max-parallel", "2"): "--max-parallel needs --wait",
    ("--timeout", "soon"): "--timeout: 'soon' is not a duration",
    ("-l", "a in b", "-A"): "is not a label selector",
    ("deployment/web", "-l", "a=b"): "name workloads, or select them with -l or -A; not both",
    ("web",): "'web' names no workload",
}


@pytest.mark.parametrize(("args", "sentence"), USAGE.items(), ids=map(str, USAGE))
def test_wrong_usage_is_told_before_anybody_is_asked(args: tuple[str, ...], sentence: str) -> None:
    done = reroll("sync", "--kubeconfig", os.devnull, *args)

    assert (done.code, done.out) == (Exit.USAGE, "")
    assert sentence in done.err
