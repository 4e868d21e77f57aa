"""A kind whose operator owns its Deployment, and puts it back whenever somebody changes it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from tests.scenarios.stage import ENABLED, Controller, Stage, eventually
from tests.support import build
from tests.support.build import Object
from tests.support.command import Finished

from reroll_dev.api import Api, ApiError, path_to

ROW = {
    "group": "example.com",
    "version": "v1",
    "kind": "Widget",
    "resource": "widgets",
    "references": [
        {"source": "Secret", "path": "spec.credentials"},
        {"source": "ConfigMap", "path": "spec.settings", "optional": True},
    ],
}
LABEL = "example.com/widget"


class Operator:
    """Makes a Deployment for a Widget, as the Widget says and in no other way."""

    def __init__(self, api: Api, namespace: str) -> None:
        self._api, self._namespace = api, namespace
        self._end = Event()
        self._thread = Thread(target=self._run, daemon=True)
        self._thread.start()

    def end(self) -> None:
        self._end.set()
        self._thread.join()

    def _run(self) -> None:
        path = path_to("Widget", "", self._namespace, version="example.com/v1")
        while not self._end.wait(0.1):
            try:
                widgets = self._api.list(path)
            except ApiError as error:
                if error.status != 429:  # a new API is not ready at once
                    raise
                continue
            for widget in widgets:
                self._reconcile(widget)

    def _reconcile(self, widget: Object) -> None:
        metadata, spec = widget["metadata"], widget["spec"]
        wanted = build.deployment(
            metadata["name"],
            replicas=spec.get("replicas", 1),
            uses=[f"secret/{spec['credentials']['name']}"],
            annotations=ENABLED,
        )
        template = wanted["spec"]["template"]
        template["metadata"]["labels"][LABEL] = metadata["name"]
        template["metadata"]["annotations"] = spec.get("podAnnotations", {})
        owner = {"apiVersion": "example.com/v1", "kind": "Widget", "name": metadata["name"]}
        wanted["metadata"]["ownerReferences"] = [
            {**owner, "uid": metadata["uid"], "controller": True}
        ]
        where = path_to("Deployment", metadata["name"], self._namespace)
        try:
            there = self._api.get(where)
        except ApiError:
            self._api.create(wanted, namespace=self._namespace)
            return
        had = there["spec"]["template"]["metadata"].get("annotations", {})
        if had != template["metadata"]["annotations"]:
            there["spec"]["template"]["metadata"]["annotations"] = template["metadata"][
                "annotations"
            ]
            try:
                self._api.replace(where, there)
            except ApiError as error:
                assert error.status == 409  # noqa: PT017  somebody was faster: the next round


@pytest.fixture
def operator(api: Api, namespace: str, definitions: None) -> Iterator[Operator]:
    one = Operator(api, namespace)
    yield one
    one.end()


def a_widget(**spec: Any) -> Object:
    return {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "web", "annotations": dict(ENABLED)},
        "spec": {"credentials": {"name": "db", "key": "password"}, **spec},
    }


DEPLOYMENT = build.deployment("web")


@pytest.mark.usefixtures("operator")
def test_the_change_is_put_on_the_resource_and_the_operator_rolls_its_deployment(
    stage: Stage, started: Callable[..., Controller], plan: Callable[..., Finished], tmp_path: Path
) -> None:
    widget = a_widget()
    stage.make(build.secret("db", {"password": "old", "other": "x"}), widget)
    stage.settled(DEPLOYMENT)
    running = started({"kinds": [{**ROW, "stamp": {"annotations": "spec.podAnnotations"}}]})
    adopted = stage.adopted(widget)

    stage.change("Secret", "db", other="y")
    stage.change("Secret", "db", password="new")
    rolled = stage.rolled(widget, adopted["n"])

    assert rolled["by"] == ["secret/db#password"]
    eventually(lambda: stage.stamp(DEPLOYMENT), "the operator passes the stamp on")
    assert (
        stage.stamp(DEPLOYMENT)
        == stage.get(widget)["spec"]["podAnnotations"]["reroll.dev/config-hash"]
    )
    stage.settled(DEPLOYMENT)
    assert len(stage.revisions(DEPLOYMENT)) == 2
    assert stage.record(DEPLOYMENT) == {}, "it is the operator's, though it is annotated"
    assert not running.said("ConfigChanged", f"Deployment {stage.namespace}/web")
    told = plan("deployment/web", "--config", tmp_path / "config.yaml").err
    assert f"Deployment web belongs to Widget.example.com {stage.namespace}/web" in told
    assert "write widget.example.com/web" in told


@pytest.mark.usefixtures("operator")
def test_pods_that_an_operator_owns_are_evicted_and_its_deployment_stays_as_it_is(
    stage: Stage, started: Callable[..., Controller]
) -> None:
    widget = a_widget(replicas=2)
    stage.make(build.secret("db"), widget)
    stage.settled(DEPLOYMENT)
    old = {pod["metadata"]["uid"] for pod in stage.pods(DEPLOYMENT)}
    template = stage.template(DEPLOYMENT)
    health = {"replicas": "spec.replicas"}
    started({"kinds": [{**ROW, "pods": {"label": LABEL}, "health": health}]})
    adopted = stage.adopted(widget)

    stage.change("Secret", "db", password="new")
    stage.rolled(widget, adopted["n"])

    def replaced() -> bool:
        new = {pod["metadata"]["uid"] for pod in stage.pods(DEPLOYMENT)}
        return len(new) == 2 and not new & old

    eventually(replaced, "both pods are others")
    eventually(lambda: "todo" not in stage.record(widget), "the work is done")
    assert stage.template(DEPLOYMENT) == template
    assert stage.get(widget)["metadata"]["generation"] == 1


@pytest.fixture
def reconciler(api: Api, namespace: str, definitions: None) -> Iterator[None]:
    """An operator that does what an annotation asks for, and writes all annotations anew."""
    path = path_to("Widget", "web", namespace, version="example.com/v1")
    end = Event()

    def run() -> None:
        while not end.wait(0.1):
            try:
                seen = api.get(path)
                if seen["metadata"]["annotations"].pop(ROLL, None):
                    api.replace(
                        path, {**seen, "metadata": {**seen["metadata"], "annotations": ENABLED}}
                    )
            except ApiError as error:
                assert error.status in {404, 409}  # noqa: PT017  not yet, or somebody was faster

    thread = Thread(target=run, daemon=True)
    thread.start()
    yield
    end.set()
    thread.join()


ROLL = "example.com/roll"


@pytest.mark.usefixtures("reconciler")
def test_an_operator_that_takes_the_record_away_causes_no_second_roll(
    stage: Stage, started: Callable[..., Controller]
) -> None:
    widget = a_widget()
    stage.make(build.secret("db"), widget)
    stamp = {"annotations": "metadata.annotations", "name": ROLL, "value": "true"}
    running = started({"kinds": [{**ROW, "stamp": stamp}]})
    stage.adopted(widget)

    for number, password in enumerate(("new", "newer"), start=1):
        stage.change("Secret", "db", password=password)
        eventually(lambda: len(running.said("ConfigChanged")) == number)  # noqa: B023
        # Taken away with the annotation, and put back.
        eventually(lambda: len(running.said("RecordRestored")) == number)  # noqa: B023
        eventually(lambda: ROLL not in stage.get(widget)["metadata"]["annotations"])
        assert ROLL not in stage.get(widget)["metadata"]["annotations"]

    assert len(running.said("ConfigChanged")) == 2
