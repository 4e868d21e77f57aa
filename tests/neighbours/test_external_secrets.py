"""External Secrets writes the Secret: a new value of the provider rolls once, a refresh never."""

import os
from collections.abc import Callable
from typing import Any

import pytest
from tests.neighbours.looks import (
    custom,
    data,
    is_ready,
    rolled_once,
    secret,
    shown,
    stays,
    templates,
)
from tests.scenarios.stage import ENABLED, Controller, Stage, alone, eventually
from tests.support import build
from tests.support.build import Object, encode
from tests.support.fixtures_neighbours import Running

Start = Callable[..., Controller]
VERSION = "external-secrets.io/v1"
WEB = build.deployment(uses="secret/db", annotations=ENABLED)
WANTED = custom(VERSION, "ExternalSecret", "db")
OFTEN = "1s"
SECONDS = float(os.environ.get("REFRESH_SECONDS", "30"))
"""For how long it refreshes every second; `make test-neighbours` has it do so for ten minutes."""


@pytest.fixture(autouse=True)
def operator(neighbour: Callable[[str], Running]) -> Running:
    return neighbour("external-secrets")


def fake(stage: Stage, **values: str) -> Object:
    """A store of the provider that has its values in the manifest. (It knows stores by name.)"""
    rows = [{"key": key, "value": value} for key, value in values.items()]
    return custom(
        VERSION, "SecretStore", stage.namespace, spec={"provider": {"fake": {"data": rows}}}
    )


def wanted(store: Object, *keys: str, **spec: Any) -> Object:
    own = {
        "refreshInterval": OFTEN,
        "secretStoreRef": {"kind": store["kind"], "name": store["metadata"]["name"]},
        "data": [{"secretKey": key, "remoteRef": {"key": key}} for key in keys],
    }
    return {**WANTED, "spec": {**own, **spec}}


def provide(stage: Stage, store: Object) -> None:
    """Have the provider say something else."""
    stage.api.patch(stage.path(store), {"spec": store["spec"]})


def refreshed(stage: Stage) -> str:
    return str(stage.get(WANTED)["status"].get("refreshTime"))


def more_refreshes(stage: Stage, count: int = 3) -> None:
    for _ in range(count):
        before = refreshed(stage)
        eventually(lambda: refreshed(stage) != before, "it refreshes")  # noqa: B023


def synced(stage: Stage) -> Object:
    return stage.api.wait_for(stage.path(WANTED), is_ready, timeout=60, what="it is synced")


def running(stage: Stage, controller: Start) -> dict[str, Any]:
    """What uses the Secret is there, and ours watches; its record."""
    synced(stage)
    stage.make(WEB)
    stage.settled(WEB)
    alone(controller)
    return stage.adopted(WEB)


def test_a_value_that_changed_in_the_provider_rolls_once(stage: Stage, controller: Start) -> None:
    stage.make(fake(stage, user="a", password="one"), wanted(fake(stage), "user", "password"))
    first = running(stage, controller)

    provide(stage, fake(stage, user="b", password="two"))

    record = rolled_once(stage, WEB, since=first["n"])
    assert record["by"] == ["secret/db"]
    assert data(stage) == {"user": encode("b"), "password": encode("two")}
    more_refreshes(stage)
    assert stage.record(WEB) == record
    assert templates(stage, WEB) == 2


@pytest.mark.timeout(SECONDS + 240)
def test_refreshes_every_second_without_a_change_roll_nothing(
    stage: Stage, controller: Start
) -> None:
    stage.make(fake(stage, password="one"), wanted(fake(stage), "password"))
    record = running(stage, controller)
    before = secret(stage)
    seen = {refreshed(stage)}

    def quiet() -> bool:
        seen.add(refreshed(stage))
        return stage.record(WEB) == record

    stays(quiet, "it rolled", SECONDS, every=0.8)

    assert len(seen) > SECONDS / 4, "it refreshed too rarely to say anything"
    assert templates(stage, WEB) == 1
    assert secret(stage)["data"] == before["data"]


def test_the_bookkeeping_of_the_operator_rolls_nothing(stage: Stage, controller: Start) -> None:
    """Labels and annotations of the template, its own hash of the data, a refresh by hand."""
    stage.make(fake(stage, password="one"), wanted(fake(stage), "password"))
    record = running(stage, controller)

    meta = {"labels": {"team": "a"}, "annotations": {"note": "new"}}
    stage.api.patch(stage.path(WANTED), {"spec": {"target": {"template": {"metadata": meta}}}})
    eventually(lambda: "team" in secret(stage)["metadata"]["labels"], "the Secret is labelled")
    stage.api.patch(stage.path(WANTED), {"metadata": {"annotations": {"force-sync": "now"}}})

    more_refreshes(stage)
    assert data(stage) == {"password": encode("one")}
    assert stage.record(WEB) == record
    assert templates(stage, WEB) == 1


def test_a_provider_that_has_the_value_no_more_rolls_nothing(
    stage: Stage, controller: Start
) -> None:
    """The operator keeps the Secret, and says that it is not in sync."""
    stage.make(fake(stage, password="one"), wanted(fake(stage), "password"))
    record = running(stage, controller)

    provide(stage, fake(stage, other="two"))

    eventually(lambda: not is_ready(stage.get(WANTED)), "it tells of it")
    stage.quiet(WEB, 3)
    assert data(stage) == {"password": encode("one")}

    provide(stage, fake(stage, password="one"))

    synced(stage)
    more_refreshes(stage)
    assert stage.record(WEB) == record
    assert templates(stage, WEB) == 1


def kubernetes(stage: Stage) -> list[Object]:
    """A store of the provider that reads Secrets of a namespace, here of the test's own."""
    rights = "rbac.authorization.k8s.io"
    rule = {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list", "watch"]}
    provider = {
        "remoteNamespace": stage.namespace,
        "server": {
            "url": stage.api.server,
            "caProvider": {"type": "ConfigMap", "name": "kube-root-ca.crt", "key": "ca.crt"},
        },
        "auth": {"serviceAccount": {"name": "reader"}},
    }
    return [
        custom("v1", "ServiceAccount", "reader"),
        custom(f"{rights}/v1", "Role", "reader", rules=[rule]),
        custom(
            f"{rights}/v1",
            "RoleBinding",
            "reader",
            roleRef={"apiGroup": rights, "kind": "Role", "name": "reader"},
            subjects=[{"kind": "ServiceAccount", "name": "reader", "namespace": stage.namespace}],
        ),
        custom(VERSION, "SecretStore", "cluster", spec={"provider": {"kubernetes": provider}}),
    ]


def test_a_secret_that_is_taken_from_elsewhere_in_the_cluster_rolls_once(
    stage: Stage, controller: Start
) -> None:
    *others, store = kubernetes(stage)
    one = {"secretKey": "password", "remoteRef": {"key": "origin", "property": "password"}}
    stage.make(build.secret("origin", {"password": "one"}), *others, store)
    stage.make(wanted(store, data=[one]))
    first = running(stage, controller)

    stage.change("Secret", "origin", password="two")

    record = rolled_once(stage, WEB, since=first["n"])
    assert record["by"] == ["secret/db"]
    assert data(stage) == {"password": encode("two")}
    assert templates(stage, WEB) == 2


def test_the_example_of_the_guide_does_what_it_says(stage: Stage, controller: Start) -> None:
    page = shown("with-external-secrets.md")
    external, deployment = page["external-secret.yaml"], page["web.yaml"]
    external["spec"]["refreshInterval"] = OFTEN
    store = fake(stage, **{"shop/db": '{"password": "one"}'})
    store["metadata"]["name"] = external["spec"]["secretStoreRef"]["name"]
    stage.make(store, external)
    assert external["metadata"] == WANTED["metadata"]
    synced(stage)
    stage.make(deployment)
    stage.settled(deployment)
    alone(controller)
    number = stage.adopted(deployment)["n"]
    assert secret(stage)["metadata"]["annotations"]["reroll.dev/revisions"] == "false"

    provide(
        stage, fake(stage, **{"shop/db": '{"password": "two"}'}) | {"metadata": store["metadata"]}
    )

    assert rolled_once(stage, deployment, since=number)["by"] == ["secret/db"]
    assert data(stage) == {"password": encode("two")}
