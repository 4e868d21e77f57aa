"""Copies that are deleted, replaced or refused, large ones, long names, and kills half way."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.scenarios.revised import (
    REVISIONS,
    contents,
    copies,
    held,
    owned_right,
    owners,
    pin,
    pinned_anew,
    pins,
)
from tests.scenarios.stage import Controller, Stage, alone, eventually
from tests.support import build
from tests.support.build import Object
from tests.support.faultproxy import FaultProxy
from tests.support.faults import Answer, Match

from reroll.core.tables import rights
from reroll.core.tables.kinds import KINDS
from reroll.settings.table import Settings
from reroll_dev.api import ApiError, path_to

Start = Callable[..., Controller]
LONG = "a-very-long-name." * 14 + "end"
EMPTY = {"replicas": 0, "annotations": REVISIONS}


def web_of(*uses: str, **more: Any) -> Object:
    return build.deployment("web", uses=list(uses), **{**EMPTY, **more})


def test_a_copy_that_is_deleted_or_replaced_by_hand_is_there_again_and_that_is_said(
    stage: Stage, controller: Start
) -> None:
    web = web_of("configmap/app", "secret/db")
    stage.make(build.configmap("app", {"key": "first"}), build.secret("db"), web)
    stage.settled(web)  # else its first revision may never be made
    alone(controller)
    for kind, name, data in (
        ("ConfigMap", "app", {"key": "first"}),
        ("Secret", "db", {"password": build.encode("hunter2")}),
    ):
        copy = pin(stage, web, kind, name)
        owned_right(stage, web)
        path = path_to(kind, copy, stage.namespace)
        told = len(stage.events(web, "CopyRestored"))
        stage.api.delete(path)
        eventually(lambda k=kind, c=copy: held(stage, k, c) is not None, "it is there again")
        assert held(stage, kind, copy) == data
        eventually(lambda t=told: _times(stage, web) > t, "that is said")

        told = _times(stage, web)
        stage.api.delete(path)
        forged = getattr(build, kind.lower())(copy, {"key": "forged"})
        forged["metadata"]["labels"] = {"reroll.dev/copy-of": name}
        try_to_make(stage, forged)
        eventually(lambda k=kind, c=copy, d=data: held(stage, k, c) == d, "it is what it was")
        eventually(lambda t=told: _times(stage, web) > t, "that is said")
    owned_right(stage, web)
    assert len(stage.revisions(web)) == 2


def test_what_has_the_name_of_a_copy_and_is_none_is_never_deleted(
    stage: Stage, controller: Start
) -> None:
    web = web_of("configmap/app")
    stage.make(build.configmap("app", {"key": "first"}), web)
    running = alone(controller)
    copy = pin(stage, web)
    owned_right(stage, web)
    assert running.stop() == 0
    stage.api.delete(path_to("ConfigMap", copy, stage.namespace))
    precious = build.configmap(copy, {"key": "precious"})
    stage.make(precious)

    running.start(wait="watching")
    refused = eventually(lambda: stage.events(web, "CopyRefused"), "that it is in the way is said")
    assert copy in refused[0]["message"]
    assert "has no label reroll.dev/copy-of; delete it" in refused[0]["message"]
    assert held(stage, "ConfigMap", copy) == {"key": "precious"}

    stage.api.delete(stage.path(precious))
    eventually(lambda: held(stage, "ConfigMap", copy) == {"key": "first"}, "the copy is there")


def _times(stage: Stage, web: Object) -> int:
    return sum(event.get("count", 1) for event in stage.events(web, "CopyRestored"))


def try_to_make(stage: Stage, manifest: Object) -> None:
    """Somebody is quick, or the controller is: both happen."""
    with suppress(ApiError):
        stage.make(manifest)


def test_a_pin_that_names_a_copy_of_old_content_which_is_gone_is_said_until_it_is_back(
    stage: Stage, controller: Start
) -> None:
    web = web_of("configmap/app", replicas=1)
    stage.make(build.configmap("app", {"key": "first"}), web)
    alone(controller)
    first = pin(stage, web)
    old = owned_right(stage, web)[first]
    template = stage.template(web)
    stage.change("ConfigMap", "app", key="second")
    pinned_anew(stage, web, first)
    stage.settled(web)
    stage.api.delete(path_to("ConfigMap", first, stage.namespace))

    operation = {"op": "replace", "path": "/spec/template", "value": template}
    stage.api.patch(stage.path(web), [operation], "json")

    eventually(lambda: stage.events(web, "RevisionMissing"), "people are told")
    assert f"configmap/app={first}" in stage.events(web, "RevisionMissing")[0]["message"]
    assert pins(stage, web) == {("ConfigMap", "app"): first}
    assert old["data"] == {"key": "first"}
    stage.make(build.configmap(first, old["data"], immutable=True))
    eventually(lambda: stage.events(web, "HeldAt"), "it is held there, as any other")
    pod = eventually(lambda: [p for p in stage.pods(web) if first in contents(stage, p)])[0]
    assert contents(stage, pod) == {first: {"key": "first"}}


def test_a_pin_to_what_is_no_copy_never_makes_anybody_its_owner(
    stage: Stage, controller: Start
) -> None:
    """Or Kubernetes would take it along, with the workload."""
    forged = {"template_annotations": {"reroll.dev/pins": "configmap/app=precious"}}
    by_annotation = {**REVISIONS, "reroll.dev/pin": "admission"}
    web = web_of("configmap/app", annotations=by_annotation, **forged)
    precious = build.configmap("precious", {"key": "mine"})
    stage.make(build.configmap("app", {"key": "first"}), precious, web)
    alone(controller)
    first = pinned_anew(stage, web, "precious")
    eventually(lambda: len(owners(copies(stage)[first])) == 2, "its copy is owned")

    stage.api.patch(stage.path(web), {"spec": {"template": web["spec"]["template"]}})
    eventually(lambda: stage.events(web, "RevisionMissing"), "that it is no copy is said")
    stage.change("ConfigMap", "app", key="second")
    second = pinned_anew(stage, web, "precious", first)
    eventually(lambda: len(owners(copies(stage)[second])) == 2, "its copy is owned")
    assert "ownerReferences" not in stage.get(precious)["metadata"]
    assert held(stage, "ConfigMap", "precious") == {"key": "mine"}


def test_names_that_are_too_long_are_cut_and_stay_apart(stage: Stage, controller: Start) -> None:
    names = [LONG + "-one", LONG + "-two"]
    assert all(len(name) > 242 for name in names)
    web = web_of(*(f"configmap/{name}" for name in names))
    stage.make(*(build.configmap(name, {"key": "same"}) for name in names), web)
    alone(controller)

    eventually(lambda: len(pins(stage, web)) == 2, "both are pinned")
    found = copies(stage)
    assert set(pins(stage, web).values()) == found.keys()
    assert all(len(name) <= 253 for name in found)
    told = {one["metadata"]["annotations"]["reroll.dev/copy-of"] for one in found.values()}
    assert told == set(names)


def test_a_source_as_large_as_they_can_be_has_a_copy(stage: Stage, controller: Start) -> None:
    """What a copy adds is less than what the API server allows besides the data."""
    large = "x" * (1024 * 1024 - len("key"))
    web = web_of("secret/db", "configmap/app")
    stage.make(
        build.secret("db", {"password": "y" * 1024 * 1024}),
        build.configmap("app", {"key": large}),
        web,
    )
    alone(controller)
    copy = pin(stage, web)
    assert held(stage, "ConfigMap", copy) == {"key": large}


def without(*verbs: str) -> list[dict[str, Any]]:
    """The rights of the controller, less these on sources."""
    defaults = Settings()
    rules = [
        *rights.cluster(KINDS, features=rights.EVERYTHING),
        *rights.own(defaults.digest_key, defaults.lease),
    ]
    return [
        {**rule, "verbs": [verb for verb in rule["verbs"] if verb not in verbs]}
        if rule["resources"] == ["configmaps"]
        else rule
        for rule in rules
    ]


@pytest.mark.parametrize("why", ["a right is missing", "a quota is used up"])
def test_a_copy_that_is_refused_means_no_roll_and_others_go_on(
    stage: Stage, controller: Start, kubeconfig_for: Callable[..., Path], why: str
) -> None:
    web = web_of("configmap/app", "secret/db")
    other = build.deployment("other", replicas=0, uses="secret/db", annotations=REVISIONS)
    stage.make(build.configmap("app"), build.secret("db"), web, other)
    more: dict[str, Any] = {}
    if why == "a right is missing":
        more["kubeconfig"] = kubeconfig_for(without("create"), None)
    else:
        hard = {"hard": {"count/configmaps": "2"}}
        stage.make(build._object("v1", "ResourceQuota", "few", spec=hard))
        eventually(lambda: _quota_is_counted(stage), "the quota is counted")
    controller("--leader-election", "false", wait="watching", **more)

    eventually(lambda: stage.events(web, "CopyRefused"), "people are told")
    message = stage.events(web, "CopyRefused")[0]["message"]
    assert ("cannot create resource" if more else "exceeded quota") in message
    pin(stage, other, "Secret", "db")
    stage.quiet(web)
    assert not pins(stage, web)


def _quota_is_counted(stage: Stage) -> bool:
    found = stage.api.get(path_to("ResourceQuota", "few", stage.namespace))
    return found.get("status", {}).get("used", {}).get("count/configmaps") == "2"


def test_one_killed_between_copy_and_pin_leaves_nothing_wrong(
    stage: Stage, controller: Start, fault_proxy: FaultProxy, reroll_kubeconfig: Path
) -> None:
    web = web_of("configmap/app", spec={"revisionHistoryLimit": 100})
    stage.make(build.configmap("app", {"key": "first"}), web)
    one = alone(controller)
    first = pin(stage, web)
    owned_right(stage, web)
    one.kill()
    fault_proxy.inject(Answer(500), Match(method="PATCH", path="/deployments/"), times=None)
    half = controller(
        "--leader-election",
        "false",
        wait="watching",
        kubeconfig=fault_proxy.kubeconfig(reroll_kubeconfig),
    )
    stage.change("ConfigMap", "app", key="second")
    second = eventually(lambda: copies(stage).keys() - {first}, "a copy is there").pop()
    assert pins(stage, web) == {("ConfigMap", "app"): first}
    assert owners(copies(stage)[second]) == {("Deployment", "web")}
    half.kill()

    one.start(wait="watching")
    eventually(lambda: pins(stage, web) == {("ConfigMap", "app"): second}, "it is rolled")
    assert owned_right(stage, web).keys() == {first, second}
    one.kill()
    half.start(wait="watching")
    stage.change("ConfigMap", "app", key="never used")
    eventually(lambda: len(copies(stage)) == 3, "one more is there")
    half.kill()
    stage.change("ConfigMap", "app", key="third")
    one.start(wait="watching")
    third = pinned_anew(stage, web, first, second)
    assert owned_right(stage, web).keys() == {first, second, third}
