"""Wave's dialect on a cluster: the same annotations, the same hash, and what Wave overlooks too."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.scenarios.stage import STAMP, Controller, Stage, eventually
from tests.support import build
from tests.support.wave import HASH, IN, UPDATE, expected_hash

from reroll_dev.api import path_to

pytestmark = pytest.mark.usefixtures("every_dialect")

Start = Callable[..., Controller]
SAME = ("--foreign-hashes", "same")
ROWS = ("deployment", "statefulset", "daemonset")


def hash_of(stage: Stage, manifest: build.Object) -> str | None:
    annotations = stage.template(manifest)["metadata"].get("annotations", {})
    found = annotations.get(HASH)
    return None if found is None else str(found)


def has_waves_hash(stage: Stage, manifest: build.Object) -> bool:
    return hash_of(stage, manifest) == expected_hash(
        stage.api, stage.namespace, stage.get(manifest)
    )


@pytest.mark.parametrize("name", ROWS)
def test_a_change_rolls_once_with_the_hash_that_wave_computes(
    stage: Stage, controller: Start, name: str
) -> None:
    web = getattr(build, name)("web", uses=["configmap/app", "secret/db#password"], annotations=IN)
    stage.make(build.configmap("app"), build.secret("db"), web)
    controller(*SAME)
    first = stage.adopted(web)
    assert hash_of(stage, web) is None, "adopting writes nothing into the template"
    stage.settled(web)

    stage.change("Secret", "db", password="correct horse")

    record = stage.rolled(web, since=first["n"])
    stage.settled(web)
    stage.quiet(web)
    assert record["by"] == ["secret/db#password"]
    assert has_waves_hash(stage, web)
    assert stage.stamp(web) is None
    assert len(stage.revisions(web)) == 2


def at(sub_path: str) -> dict[str, Any]:
    return {
        "volumes": [{"name": "v", "configMap": {"name": "app"}}],
        "volume_mounts": [{"name": "v", "mountPath": "/v", "subPath": sub_path}],
    }


def init(env_from: str) -> dict[str, Any]:
    ref = [{"configMapRef": {"name": env_from}}]
    return {"initContainers": [{"name": "init", "image": "x", "envFrom": ref}]}


def projected(**source: Any) -> dict[str, Any]:
    return {
        "volumes": [{"name": "v", "projected": {"sources": [{"configMap": source}]}}],
        "volume_mounts": [{"name": "v", "mountPath": "/v"}],
    }


# How a template refers to the ConfigMap `app`, whether a change of key `b` rolls it, and whether
# that is a part of Wave's hash.
REFERENCES = {
    "volume": ({"mounts": "configmap/app"}, True, True),
    "volume with items": ({"mounts": "configmap/app#a"}, False, True),
    "subPath": (at("b"), True, True),
    "another subPath": (at("a"), False, True),
    "optional volume": ({"mounts": "configmap/app?"}, True, True),
    "unmounted volume": ({"volumes": at("b")["volumes"]}, False, True),
    "projected": (projected(name="app"), True, True),
    "projected items": (projected(name="app", items=[{"key": "a", "path": "a"}]), False, False),
    "envFrom": ({"uses": "configmap/app"}, True, True),
    "env": ({"uses": "configmap/app#b"}, True, True),
    "another env": ({"uses": "configmap/app#a"}, False, False),
    "image pull secret": ({"pod": {"imagePullSecrets": [{"name": "app"}]}}, False, False),
    "init container": ({"pod": init("app")}, True, False),
}


def test_every_reference_counts_and_the_hash_is_still_waves(
    stage: Stage, controller: Start
) -> None:
    stage.make(build.configmap("app", {"a": "1", "b": "1"}))
    made = {name: as_wave_left_it(stage, n) for n, name in enumerate(REFERENCES)}
    templates = {name: stage.template(web) for name, web in made.items()}
    before = {name: hash_of(stage, web) for name, web in made.items()}
    controller()
    first = {name: stage.adopted(web)["n"] for name, web in made.items()}

    stage.change("ConfigMap", "app", b="2")

    for name, (_, rolls, hashed) in REFERENCES.items():
        web = made[name]
        if rolls:
            stage.rolled(web, since=first[name])
            assert has_waves_hash(stage, web), name
            assert (hash_of(stage, web) != before[name]) is hashed, name
            assert (stage.stamp(web) is None) is hashed, name
    stage.quiet(made["another env"])
    for name, (_, rolls, _) in REFERENCES.items():
        assert (stage.template(made[name]) != templates[name]) is rolls, name


def as_wave_left_it(stage: Stage, number: int) -> build.Object:
    """A workload that Wave has rolled already."""
    template = list(REFERENCES.values())[number][0]
    web = build.deployment(f"web-{number}", annotations=IN, replicas=0, **template)
    web["spec"]["template"]["metadata"]["annotations"] = {
        HASH: expected_hash(stage.api, stage.namespace, web)
    }
    stage.make(web)
    return web


def test_extra_sources_roll_and_those_of_other_namespaces_need_consent(
    stage: Stage, controller: Start, another: Callable[..., Stage]
) -> None:
    other = another()
    extra = {
        "wave.pusher.com/extra-configmaps": f"app,{other.namespace}/ca,{other.namespace}/shy,x/y/z",
        "wave.pusher.com/extra-secrets": "db",
    }
    web = build.deployment("web", annotations={**IN, **extra})
    consent = {"reroll.dev/allow-from": stage.namespace}
    other.make(build.configmap("ca", annotations=consent), build.configmap("shy"))
    stage.make(build.configmap("app"), build.secret("db"), web)
    one = controller()
    number = stage.adopted(web)["n"]

    for change in (
        lambda: stage.change("ConfigMap", "app", key="2"),
        lambda: stage.change("Secret", "db", password="2"),
        lambda: other.change("ConfigMap", "ca", key="2"),
    ):
        change()
        number = stage.rolled(web, since=number)["n"]
    other.change("ConfigMap", "shy", key="2")

    stage.quiet(web)
    problems = [line["problem"] for line in one.lines() if line["msg"] == "bad input"]
    assert any(
        f"{other.namespace}/shy does not exist, or does not let namespace" in told
        for told in problems
    )
    assert any("'x/y/z' is not a name" in told for told in problems)


def test_sources_say_whether_they_count(stage: Stage, controller: Start) -> None:
    every = build.deployment("every", uses=["configmap/plain", "configmap/ignored"], annotations=IN)
    only = build.deployment(
        "only",
        uses=["configmap/plain", "configmap/marked"],
        annotations={UPDATE: "only-annotated"},
    )
    strict = build.deployment("strict", uses="configmap/plain", annotations={UPDATE: "True"})
    marked = {"wave.pusher.com/update-deployment-on-config-change": "true"}
    stage.make(
        build.configmap("plain"),
        build.configmap("ignored", annotations={"wave.pusher.com/ignore": "true"}),
        build.configmap("marked", annotations=marked),
        *(every, only, strict),
    )
    one = controller()
    first, other = stage.adopted(every), stage.adopted(only)

    stage.change("ConfigMap", "ignored", key="2")
    stage.change("ConfigMap", "plain", key="2")
    assert stage.rolled(every, since=first["n"])["by"] == ["configmap/plain"]
    stage.change("ConfigMap", "marked", key="2")
    assert stage.rolled(only, since=other["n"])["by"] == ["configmap/marked"]

    assert hash_of(stage, strict) is None
    assert stage.record(strict) == {}
    assert [line["reason"] for line in one.lines() if "is neither" in line.get("problem", "")]


def test_missing_required_configuration_holds_the_roll_and_optional_one_does_not(
    stage: Stage, controller: Start
) -> None:
    web = build.deployment(
        "web", uses=["configmap/app", "configmap/late", "secret/may?"], annotations=IN
    )
    stage.make(build.configmap("app"), web)
    controller(*SAME)
    first = stage.adopted(web)

    stage.change("ConfigMap", "app", key="2")
    (told,) = eventually(lambda: stage.events(web, "SourceMissing"), "an Event tells of it")
    assert hash_of(stage, web) is None
    stage.make(build.configmap("late"))

    number = stage.rolled(web, since=first["n"])["n"]
    assert "ConfigMap" in told["message"]
    assert "late" in told["message"]
    assert has_waves_hash(stage, web)

    # What pods can start without rolls them when it appears and when it goes away.
    stage.make(build.secret("may"))
    number = stage.rolled(web, since=number)["n"]
    assert has_waves_hash(stage, web)
    stage.api.delete(path_to("Secret", "may", stage.namespace))
    number = stage.rolled(web, since=number)["n"]
    assert has_waves_hash(stage, web)
    stage.api.delete(path_to("ConfigMap", "late", stage.namespace))
    eventually(lambda: len(stage.events(web, "SourceMissing")) > 1, "it is told again")
    stage.quiet(web)
    assert stage.record(web)["n"] == number


def test_a_workload_of_two_dialects_rolls_once_with_the_marks_of_both(
    stage: Stage, controller: Start
) -> None:
    both = {**IN, "reroll.dev/enabled": "true"}
    web = build.deployment("web", uses="configmap/app", annotations=both)
    out = build.deployment(
        "out", uses="configmap/app", annotations={**IN, "reroll.dev/enabled": "false"}
    )
    stage.make(build.configmap("app"), web, out)
    controller()
    first = stage.adopted(web)
    stage.settled(web)

    stage.change("ConfigMap", "app", key="2")

    record = stage.rolled(web, since=first["n"])
    stage.settled(web)
    stage.quiet(web)
    assert has_waves_hash(stage, web)
    assert stage.template(web)["metadata"]["annotations"][STAMP]
    assert len(stage.revisions(web)) == 2
    assert stage.record(web)["n"] == record["n"]
    assert stage.record(out) == {}


def test_a_wave_that_is_active_too_is_told_and_nothing_rolls_twice(
    stage: Stage, controller: Start
) -> None:
    web = build.deployment("web", uses="configmap/app", annotations=IN)
    stage.make(build.configmap("app"), web)
    one = controller("--debounce", "3s")
    stage.adopted(web)
    stage.settled(web)

    stage.change("ConfigMap", "app", key="2")
    theirs = {HASH: expected_hash(stage.api, stage.namespace, web)}
    stage.api.patch(stage.path(web), {"spec": {"template": {"metadata": {"annotations": theirs}}}})

    (told,) = eventually(lambda: stage.events(web, "OtherController"), "an Event tells of it")
    stage.settled(web)
    stage.quiet(web)
    assert "stop that one, or leave wave out of --dialects" in told["message"]
    assert one.said("RolledElsewhere", "/web")
    assert len(stage.revisions(web)) == 2


@pytest.mark.parametrize("flags", [(), ("--foreign-hashes", "keyed")], ids=["default", "keyed"])
def test_the_mark_of_a_secret_is_nothing_that_anybody_could_compute(
    stage: Stage, controller: Start, flags: tuple[str, ...]
) -> None:
    web = build.deployment("web", uses="secret/db", annotations=IN)
    stage.make(build.secret("db"), web)
    controller(*flags)
    first = stage.adopted(web)

    stage.change("Secret", "db", password="2")

    stage.rolled(web, since=first["n"])
    found = hash_of(stage, web)
    assert found
    assert found != expected_hash(stage.api, stage.namespace, web)


def test_consent_to_be_named_publishes_no_hash_whatever_the_settings_say(
    stage: Stage, controller: Start, another: Callable[..., Stage]
) -> None:
    """Otherwise who may not read a Secret could try passwords on its hash."""
    vault = another()
    extra = {"wave.pusher.com/extra-secrets": f"{vault.namespace}/db"}
    web = build.deployment("web", uses="configmap/app", annotations={**IN, **extra})
    consent = {"reroll.dev/allow-from": stage.namespace}
    vault.make(build.secret("db", annotations=consent))
    stage.make(build.configmap("app"), web)
    controller(*SAME)
    number = stage.adopted(web)["n"]

    for number_of_change, change in enumerate(
        (
            lambda: vault.change("Secret", "db", password="hunter3"),
            lambda: stage.change("ConfigMap", "app", key="2"),
        )
    ):
        change()
        number = stage.rolled(web, since=number)["n"]
        guess = expected_hash(stage.api, stage.namespace, stage.get(web))
        assert hash_of(stage, web) not in {None, guess}, number_of_change
