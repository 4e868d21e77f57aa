"""Custom resources as sources: some paths of them are content, like the keys of a ConfigMap."""

import hashlib
from collections.abc import Callable
from typing import Any

import msgspec
from tests.scenarios.stage import ENABLED, Controller, Stage, eventually
from tests.support import build
from tests.support.build import Object

EXAMPLE = {"group": "example.com", "version": "v1"}
SOURCES = [
    {
        **EXAMPLE,
        "kind": "AppConfig",
        "resource": "appconfigs",
        "aliases": ["appconfig", "ac"],
        "paths": ["spec.level", "spec.limits", "spec.servers[*].host"],
    },
    {**EXAMPLE, "kind": "Vault", "resource": "vaults", "secret": True},
]
WIDGETS = [
    {
        **EXAMPLE,
        "kind": "Widget",
        "resource": "widgets",
        "references": [{"source": "appconfig", "path": "spec.appConfig"}],
        "stamp": {"annotations": "spec.podAnnotations"},
    }
]
LIMITS = {"memory": "1Gi", "cpu": {"most": 2, "least": 1}}


def an(kind: str, name: str, **spec: Any) -> Object:
    meta = {"name": name}
    return {"apiVersion": "example.com/v1", "kind": kind, "metadata": meta, "spec": spec}


def put(stage: Stage, manifest: Object, *below: str, **values: Any) -> None:
    path = "/".join((stage.path(manifest), *below))
    stage.api.patch(path, {below[0] if below else "spec": values})


def named(name: str, sources: str) -> Object:
    notes = {**ENABLED, "reroll.dev/sources": sources, "reroll.dev/debounce": "0s"}
    return build.deployment(name, annotations=notes)


def test_a_custom_resource_rolls_what_names_it_by_the_paths_that_are_content(
    stage: Stage, started: Callable[..., Controller]
) -> None:
    main = an("AppConfig", "main", level="info", limits=LIMITS, comment="first")
    whole, level, glob = (
        named("whole", "appconfig/main"),
        named("level", "ac/main#spec.level"),
        named("glob", "appconfig.example.com/ma*"),
    )
    widget = an("Widget", "web", appConfig="main")
    widget["metadata"]["annotations"] = {**ENABLED, "reroll.dev/debounce": "0s"}
    stage.make(main, whole, level, glob, widget)
    running = started({"kinds": WIDGETS, "sources": SOURCES})
    everybody = (whole, level, glob, widget)
    before = {id(one): stage.adopted(one)["n"] for one in everybody}
    entry = "appconfig.example.com/main"

    assert stage.record(whole)["s"].keys() == {entry}
    assert stage.record(level)["s"].keys() == {f"{entry}#spec.level"}
    put(stage, main, comment="second")
    put(stage, main, "status", seen=1)
    put(stage, main, limits={"cpu": {"least": 1, "most": 2}, "memory": "1Gi"})
    put(stage, main, limits={"memory": "2Gi"}, servers=[{"host": "a"}])
    for one in (whole, glob, widget):
        rolled = stage.rolled(one, before[id(one)])
        assert rolled["by"] == [entry]
        assert set(rolled["keys"]) == {"spec.limits", "spec.servers[*].host"}

    put(stage, main, level="debug")

    assert stage.rolled(level, before[id(level)])["keys"] == ["spec.level"]
    whole_name = f"Deployment {stage.namespace}/whole"
    eventually(lambda: len(running.said("ConfigChanged", whole_name)) == 2, "both changes roll it")
    level_name = f"{stage.namespace}/level"
    eventually(lambda: running.said("ConfigChanged", level_name), "a line tells of it")
    assert len(running.said("ConfigChanged", level_name)) == 1


def test_a_secret_custom_resource_is_watched_by_its_metadata_and_digested_with_the_key(
    stage: Stage, started: Callable[..., Controller], audit: Callable[[str], list[dict[str, Any]]]
) -> None:
    vault, web = an("Vault", "main", token="s3cret"), named("web", "vault/main")
    stage.make(vault, web)
    running = started({"sources": SOURCES})
    adopted = stage.adopted(web)

    put(stage, vault, token="an0ther")
    rolled = stage.rolled(web, adopted["n"])

    assert rolled["by"] == ["vault.example.com/main"]
    assert rolled["k"]
    plain = hashlib.sha256(msgspec.json.encode({"token": "an0ther"})).hexdigest()
    text = running.log.read_text() + str(stage.get(web)) + str(stage.events(web))
    assert not any(word in text for word in ("s3cret", "an0ther", plain[:32]))
