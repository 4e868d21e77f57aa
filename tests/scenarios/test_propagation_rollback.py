"""Going back from a configuration that failed: to the one that was healthy, and no further."""

from collections.abc import Callable

import pytest
from tests.scenarios.propagating import told
from tests.scenarios.stage import RECORD, STAMP, Stage, again, eventually
from tests.scenarios.withdrawn import (
    DEPLOYMENT,
    STATEFULSET,
    UNDOABLE,
    Play,
    Start,
    app,
    fragile,
    kubelet,
)
from tests.support.command import Finished, reroll
from tests.support.tools import Tool, kubeconfig_of

from reroll.core.revisions.pins import PINS
from reroll.core.tables.kinds import Kind
from reroll_dev.cluster import DevCluster

Command = Callable[..., Finished]
for_undoable_kinds = pytest.mark.parametrize(
    "kind", UNDOABLE, ids=[kind.name for kind in UNDOABLE], indirect=True
)


@pytest.fixture
def explain(cluster: DevCluster, namespace: str) -> Command:
    def run(workload: str) -> Finished:
        where = ("-n", namespace, "--kubeconfig", kubeconfig_of(cluster, "admin"))
        return reroll("explain", workload, *where, "--controller-namespace", namespace)

    return run


@pytest.mark.thorough
@for_undoable_kinds
def test_two_bad_contents_lead_back_to_the_good_one_until_the_source_changes(
    stage: Stage, controller: Start, kind: Kind
) -> None:
    stage.make(app())
    with kubelet(stage):
        play = Play(stage, controller, fragile(kind))

        for value in ("bad", "bad too"):
            play.change(value)
            play.until("rolls with it", back="", v="")
            play.until("fails", v="failed")
            play.is_back()
            play.pods_read("first")
        told(stage, play.web, "RolledBack", "configmap/app; pod ")

        play.change("good")
        play.until("is healthy with another one", v="healthy", back="")
        play.pods_read("good")
        assert "held" not in stage.record(play.web)


STEPS: dict[str, dict[str, object]] = {
    "rolled": {},
    "failed": {"v": "failed"},
    "went back": {"back": True},
    "was healthy again": {"b": "healthy"},
}


@pytest.mark.slow
def test_the_way_back_is_the_same_if_the_controller_is_killed_at_every_step(
    stage: Stage, controller: Start
) -> None:
    stage.make(app())
    with kubelet(stage):
        play = Play(stage, controller, fragile(DEPLOYMENT))
        before = len(stage.revisions(play.web))

        for value in ("bad", "bad too"):
            n = stage.record(play.web)["n"]
            play.change(value)
            stage.rolled(play.web, since=n)
            for name, fields in STEPS.items():
                play.until(name, **fields)
                again(play.one)
            play.is_back()
        stage.quiet(play.web)
        play.pods_read("first")
        assert len(stage.revisions(play.web)) == before + 2  # Bad, bad too.


# Other writers


def stripped(stage: Stage, kubectl: Tool, play: Play, how: str) -> None:
    """The manifest of the workload is written again, without what we wrote into it."""
    name = f"{play.web['kind'].lower()}/{play.web['metadata']['name']}"
    if how == "apply":
        # As a tool that owns the template does it: marks and pins are not in its manifest.
        template = {"metadata": {"annotations": {PINS: None, STAMP: None}}}
        containers = play.web["spec"]["template"]["spec"]["containers"]
        patch = {"spec": {"template": {**template, "spec": {"containers": containers}}}}
        stage.api.patch(stage.path(play.web), patch)
        return
    assert kubectl("get", name, "--namespace", stage.namespace)
    # Of no version: its status may be written meanwhile.
    fresh = {**play.web, "metadata": {**play.web["metadata"], "namespace": stage.namespace}}
    assert RECORD not in fresh["metadata"].get("annotations", {})
    stage.api.replace(stage.path(play.web), fresh)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("kind", "how"),
    [(DEPLOYMENT, "replace"), (STATEFULSET, "apply")],
    ids=["Deployment", "StatefulSet"],
    indirect=["kind"],
)
def test_a_deploy_that_strips_the_template_does_not_bring_the_bad_content_in(
    stage: Stage, controller: Start, kubectl: Tool, kind: Kind, how: str
) -> None:
    stage.make(app())
    with kubelet(stage):
        play = Play(stage, controller, fragile(kind))
        play.change("bad")
        play.is_back()

        stage.api.patch(
            f"/api/v1/namespaces/{stage.namespace}/configmaps/app",
            {"metadata": {"labels": {"applied": "again"}}},
        )
        stage.quiet(play.web)
        stripped(stage, kubectl, play, how)

        eventually(lambda: play.pins == play.good, "it has the good pins again")
        play.pods_read("first")
        play.is_back()
        stage.settled(play.web)
        stage.quiet(play.web)
        assert play.trial["v"] == "failed"
        before = len(stage.revisions(play.web))
        again(play.one)
        stage.quiet(play.web)
        assert len(stage.revisions(play.web)) == before

        play.change("good")
        play.until("is healthy with another one", v="healthy", back="")
        play.pods_read("good")


def test_an_undo_by_a_person_wins(stage: Stage, controller: Start, kubectl: Tool) -> None:
    stage.make(app())
    with kubelet(stage):
        play = Play(stage, controller, fragile(DEPLOYMENT))
        play.change("bad")
        play.is_back()

        kubectl("rollout", "undo", "deployment/web", "--namespace", stage.namespace)
        # It brings the record of then back, with a verdict and without the way back.
        eventually(lambda: stage.record(play.web)["why"] == "Undone", "that is on record")
        assert play.pins != play.good
        stage.quiet(play.web)
        again(play.one)
        stage.quiet(play.web)
        assert play.pins != play.good
        assert play.trial["b"] == "by hand"

        play.change("bad too")
        play.until("fails", v="failed")
        play.is_back()


def test_each_workload_goes_back_or_not_as_its_own_annotation_says(
    stage: Stage, controller: Start
) -> None:
    stage.make(app())
    others = {
        name: fragile(DEPLOYMENT, name, on_failure=how, spec={"progressDeadlineSeconds": 600})
        for name, how in {"well": "rollback", "goes-on": "continue", "holds": "hold"}.items()
    }
    for one in others.values():
        del one["spec"]["template"]["metadata"]["annotations"]  # They are healthy with anything.
    with kubelet(stage):
        stage.make(*others.values())
        play = Play(stage, controller, fragile(DEPLOYMENT))
        plays = {name: Play.__new__(Play) for name in others}
        for name, one in others.items():
            plays[name].__dict__.update(play.__dict__, web=one)
            eventually(lambda name=name: plays[name].pins == play.good, f"{name} is pinned")
            stage.settled(one)

        play.change("bad")
        play.is_back()
        plays["well"].is_back()
        for name in ("goes-on", "holds"):
            plays[name].until("is healthy", v="healthy", back="")
            assert plays[name].pins != play.good
            stage.quiet(others[name])
        told(stage, others["well"], "RolledBack", f"Deployment {stage.namespace}/web failed")


# Without revisions


@pytest.mark.thorough
@for_undoable_kinds
def test_without_revisions_the_template_goes_back_and_that_is_not_all_that_is_said(
    stage: Stage, controller: Start, kind: Kind, release: Command, explain: Command
) -> None:
    stage.make(app())
    with kubelet(stage):
        play = Play(stage, controller, fragile(kind, revisions=False))
        before = stage.template(play.web)
        play.change("bad")
        play.until("fails, and goes back", v="failed", back=True)

        def is_before() -> bool:
            after, marks = stage.template(play.web), before["metadata"]["annotations"]
            return bool(after["metadata"]["annotations"] == marks)

        eventually(is_before, "its template is that of before")
        (event, *_) = eventually(lambda: stage.events(play.web, "RolledBack"))
        assert "read the configuration that failed, because revisions are off" in event["message"]
        stage.quiet(play.web)
        again(play.one)
        stage.quiet(play.web)
        assert is_before()
        found = explain(f"{kind.plural}/web")
        assert "because revisions are off" in " ".join(found.out.split())

        assert "released" in release(f"{kind.name.lower()}/web").out
        eventually(lambda: not is_before(), "it rolls again")
        assert stage.record(play.web)["why"] == "Released"
