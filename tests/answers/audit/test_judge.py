"""What a pod has of its sources: decided from plain values. Shapes on a cluster: test_audit.py."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from tests.support import build

from reroll.answers.audit.report import Audited, rows
from reroll.core.model.key import Key
from reroll.core.observe.provenance import Write, Writes
from reroll.core.observe.staleness import Finding, Verdict
from reroll.engine.owned_pods import AuditedPod, controller_of, judge, owner

START = datetime(2026, 5, 1, 10, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
APP = Key("ConfigMap", "shop", "app")


def pod(state: dict[str, Any] | None = None, phase: str = "Running", **template: Any) -> AuditedPod:
    state = {"running": {"startedAt": START}} if state is None else state
    return msgspec.convert(
        {
            "metadata": {"name": "web-1", "namespace": "shop"},
            "spec": build.pod_template("web", **template)["spec"],
            "status": {"phase": phase, "containerStatuses": [{"name": "main", "state": state}]},
        },
        AuditedPod,
        strict=False,
    )


def written(at: datetime, *keys: str) -> Writes:
    return Writes(START - MINUTE, (Write("ops", at, frozenset(keys or {"key"}), True),))


def judged(one: AuditedPod, known: Writes | None, **more: Any) -> list[Verdict]:
    return [finding.verdict for finding in judge(one, lambda _: known, **more)]


def test_a_write_in_the_second_of_the_start_counts_as_read() -> None:
    one = pod(uses=["configmap/app"])
    assert judged(one, written(START)) == [Verdict.CURRENT]
    assert judged(one, written(START + timedelta(seconds=1))) == [Verdict.STALE]


def test_a_copy_that_was_made_again_is_what_it_was() -> None:
    one = pod(uses=["configmap/app-1a2b3c4d5e"])
    again = Writes(START + MINUTE, written(START + MINUTE).known, immutable=True)
    assert judged(one, again) == [Verdict.STALE]
    assert judged(one, msgspec.structs.replace(again, copy=True)) == [Verdict.CURRENT]


def test_a_container_that_does_not_run_has_nothing() -> None:
    waits = pod({"waiting": {"reason": "CrashLoopBackOff"}}, uses=["configmap/app"])
    assert judged(waits, written(START + MINUTE)) == []


def test_only_pods_that_stay_count() -> None:
    assert pod().runs is True
    assert pod(phase="Succeeded").runs is False
    leaving = pod()
    leaving.metadata.deletion_timestamp = START
    assert leaving.runs is False


def test_mounts_can_be_counted_as_frozen() -> None:
    one = pod(mounts=["configmap/app"])
    after = written(START + MINUTE)
    assert judged(one, after) == [Verdict.LIVE]
    assert judged(one, after, mounts_are_live=False) == [Verdict.STALE]


def test_sources_that_nobody_could_list_are_unknown() -> None:
    def blind(_: Key) -> Writes | None:
        raise KeyError

    [finding] = judge(pod(uses=["secret/db#password"]), blind)
    assert (finding.verdict, finding.why) == (Verdict.UNKNOWN, "Secrets may not be listed")


def test_a_pod_belongs_to_what_makes_what_makes_it() -> None:
    def meta(kind: str, name: str) -> Any:
        ref = {"kind": kind, "name": name, "controller": True}
        given = {"metadata": {"name": "x", "namespace": "shop", "ownerReferences": [ref]}}
        return msgspec.convert(given, AuditedPod).metadata

    made = Key("Pod", "shop", "x")
    makers = {Key("ReplicaSet", "shop", "web-1"): Key("Deployment", "shop", "web")}
    assert owner(meta("ReplicaSet", "web-1"), made, makers) == Key("Deployment", "shop", "web")
    assert owner(meta("StatefulSet", "db"), made, makers) == Key("StatefulSet", "shop", "db")
    assert owner(pod().metadata, made, makers) == made
    assert controller_of(pod().metadata) is None


def findings(known: Writes, **template: Any) -> tuple[Finding, ...]:
    return tuple(judge(pod(**template), lambda _: known))


def audited(names: Iterable[str], found: tuple[Finding, ...]) -> list[Audited]:
    web = Key("Deployment", "shop", "web")
    return [Audited(Key("Pod", "shop", name), web, found) for name in names]


def test_pods_of_a_workload_are_one_row_unless_each_is_wanted() -> None:
    uses = {"uses": ["configmap/app", "configmap/app#key"], "mounts": ["configmap/app"]}
    pods = audited("abc", findings(written(START + MINUTE), **uses))

    [row] = rows(pods)

    assert row.pods == ("a", "b", "c")
    assert (row.source, row.verdict, row.by) == (APP, Verdict.STALE, "ops")
    assert row.hows == ("env APP_KEY of container main", "envFrom of container main")
    assert [one.of.name for one in rows(pods, each_pod=True)] == ["a", "b", "c"]
    assert rows(audited("a", findings(written(START), **uses))) == []
