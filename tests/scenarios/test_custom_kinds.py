"""Kinds from the config file: each ready row of `examples/kinds`, on objects of the real shape."""

import re
from collections.abc import Callable, Iterator

import pytest
from tests.scenarios import custom
from tests.scenarios.custom import EXAMPLE_KINDS, SAMPLES, marks
from tests.scenarios.stage import Controller, Stage, eventually
from tests.support import build
from tests.support.crds.kinds import TEXT, TEXTS, definition, fields

from reroll.core.tables.kinds import Kind
from reroll_dev.api import Api, path_of

TIME = re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
each_row = pytest.mark.parametrize("kind", EXAMPLE_KINDS, ids=lambda kind: kind.name)


def sources(stage: Stage) -> None:
    stage.make(build.configmap("app", {"level": "info", "other": "x"}))
    stage.make(build.secret("db", {"password": "old"}))


@pytest.mark.thorough
@each_row
def test_a_ready_row_adopts_quietly_and_rolls_for_what_its_objects_use(
    kind: Kind, stage: Stage, started: Callable[..., Controller]
) -> None:
    sample = SAMPLES[kind.name]
    sources(stage)
    manifest = custom.made(kind, "web", sample.spec, **sample.annotations)
    stage.make(manifest)
    running = started(
        {"kinds": [one for one in custom.rows()["kinds"] if one["kind"] == kind.kind]}
    )

    adopted = stage.adopted(manifest)

    assert {entry.partition("#")[0] for entry in adopted["s"]} == {"configmap/app", "secret/db"}
    before = stage.get(manifest)
    assert (marks(kind, before), before["metadata"]["generation"]) == ({}, 1)

    stage.change("Secret", "db", password="new")
    rolled = stage.rolled(manifest, adopted["n"])
    after = stage.get(manifest)

    assert rolled["by"][0].startswith("secret/db")
    assert after["metadata"]["generation"] == 1 + sample.bumps
    (mark,) = marks(kind, after).values()
    value = kind.stamp.value if kind.stamp else "hash"
    assert {"hash": re.compile("[0-9a-f]{32}"), "time": TIME}.get(
        value, re.compile(value)
    ).fullmatch(mark)
    assert not [line for line in running.lines() if line["level"] in {"error", "warning"}]
    (event,) = eventually(lambda: stage.events(manifest, "ConfigChanged"))
    assert event["involvedObject"]["apiVersion"] == manifest["apiVersion"]


WIDGET = {"group": "example.com", "version": "v1", "kind": "Widget", "resource": "widgets"}
WRONG = {
    **WIDGET,
    "template": "spec.tmplate",
    "references": [
        {"source": "Secret", "path": "spec.credentials[*].name"},
        {"source": "ConfigMap", "path": "spec.settings"},
    ],
    "stamp": {"annotations": "spec.podAnnotations"},
    "paused": "spec.settings",
    "health": {"replicas": "spec.replicas.count", "condition": {"type": "Ready"}},
}
MISNAMED = {**WIDGET, "kind": "AppConfig", "resource": "appconfig"}
OUTDATED = {**WIDGET, "kind": "Vault", "version": "v1alpha1", "resource": "vaults"}


PLANET = {
    **WIDGET,
    "kind": "Planet",
    "resource": "planets",
    "references": [{"source": "Secret", "path": "spec.secret"}],
}


@pytest.fixture
def planet(api: Api, namespace: str, definitions: None) -> Iterator[None]:
    """Something that is in no namespace."""
    (kind,) = custom.tables({"kinds": [PLANET]}).custom.values()
    assert isinstance(kind, Kind)
    manifest = custom.made(kind, namespace, {"secret": "db"})
    api.create(manifest)
    yield
    api.delete(path_of(manifest))


@pytest.mark.usefixtures("planet")
def test_a_wrong_path_names_itself_and_what_is_there_instead(
    started: Callable[..., Controller],
) -> None:
    running = started({"kinds": [WRONG, MISNAMED, OUTDATED, PLANET]})

    def told() -> set[str]:
        lines = [line for line in running.lines() if line["msg"] == "kind"]
        return {f"{line['row']}: {line['problem']}" for line in lines if line["level"] == "warning"}

    widget = "Widget.example.com: "
    has = "spec has no tmplate; it has appConfig, credentials, podAnnotations, replicas, settings"
    wanted = {
        f"{widget}template: {has}",
        f"{widget}references[0].path: spec.credentials is not a list; take [*] out",
        f"{widget}paused: spec.settings is of the type string, not boolean",
        f"{widget}health.replicas: spec.replicas has no count; it is of the type integer",
        "AppConfig.example.com: resource: AppConfig is not appconfig; it is appconfigs",
        "Vault.example.com: version: example.com has no v1alpha1; it has v1",
        "Planet.example.com: kind: Planet is in no namespace, and what rolls has to be in one",
    }
    eventually(lambda: told() == wanted, f"these problems: {wanted ^ told()}")
    assert not [line for line in running.lines() if line["msg"] == "bug"]


LATE = definition(
    "late.example.com",
    "v1",
    "Latecomer",
    "latecomers",
    spec=fields(secret=TEXT, podAnnotations=TEXTS),
)


def test_a_kind_waits_for_its_definition(
    api: Api, stage: Stage, started: Callable[..., Controller]
) -> None:
    row = {
        "group": "late.example.com",
        "version": "v1",
        "kind": "Latecomer",
        "resource": "latecomers",
        "references": [{"source": "Secret", "path": "spec.secret"}],
        "stamp": {"annotations": "spec.podAnnotations"},
    }
    kind = custom.tables({"kinds": [row]}).by_name["Latecomer.late.example.com"]
    manifest = custom.made(kind, "web", {"secret": "db"})
    sources(stage)
    running = started({"kinds": [row]})
    running.wait_for(lambda line: "waiting for its CRD" in line.get("problem", ""))

    custom.install(api, [LATE])
    stage.make(manifest)
    # It looks again every ten seconds or so.
    adopted = eventually(lambda: stage.record(manifest), "it is adopted", timeout=90)
    stage.change("Secret", "db", password="new")

    assert stage.rolled(manifest, adopted["n"])["by"] == ["secret/db"]
    assert marks(kind, stage.get(manifest))
    api.delete(path_of(LATE))
