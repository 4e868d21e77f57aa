"""What people see of a roll: Events, one log line, metrics, probes; and what nobody must see."""

import base64
import hashlib
import json
import re
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.scenarios.stage import ENABLED, Controller, Stage, Web, a, eventually, for_kinds
from tests.support import build
from tests.support.faultproxy import FaultProxy
from tests.support.faults import Answer, Match, Silence
from tests.support.tools import Tool

from reroll.core.tables.kinds import KINDS, Kind, Strategy
from reroll_dev.api import path_of, path_to

Start = Callable[..., Controller]
Audit = Callable[[Path], list[dict[str, Any]]]


@for_kinds(Strategy.STAMP)
def test_a_roll_is_told_by_one_event_one_log_line_and_one_count(
    stage: Stage, controller: Start, kind: Kind, web: Web
) -> None:
    workload = a(kind, uses=["configmap/app", "secret/db"], annotations=ENABLED)
    stage.make(build.configmap("app"), build.secret("db"), workload)
    running = controller(*web.flags)
    number = stage.adopted(workload)["n"]

    stage.change("ConfigMap", "app", key="new")
    stage.rolled(workload, since=number)

    event = eventually(lambda: stage.events(workload), "an Event on the workload")[0]
    assert event["reason"] == "ConfigChanged"
    assert event["type"] == "Normal"
    assert event["involvedObject"]["uid"] == stage.get(workload)["metadata"]["uid"]
    assert "configmap/app changed (key)" in event["message"]
    lines = [line for line in running.lines() if line["msg"] == "rolled"]
    assert len(lines) == 1
    assert lines[0]["workload"] == f"{kind.name} {stage.namespace}/web"
    assert lines[0]["reason"] == "ConfigChanged"
    assert lines[0]["because"] == "configmap/app changed (key)"
    labels = f'kind="{kind.name}",reason="ConfigChanged",result="done",strategy="stamp"'
    assert web.metrics()[f"reroll_rolls_total{{{labels}}}"] == 1
    assert len(stage.events(workload)) == 1


def test_a_source_tells_in_one_event_whom_its_change_rolled_and_what_became_of_it(
    stage: Stage, controller: Start, kubectl: Tool, web: Web
) -> None:
    def complete(rollouts: int) -> None:
        metric = 'reroll_rollouts_total{result="complete"}'
        eventually(lambda: web.metrics()[metric] == rollouts, "the controller knows of their end")

    workloads = [
        build.deployment(f"web-{i}", uses=["configmap/app", "secret/db"], annotations=ENABLED)
        for i in range(3)
    ]
    stage.make(build.configmap("app"), build.secret("db"), *workloads)
    running = controller(*web.flags)
    numbers = [stage.adopted(one)["n"] for one in workloads]

    stage.change("ConfigMap", "app", key="new")
    numbers = [stage.rolled(w, since=n)["n"] for w, n in zip(workloads, numbers, strict=True)]
    complete(3)
    stage.change("Secret", "db", password="new")
    for one, number in zip(workloads, numbers, strict=True):
        stage.rolled(one, since=number)
    complete(6)
    running.stop()

    for source in (build.configmap("app"), build.secret("db")):
        events = stage.events(source)
        (rolled,) = [event["message"] for event in events if event["reason"] == "ConfigChanged"]
        assert all(f"Deployment web-{i}" in rolled.partition(";")[0] for i in range(3))
        ends = [end for e in events for end in re.findall(r"web-\d after \d+s", e["message"])]
        assert len(ends) == 3, events
    assert all(len(stage.events(one)) == 2 for one in workloads), "none for the end of a rollout"
    told = kubectl("describe", "configmap", "app", "-n", stage.namespace)
    assert "its change rolled" in told, "kubectl shows only Events that name the object's uid"
    told = kubectl("describe", "deployment", "web-0", "-n", stage.namespace)
    assert "configmap/app changed (key)" in told


def test_metrics_tell_what_it_looks_at_and_what_it_does(
    stage: Stage, controller: Start, web: Web
) -> None:
    workload = build.deployment(uses=["configmap/app", "secret/db"], annotations=ENABLED)
    stage.make(build.configmap("app"), build.secret("db"), workload)
    controller(*web.flags)
    number = stage.adopted(workload)["n"]
    stage.change("ConfigMap", "app", key="new")
    stage.rolled(workload, since=number)

    found = eventually(lambda: _after_a_roll(web), "the roll is counted")

    assert found["reroll_leader"] == 1
    assert found["reroll_workloads"] == 1
    assert found["reroll_sources"] == 2
    assert found["reroll_queue_depth"] == 0
    assert found["reroll_queue_age_seconds"] == 0
    assert found["reroll_events_dropped_total"] == 0
    assert found["reroll_change_to_patch_seconds_count"] == 1
    assert found['reroll_decisions_total{reason="Adopted",result="done"}'] == 1
    assert found['reroll_decisions_total{reason="Debouncing",result="held"}'] >= 1
    assert any(name.startswith('reroll_build_info{version="') for name in found)
    call = 'reroll_api_calls_total{code="200",resource="deployments.apps",verb="patch"}'
    assert found[call] == 2
    watched = set(re.findall(r'reroll_watch_age_seconds\{resource="(.*?)"\}', " ".join(found)))
    assert {f"{kind.plural}.{kind.group}" for kind in KINDS} < watched
    assert {"configmaps", "secrets", "namespaces"} < watched


def _after_a_roll(web: Web) -> dict[str, float]:
    found = web.metrics()
    # Its pods change its status, and it is looked at again each time.
    is_over = found["reroll_change_to_patch_seconds_count"] and not found["reroll_queue_depth"]
    return found if is_over else {}


def test_metrics_of_several_namespaces_that_are_watched_one_by_one_are_told_once(
    stage: Stage, controller: Start, web: Web, another: Callable[[], Stage]
) -> None:
    both = f"{stage.namespace},{another().namespace}"
    controller(*web.flags, "--namespaces", both, "--namespace-selector", "")

    assert 'reroll_watch_age_seconds{resource="configmaps"}' in web.metrics()


def test_it_is_ready_when_everything_was_seen_once_and_says_what_it_waits_for(
    stage: Stage, controller: Start, web: Web, fault_proxy: FaultProxy, reroll_kubeconfig: Path
) -> None:
    listing = Match(path="/configmaps$")
    fault_proxy.inject(Answer(503), listing, times=None)
    kubeconfig = fault_proxy.kubeconfig(reroll_kubeconfig)
    running = controller(*web.flags, kubeconfig=kubeconfig, wait="starting")
    fault_proxy.wait_for("Answer", listing)

    waiting = (503, "waiting for configmaps\n")
    eventually(lambda: web.get("/readyz") == waiting, "it says what it waits for")
    assert web.get("/healthz") == (200, "ok\n")

    fault_proxy.clear()
    running.wait_for(lambda line: line["msg"] == "leading")
    assert web.get("/readyz") == (200, "ok\n")


def test_a_watch_that_died_in_silence_fails_the_health_probe_by_name_until_it_lives(
    stage: Stage, controller: Start, web: Web, fault_proxy: FaultProxy, reroll_kubeconfig: Path
) -> None:
    objects = [build.deployment(), build.secret(), build.configmap()]
    stage.make(*objects)
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": stage.namespace}}
    paths = [path_of(namespace), *map(stage.path, objects)]
    controller(
        *(*web.flags, "--watch-silence", "1s"),
        *("--exclude-kinds", ",".join(k.name for k in KINDS if k.name != "Deployment")),
        kubeconfig=fault_proxy.kubeconfig(reroll_kubeconfig),
    )

    def health() -> tuple[int, str]:
        """While there is always something to tell about everything that is watched."""
        for path in paths:
            stage.api.patch(path, {"metadata": {"annotations": {"touched": uuid.uuid4().hex}}})
        return web.get("/healthz")

    fault_proxy.inject(Silence(), Match(path="/configmaps$"), times=None)
    dead = "watch of configmaps has been dead"
    status, _ = eventually(lambda: found if dead in (found := health())[1] else None, "it fails")
    assert status == 503

    fault_proxy.clear()
    eventually(lambda: health() == (200, "ok\n"), "it is healthy again")


def test_an_event_that_cannot_be_written_is_counted_and_stops_no_roll(
    stage: Stage, controller: Start, web: Web, fault_proxy: FaultProxy, reroll_kubeconfig: Path
) -> None:
    workload = build.deployment(uses="configmap/app", annotations=ENABLED)
    stage.make(build.configmap("app"), workload)
    fault_proxy.inject(Answer(403), Match("POST", "/events$"), times=None)
    controller(*web.flags, kubeconfig=fault_proxy.kubeconfig(reroll_kubeconfig))
    number = stage.adopted(workload)["n"]

    for content in ("2", "3"):
        stage.change("ConfigMap", "app", key=content)
        number = stage.rolled(workload, since=number)["n"]

    eventually(lambda: web.metrics()["reroll_events_dropped_total"] == 2, "both are counted")


PASSWORD = "correct-horse-battery-staple"
NEW_PASSWORD = "another-horse-another-battery"


def spellings(value: str) -> set[str]:
    """A value and what gives it away to whoever guesses it."""
    raw = value.encode()
    hashes = {algorithm(raw).hexdigest() for algorithm in (hashlib.sha256, hashlib.sha1)}
    return {value, base64.b64encode(raw).decode().rstrip("="), *hashes, *(h[:32] for h in hashes)}


def test_no_value_of_a_secret_is_in_any_log_line_event_metric_or_annotation(
    stage: Stage, controller: Start, web: Web
) -> None:
    uses = ["secret/db", "configmap/app"]
    workloads = [
        build.deployment("web", uses=uses, annotations=ENABLED),
        build.deployment("env", uses=uses, annotations={**ENABLED, "reroll.dev/strategy": "env"}),
        build.cronjob("task", uses=uses, annotations=ENABLED),
        build.deployment("bad", uses=uses, annotations={**ENABLED, "reroll.dev/strategy": "?"}),
    ]
    stage.make(build.secret("db", {"password": PASSWORD}), build.configmap("app"), *workloads)
    running = controller(*web.flags)
    numbers = [stage.adopted(one)["n"] for one in workloads]

    stage.change("Secret", "db", password=NEW_PASSWORD)
    for one, number in zip(workloads, numbers, strict=True):
        stage.rolled(one, since=number)
    metrics = web.get("/metrics")[1]
    running.stop()

    seen = {
        "log": running.log.read_text(),
        "metrics": metrics,
        "events": json.dumps(stage.api.list(path_to("Event", "", stage.namespace))),
        "workloads": json.dumps([stage.get(one) for one in workloads]),
        "revisions": json.dumps(stage.revisions(workloads[0])),
        "configmaps": json.dumps(stage.api.list(path_to("ConfigMap", "", stage.namespace))),
    }
    for value in (PASSWORD, NEW_PASSWORD):
        for spelling in spellings(value):
            assert [place for place, text in seen.items() if spelling in text] == []


def test_a_secret_that_nobody_opted_in_for_is_never_fetched(
    stage: Stage, controller: Start, audit: Audit, reroll_kubeconfig: Path
) -> None:
    used = build.deployment("used", uses="secret/used", annotations=ENABLED)
    silent = build.deployment("silent", uses="secret/silent")
    out = build.deployment("out", uses="secret/out", annotations={"reroll.dev/enabled": "false"})
    for name in ("used", "silent", "out", "unused"):
        stage.make(build.secret(name))
    stage.make(used, silent, out)
    controller()
    number = stage.adopted(used)["n"]
    for name in ("used", "silent", "out", "unused"):
        stage.change("Secret", name, password="new")
    stage.rolled(used, since=number)

    calls = [
        call for call in audit(reroll_kubeconfig) if call["objectRef"]["resource"] == "secrets"
    ]
    by_name = {(c["verb"], c["objectRef"]["name"]) for c in calls if "name" in c["objectRef"]}
    assert {pair for pair in by_name if pair[0] != "create"} == {
        ("get", "used"),
        ("get", "reroll-digest-key"),
    }
    assert {call["verb"] for call in calls} <= {"get", "list", "watch", "create"}


def test_a_changed_secret_is_read_from_the_cache_or_else_from_the_store(
    stage: Stage, controller: Start, fault_proxy: FaultProxy, reroll_kubeconfig: Path
) -> None:
    workload = build.deployment(uses="secret/db", annotations=ENABLED)
    stage.make(build.secret("db"), workload)
    controller(kubeconfig=fault_proxy.kubeconfig(reroll_kubeconfig))
    stage.adopted(workload)
    fault_proxy.inject(Answer(504), Match(path="/secrets/db$"), times=1)
    for content in ("new", "newer"):
        number = stage.record(workload)["n"]
        stage.change("Secret", "db", password=content)
        stage.rolled(workload, since=number)

    asked = [entry.path for entry in fault_proxy.log if "/secrets/db" in entry.path]
    versions = [path.partition("resourceVersion=")[2] != "" for path in asked]
    assert versions[-3:] == [True, False, True]  # refused once, so asked without; then again


def test_secrets_are_listed_and_watched_as_metadata_only(
    stage: Stage, controller: Start, fault_proxy: FaultProxy, reroll_kubeconfig: Path
) -> None:
    globbed = {**ENABLED, "reroll.dev/sources": "secret/d*"}
    workload = build.deployment(uses="secret/db", annotations=globbed)
    stage.make(build.secret("db"), workload)
    # A server that cannot stream a list is asked for pages.
    fault_proxy.inject(Answer(422), Match(path="/secrets$", watch=True))
    controller(kubeconfig=fault_proxy.kubeconfig(reroll_kubeconfig))
    number = stage.adopted(workload)["n"]
    stage.change("Secret", "db", password="new")
    stage.rolled(workload, since=number)

    asked = [entry for entry in fault_proxy.log if re.search(r"/secrets(\?|$)", entry.path)]
    many = {entry.accept.partition(";g=")[0] for entry in asked if entry.method == "GET"}
    assert many == {
        "application/json;as=PartialObjectMetadata",
        "application/json;as=PartialObjectMetadataList",
    }


def test_a_workload_that_waits_for_its_turn_is_held_as_paced_and_rolls_then(
    stage: Stage, controller: Callable[..., Controller], web: Web
) -> None:
    workloads = [
        build.deployment(f"web-{n}", uses=["configmap/app"], annotations=ENABLED) for n in range(4)
    ]
    stage.make(build.configmap("app"), *workloads)
    controller("--rate", "1", "--burst", "1", "--debounce", "0s", *web.flags)
    since = {one["metadata"]["name"]: stage.adopted(one)["n"] for one in workloads}

    stage.change("ConfigMap", "app", key="new")
    for one in workloads:
        stage.rolled(one, since[one["metadata"]["name"]])

    held = 'reroll_decisions_total{reason="Paced",result="held"}'
    assert web.metrics()[held] >= 3
    assert not any(stage.events(one, "Paced") for one in workloads)
