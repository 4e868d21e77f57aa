"""The digest key is changed while the controller runs and while it does not: nothing rolls."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.scenarios.stage import ENABLED, Controller, Stage, again, alone, eventually
from tests.scenarios.test_evictions import EVICT, SLOW, Evictions, evictions, finished
from tests.support import build
from tests.support.command import Finished, reroll
from tests.support.templates import Templates
from tests.support.tools import kubeconfig_of

from reroll.cli.errors import Exit
from reroll.core.tables.rights import Rule
from reroll_dev.api import path_to
from reroll_dev.cluster import DevCluster

__all__ = ["evictions"]
Start = Callable[..., Controller]
Grant = Callable[[list[Rule], str | None], Path]
KEY = "reroll-digest-key"
KeyCommand = Callable[..., Finished]


@pytest.fixture
def key(cluster: DevCluster, namespace: str) -> KeyCommand:
    """`reroll key` on the installation in the test's namespace."""

    def run(command: str, *args: str, identity: str | Path = "admin") -> Finished:
        where = ("--controller-namespace", namespace, "-o", "json")
        return reroll(
            "key", command, "--kubeconfig", kubeconfig_of(cluster, identity), *where, *args
        )

    return run


def ids(stage: Stage) -> set[str]:
    return set(stage.api.get(path_to("Secret", "reroll-digest-key", stage.namespace))["data"])


@pytest.mark.slow
def test_a_key_is_rotated_without_a_roll_and_no_change_is_lost(
    stage: Stage, controller: Start, key: KeyCommand
) -> None:
    web = build.deployment(
        "web", replicas=0, uses=["secret/db", "configmap/app"], annotations=ENABLED
    )
    sts = build.statefulset("sts", replicas=0, uses="secret/other", annotations=ENABLED)
    plain = build.daemonset("plain", uses="configmap/app", annotations=ENABLED)
    sources = [build.configmap("app"), build.secret("db"), build.secret("other")]
    stage.make(*sources, web, sts, plain)
    running = controller()
    first = stage.adopted(web)["k"]
    for one in (sts, plain):
        stage.adopted(one)
    with Templates(stage.api, stage.namespace, "Deployment", "StatefulSet", "DaemonSet") as seen:
        # While it runs
        assert "would get another key" in key("rotate", "--dry-run").err
        assert ids(stage) == {first}
        done = key("rotate", "--wait", "--prune")
        assert done.code == Exit.OK, done.err
        [now] = ids(stage)
        assert now != first
        assert stage.record(web)["k"] == stage.record(sts)["k"] == now
        assert {"id": now, "there": True, "records": 2} in done.json["keys"]
        eventually(lambda: len(running.said("KeyRotated")) == 2, "both are told")

        # While it does not, and a Secret changes meanwhile
        running.stop()
        assert key("rotate").code == Exit.OK
        [newest] = ids(stage) - {now}
        stage.change("Secret", "db", password="while it was down")
        late = key("rotate", "--wait", "--timeout", "1ms")
        assert late.code == Exit.TIMED_OUT
        assert "is the controller running" in late.err
        assert [len(seen.of(one)) for one in (web, sts, plain)] == [1, 1, 1]
        assert f"{newest} would be removed" in key("prune", "--dry-run").err
        assert newest in ids(stage)
        kept = key("prune")
        assert kept.code == Exit.FAILED
        assert f"{now} stays: 2 records made with it" in kept.err
        assert ids(stage) >= {now}
        assert newest not in ids(stage), "no record ever needed it"
        number = stage.record(web)["n"]
        running.start()
        stage.rolled(web, since=number)
        eventually(lambda: stage.record(sts)["k"] != now, "the other one is rewritten")
        assert [len(seen.of(one)) for one in (web, sts, plain)] == [2, 1, 1]

        # What no record needs goes, and what one needs is only given up when asked for
        assert key("prune").code == Exit.OK
        assert len(ids(stage)) == 1
        number = stage.record(sts)["n"]
        stage.change("Secret", "other", password="new")
        stage.rolled(sts, since=number)
        running.stop()
        assert key("rotate").code == key("prune", "--force").code == Exit.OK
        running.start()
        eventually(lambda: stage.events(sts, "KeyLost"), "that it is lost is told")
        eventually(lambda: {stage.record(one)["k"] for one in (web, sts)} == ids(stage))
        assert [len(seen.of(one)) for one in (web, sts, plain)] == [2, 2, 1]
    assert "hunter2" not in running.log.read_text()


def test_a_rotation_rolls_no_workload_whose_pods_use_copies(
    stage: Stage, controller: Start, key: KeyCommand
) -> None:
    revised = {**ENABLED, "reroll.dev/revisions": "true", "reroll.dev/pin": "template"}
    web = build.deployment("web", replicas=0, uses="secret/db", annotations=revised)
    stage.make(build.secret("db"), web)

    def spec() -> build.Object:
        return stage.template(web)["spec"]

    plain = spec()
    running = controller()
    eventually(lambda: spec() != plain, "it is pinned")
    pinned, number = spec(), stage.record(web)["n"]
    copies = secrets(stage)
    assert key("rotate", "--wait").code == Exit.OK
    assert stage.record(web)["n"] > number
    assert spec() == pinned
    running.stop()
    assert key("rotate").code == Exit.OK
    running.start()
    assert key("rotate", "--wait", "--prune").code == Exit.OK
    stage.quiet(web)
    assert spec() == pinned
    assert secrets(stage) == copies

    number = stage.record(web)["n"]
    stage.change("Secret", "db", password="new")
    stage.rolled(web, since=number)
    assert spec() != pinned


@pytest.mark.slow
def test_a_rotation_in_the_middle_of_evictions_evicts_no_pod_twice(
    stage: Stage, controller: Start, key: KeyCommand, evictions: Evictions
) -> None:
    """Which pods are old is told by when the record was written: it is rewritten afterwards."""
    web = build.deployment(
        uses="secret/db", annotations=EVICT, template_annotations=SLOW, replicas=2
    )
    stage.make(build.secret("db"), web)
    one = alone(controller)
    stage.settled(web)
    first = stage.adopted(web)
    old = stage.pods(web)
    stage.change("Secret", "db", password="new")
    stage.rolled(web, since=first["n"])
    eventually(evictions.names, "one pod is evicted")

    assert key("rotate").code == Exit.OK
    stage.quiet(web)
    again(one)
    finished(stage, web)
    eventually(lambda: stage.record(web)["k"] != first["k"], "it is rewritten in the end")
    stage.settled(web)

    assert sorted(evictions.names()) == sorted(pod["metadata"]["name"] for pod in old)


def test_a_record_on_a_workload_that_is_not_managed_keeps_no_rotation_waiting(
    stage: Stage, controller: Start, key: KeyCommand
) -> None:
    """Whoever may annotate a workload can write one."""
    web = build.deployment("web", replicas=0, uses="secret/db", annotations=ENABLED)
    squat = build.deployment("squat", replicas=0, uses="secret/db")
    stage.make(build.secret("db"), web, squat)
    controller()
    stage.adopted(web)
    [old] = ids(stage)
    text = stage.get(web)["metadata"]["annotations"]["reroll.dev/state"]
    stage.annotate(squat, state=text)

    done = key("rotate", "--wait", "--prune")

    assert done.code == Exit.OK, done.err
    assert old not in ids(stage)
    assert stage.record(web)["k"] != old
    assert stage.record(squat)["k"] == old
    assert done.json["unmanaged"] >= 1


def test_a_key_that_can_be_guessed_is_refused_with_what_to_do(
    stage: Stage, controller: Start, key: KeyCommand
) -> None:
    stage.make(build.secret("reroll-digest-key", {"one": "short"}))

    refused = key("status")

    assert refused.code == Exit.FAILED
    assert "the digest key one has less than 16 bytes" in refused.err
    running = controller(wait="")
    said = "has less than 16 bytes, and can be guessed; remove it from the Secret"
    eventually(lambda: said in running.log.read_text(), "the controller says so too")


def test_a_key_that_was_spoilt_is_told_and_repaired_as_the_doctor_says(
    stage: Stage, controller: Start, cluster: DevCluster
) -> None:
    web = build.deployment("web", replicas=0, uses="secret/db", annotations=ENABLED)
    stage.make(build.secret("db"), web)
    running = controller()
    key_id, path = stage.adopted(web)["k"], path_to("Secret", KEY, stage.namespace)
    where = ("-n", stage.namespace, "--controller-namespace", stage.namespace, "-o", "json")

    def told() -> dict[str, str]:
        """By level."""
        done = reroll("doctor", *where, "--kubeconfig", kubeconfig_of(cluster, "admin"))
        found = [one for one in done.json["findings"] if one["check"] == "digest key"]
        return {one["level"]: f"{one['sentence']}; {one['todo']}" for one in found}

    assert [*told()] == ["ok"]
    stage.api.patch(path, {"data": {key_id: build.encode("short")}})

    said = f"Secret {stage.namespace}/{KEY}: the digest key {key_id} has less than 16 bytes"
    eventually(lambda: said in running.log.read_text(), "the controller says so without a restart")
    [(level, sentence)] = told().items()
    assert (level, sentence.startswith(said)) == ("problem", True)
    assert "delete the Secret, and a new one is made; then restart the controller" in sentence

    running.stop()
    stage.api.delete(path)
    running.start()
    # Until it rolls, or its record is a minute old, that names the key that was lost.
    eventually(lambda: [*told()] == ["ok", "warning"], "the doctor has no problem any more")
    number = stage.record(web)["n"]
    stage.change("Secret", "db", password="new")
    assert stage.rolled(web, since=number)["k"] != key_id
    assert [*told()] == ["ok"]


def secrets(stage: Stage) -> set[str]:
    return {
        one["metadata"]["name"] for one in stage.api.list(path_to("Secret", "", stage.namespace))
    }


def test_a_rotation_says_what_it_lacks_and_writes_nothing(
    stage: Stage, key: KeyCommand, kubeconfig_for: Grant
) -> None:
    missing = key("status")
    assert missing.code == Exit.FAILED
    assert "does not exist; the controller creates it when it starts" in missing.err
    secret = build.secret("reroll-digest-key", {"one": "x" * 32})
    stage.make(secret)
    secrets = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "patch"]}

    blind = key("rotate", identity=kubeconfig_for([secrets], stage.namespace))
    assert blind.code == Exit.FAILED
    assert "not all records can be seen: namespaces in all namespaces" in blind.err
    reading = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list"]}
    unable = key("rotate", identity=kubeconfig_for([reading], None))
    assert "may not be changed; grant `patch` on it" in unable.err

    assert ids(stage) == {"one"}
    table = reroll(
        *("key", "status", "--controller-namespace", stage.namespace),
        *("--kubeconfig", kubeconfig_for([reading], None)),
    )
    assert "in use" in table.out
    assert "xxx" not in table.out + table.err
