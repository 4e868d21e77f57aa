"""A namespace full of objects that the API server accepts and nobody can use: it harms no other.

Each is told of in a sentence. What a decoder or a handler does with random ones is in tests/fuzz.
"""

import json
from collections.abc import Callable
from typing import Any

from tests.scenarios import csi
from tests.scenarios.csi import Driver
from tests.scenarios.injecting import Injecting, gadget, injection, source
from tests.scenarios.stage import ENABLED, RECORD, Controller, Stage, Web, eventually
from tests.support import build
from tests.support.build import Object

RECORDS = {
    "no-json": "{oops",
    "a-list": "[1, 2]",
    "null": "null",
    "deep": "[" * 5000,
    "no-time": '{"n":1,"at":"yesterday","why":"x","s":{}}',
    "naive": '{"n":1,"at":"2026-01-01T00:00:00","why":"x","s":{}}',
    "bad-todo": '{"n":1,"at":"2026-01-01T00:00:00Z","why":"x","s":{},"todo":[]}',
    "null-digests": '{"n":1,"at":"2026-01-01T00:00:00Z","why":"x","s":{"configmap/app":null}}',
    "number": '{"n":1e999,"at":"2026-01-01T00:00:00Z","why":"x","s":{}}',
    "large": json.dumps({"n": 1, "at": "2026-01-01T00:00:00Z", "why": "x" * 200_000, "s": []}),
}
EXTREMES = {
    "first-day": '{"n":1,"at":"0001-01-01T00:00:00+14:00","why":"x","s":{}}',
    "last-day": '{"n":1,"at":"9999-12-31T23:59:59-12:00","why":"x","s":{"configmap/app":"x"}}',
    "odd-words": '{"n":1,"at":"2026-01-01T00:00:00Z","why":"\\u0000","s":{"":"","/":"x","#":"c"}}',
    "odd-todo": '{"n":1,"at":"2026-01-01T00:00:00Z","why":"x","s":{},'
    '"todo":{"do":"explode","since":"9999-12-31T23:59:59Z"}}',
}
"""Records that can be read."""
PENDING: dict[str, Any] = {
    "empty": {},
    "number": {"uid": 5, "job": {"metadata": {"name": "x"}}},
    "no-uid": {"job": {"metadata": {"name": "x"}}},
    "no-job": {"uid": "x"},
    "null-job": {"uid": "x", "job": None},
    "text-job": {"uid": "x", "job": "a Job"},
    "no-metadata": {"uid": "x", "job": {"spec": {}}},
    "no-name": {"uid": "x", "job": {"metadata": {}}},
    "empty-name": {"uid": "x", "job": {"metadata": {"name": ""}}},
    "odd-times": {"uid": "x", "job": {"metadata": {"name": "x", "creationTimestamp": "soon"}}},
    "nested": {"uid": "x", "job": {"metadata": {"name": "x", "annotations": {"a": {}}}}},
    "path": {"uid": "x", "job": {"metadata": {"name": "../../secrets/x"}}},
    "no-spec": {"uid": "x", "job": {"metadata": {"name": "x"}, "spec": 5}},
    "no-job-at-all": {"uid": "x", "job": {"kind": "Secret", "metadata": {"name": "x"}}},
}
STATUSES: dict[str, Any] = {
    "number": 5,
    "list": [],
    "text": "mounted",
    "objects-text": {"secretProviderClassName": "vault", "objects": "x"},
    "objects-null": {"secretProviderClassName": "vault", "objects": [None]},
    "no-id": {"secretProviderClassName": "vault", "objects": [{"version": "1"}]},
    "number-id": {"secretProviderClassName": "vault", "objects": [{"id": 1, "version": "1"}]},
    "number-class": {"secretProviderClassName": 7, "objects": []},
}
HARMLESS: dict[str, Any] = {
    "nothing": {},
    "null-list": {"secretProviderClassName": "vault", "objects": None},
    "no-class": {"objects": [{"id": "a", "version": "1"}]},
}
PATHS = {
    "brackets": (".spec[[", "spec.to.path"),
    "wildcard": (".spec.*", "spec.to.path"),
    "section": (".spec", "whole section"),
    "below-text": (".spec.mode.below.that", ""),
}


def pending(name: str, data: Any) -> Object:
    labels = {"reroll.dev/kept-job": "true"}
    return {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {"name": name, "labels": labels},
        "revision": 1,
        "data": data,
    }


def report(name: str, status: Any) -> Object:
    metadata = {"name": name}
    return {
        "apiVersion": f"{csi.GROUP}/v1", "kind": csi.STATUS, "metadata": metadata, "status": status
    }  # fmt: skip


def with_records(texts: dict[str, str]) -> list[Object]:
    return [
        build.deployment(
            f"record-{name}",
            replicas=0,
            uses="configmap/app",
            annotations={**ENABLED, RECORD: text},
        )
        for name, text in texts.items()
    ]


def injections(name: str) -> list[Object]:
    key = source("s", "k")
    return [
        *(injection(f"path-{n}", key, gadget(name), path) for n, (path, _) in PATHS.items()),
        injection("no-kind", key, {**gadget(name), "kind": "Nothing"}, ".spec.mode"),
        injection("template", key, gadget(name), ".spec.mode", template="{% if"),
    ]


def poison(stage: Stage, driver: Driver) -> tuple[list[Object], Object]:
    """Fill a namespace; the Deployments whose records cannot be read, and one that is good."""
    driver.install()
    driver.has(stage, "vault")
    spoilt = with_records(RECORDS)
    volumes = [csi.volume()]
    env = [{"name": "EMPTY", "value": None}, {"name": "ALSO"}]
    fine = build.deployment(
        "null-value", replicas=0, uses="configmap/app", env=env, annotations=ENABLED
    )
    mounting = build.deployment("mounting", replicas=0, annotations=ENABLED)
    mounting["spec"]["template"]["spec"]["volumes"] = volumes
    stage.make(
        build.configmap("app"),
        build.secret("s", {"k": "value"}),
        gadget("g", mode="fast"),
        *spoilt,
        *with_records(EXTREMES),
        fine,
        mounting,
        *(pending(f"pending-{name}", data) for name, data in PENDING.items()),
        *(report(f"report-{name}", status) for name, status in {**STATUSES, **HARMLESS}.items()),
        *injections("g"),
    )
    return spoilt, fine


def named(running: Controller, message: str, field: str) -> str:
    return " ".join(line[field] for line in running.lines() if line["msg"] == message)


def test_what_nobody_can_use_is_told_of_and_another_namespace_rolls(
    stage: Stage,
    injecting: Injecting,
    driver: Driver,
    another: Callable[[], Stage],
    web: Web,
) -> None:
    spoilt, fine = poison(stage, driver)
    quiet = another()
    good = build.deployment("good", replicas=0, uses="configmap/app", annotations=ENABLED)
    quiet.make(build.configmap("app"), good)
    both = f"kubernetes.io/metadata.name in ({stage.namespace},{quiet.namespace})"
    running = injecting.run(*web.flags, "--namespace-selector", both)
    number = quiet.adopted(good)["n"]

    for one in spoilt:
        eventually(lambda one=one: stage.events(one, "InvalidAnnotation"), f"{one} is told of")
    for one in injections("g"):
        name = one["metadata"]["name"].removeprefix("path-")
        told = eventually(lambda one=one: injecting.condition(one), f"{name} has a condition")
        assert told["status"] == "False", name
        assert PATHS.get(name, ("", ""))[1] in told["message"]

    def all_named() -> bool:
        jobs = named(running, "pending job", "revision")
        jobs += named(running, "job is not replaced yet", "revision")
        reports = named(running, "malformed object", "object")
        return all(f"pending-{name}" in jobs for name in PENDING) and all(
            f"report-{name}" in reports for name in STATUSES
        )

    eventually(all_named, "each pending Job and each report is told of")

    quiet.change("ConfigMap", "app", key="new")
    quiet.rolled(good, since=number)
    number = stage.adopted(fine)["n"]
    stage.change("ConfigMap", "app", key="new")
    stage.rolled(fine, since=number)

    bugs = {k: v for k, v in web.metrics().items() if k.startswith("reroll_bugs_total")}
    assert bugs
    assert set(bugs.values()) == {0.0}
    assert [line for line in running.lines() if line["msg"] == "bug"] == []
    assert running.stop() == 0
