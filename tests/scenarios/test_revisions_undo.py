"""Undo brings the old configuration back, and the workload is held there until somebody goes on."""

from collections.abc import Callable

import pytest
from tests.scenarios.revised import (
    REVISIONS,
    contents,
    copies,
    held,
    owned_right,
    pin,
    pinned_anew,
    pins,
)
from tests.scenarios.stage import Controller, Stage, a, again, alone, eventually
from tests.support import build
from tests.support.build import Object
from tests.support.command import Finished
from tests.support.tools import Tool

from reroll.core.tables.kinds import KINDS, Kind, Revisions

Start = Callable[..., Controller]
UNDOABLE = [kind for kind in KINDS if kind.revisions is not Revisions.NONE]
for_undoable_kinds = pytest.mark.parametrize(
    "kind", UNDOABLE, ids=[kind.name for kind in UNDOABLE], indirect=True
)


class Played:
    """A workload whose ConfigMap went from `first` to `second`, and that was rolled."""

    def __init__(self, stage: Stage, controller: Start, kind: Kind, *flags: str) -> None:
        self.stage = stage
        self.web = a(kind, uses="configmap/app", annotations=REVISIONS)
        stage.make(build.configmap("app", {"key": "first"}), self.web)
        stage.settled(self.web)  # else its first revision may never be made
        self.one = alone(controller, *flags)
        self.first = pin(stage, self.web)
        stage.settled(self.web)
        self.old = stage.template(self.web)
        stage.change("ConfigMap", "app", key="second")
        self.second = pinned_anew(stage, self.web, self.first)
        stage.settled(self.web)

    def back(self, kubectl: Tool) -> None:
        """As its kind goes back: by `kubectl`, or, Argo's, with the old template."""
        kind = self.web["kind"]
        if kind == "Rollout":
            operation = {"op": "replace", "path": "/spec/template", "value": self.old}
            self.stage.api.patch(self.stage.path(self.web), [operation], "json")
            return
        name = f"{kind.lower()}/{self.web['metadata']['name']}"
        kubectl("rollout", "undo", name, "--namespace", self.stage.namespace)

    def is_held(self) -> None:
        """At its first revision, and it stays so."""
        eventually(lambda: self.stage.record(self.web).get("held"), "it is on record")
        eventually(lambda: self.stage.events(self.web, "HeldAt"), "people are told")
        self.stage.settled(self.web)
        self.stage.quiet(self.web)
        assert pins(self.stage, self.web) == {("ConfigMap", "app"): self.first}

    def all_pods_have(self, copy: str, value: str) -> None:
        self.stage.settled(self.web)
        pods = eventually(lambda: self.stage.pods(self.web))
        assert all(contents(self.stage, pod) == {copy: {"key": value}} for pod in pods)


@pytest.mark.thorough
@for_undoable_kinds
def test_an_undo_brings_the_old_content_back_and_holds_until_the_source_changes_again(
    stage: Stage, controller: Start, kubectl: Tool, kind: Kind
) -> None:
    played = Played(stage, controller, kind)

    played.back(kubectl)
    played.is_held()
    played.all_pods_have(played.first, "first")
    (event,) = eventually(lambda: stage.events(played.web, "HeldAt"), "an Event tells of it")
    assert f"configmap/app={played.first}" in event["message"]
    assert " since 20" in event["message"]
    owned_right(stage, played.web)
    again(played.one)
    stage.quiet(played.web)

    stage.change("ConfigMap", "app", key="third")
    third = pinned_anew(stage, played.web, played.first, played.second)
    played.all_pods_have(third, "third")
    assert "held" not in stage.record(played.web)


@pytest.mark.parametrize(
    "kind", UNDOABLE[:2], ids=[kind.name for kind in UNDOABLE[:2]], indirect=True
)
def test_an_undo_while_nobody_watches_is_a_decision_too_and_release_ends_it(
    stage: Stage, controller: Start, kubectl: Tool, kind: Kind, release: Callable[..., Finished]
) -> None:
    played = Played(stage, controller, kind)
    name = f"{kind.name.lower()}/web"
    assert "was not held" in release(name).out
    played.one.kill()

    played.back(kubectl)
    played.one.start(wait="watching")
    played.is_held()

    answer = release(name)
    assert answer.code == 0
    assert "released" in answer.out
    eventually(lambda: pins(stage, played.web) == {("ConfigMap", "app"): played.second})
    assert stage.record(played.web)["why"] == "Released"
    played.all_pods_have(played.second, "second")
    assert len(stage.revisions(played.web)) == 3
    stage.quiet(played.web)


def test_content_that_comes_back_to_what_it_is_held_at_rolls_nothing(
    stage: Stage, controller: Start, kubectl: Tool
) -> None:
    played = Played(stage, controller, KINDS[1])
    played.back(kubectl)
    played.is_held()
    pods = {pod["metadata"]["uid"] for pod in stage.pods(played.web)}

    stage.change("ConfigMap", "app", key="first")

    eventually(lambda: "held" not in stage.record(played.web), "it is current again")
    stage.quiet(played.web)
    assert {pod["metadata"]["uid"] for pod in stage.pods(played.web)} == pods


def test_a_template_applied_anew_keeps_its_pins_and_one_replaced_gets_them_again(
    stage: Stage, controller: Start
) -> None:
    """A deploy that knows nothing of pins, in the two ways in which deploys write."""
    played = Played(stage, controller, KINDS[0])
    image = {"name": "main", "image": "example.invalid/app:2"}
    body = {"spec": {"template": {"spec": {"containers": [image]}}}}
    stage.api.patch(stage.path(played.web), body, "strategic")
    stage.settled(played.web)
    stage.quiet(played.web)
    assert pins(stage, played.web) == {("ConfigMap", "app"): played.second}

    body = {"metadata": {"annotations": {"reroll.dev/pins": None}}}
    stage.api.patch(stage.path(played.web), {"spec": {"template": body}})
    eventually(lambda: pins(stage, played.web) == {("ConfigMap", "app"): played.second})
    stage.change("ConfigMap", "app", key="third")
    third = pinned_anew(stage, played.web, played.second)

    stage.api.replace(stage.path(played.web), {**played.web, "metadata": _named(stage, played.web)})
    eventually(lambda: pins(stage, played.web) == {("ConfigMap", "app"): third})
    played.all_pods_have(third, "third")


def _named(stage: Stage, web: Object) -> Object:
    return {**web["metadata"], "namespace": stage.namespace}


@pytest.mark.parametrize("how", ["revisions", "enabled"])
def test_opting_out_takes_the_pins_away_in_one_roll_and_the_copies_with_it(
    stage: Stage, controller: Start, how: str
) -> None:
    web = build.deployment(
        "web", uses="configmap/app", annotations=REVISIONS, spec={"revisionHistoryLimit": 0}
    )
    stage.make(build.configmap("app", {"key": "first"}), web)
    one = alone(controller)
    pin(stage, web)
    stage.settled(web)
    assert owned_right(stage, web)

    stage.annotate(web, **{how: "false"})

    eventually(lambda: not pins(stage, web), "it is unpinned")
    stage.settled(web)
    (pod,) = eventually(lambda: stage.pods(web))
    assert contents(stage, pod) == {"app": {"key": "first"}}
    eventually(lambda: stage.events(web, "Unpinned"), "an Event tells of it")
    assert len(one.said("Unpinned")) == len(stage.events(web, "Unpinned")) == 1
    eventually(lambda: not copies(stage), "its copies are collected")
    assert "pins" not in stage.record(web)
    assert held(stage, "ConfigMap", "app") == {"key": "first"}
