"""What the typed objects tell of the documents that the API server sends."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from reroll.core.model.key import Key
from reroll.core.model.metadata import Metadata
from reroll.core.observe.pod_state import Container
from reroll.core.revisions.pins import PINS
from reroll.kube.objects import OwnerRef, Pod, Revision, controller, is_owned_by

CREATED = datetime(2030, 1, 1, tzinfo=UTC)


def pod(labels=None, deleted=None, **status):
    metadata = {"name": "web-1", "creationTimestamp": "2030-01-01T00:00:00Z", "labels": labels}
    if deleted:
        metadata["deletionTimestamp"] = deleted
    text = msgspec.json.encode({"metadata": metadata, "spec": {"x": 1}, "status": status})
    return msgspec.json.decode(text, type=Pod)


def container(**state):
    return {"name": "app", "state": state}


@pytest.mark.parametrize(
    ("status", "ready", "over"),
    [
        ({"conditions": [{"type": "Ready", "status": "True"}], "phase": "Running"}, True, False),
        ({"conditions": [{"type": "Ready", "status": "False"}], "phase": "Running"}, False, False),
        ({"conditions": None, "phase": "Succeeded"}, False, True),
        ({"phase": "Failed"}, False, True),
        ({}, False, False),
    ],
)
def test_a_pod_tells_whether_it_is_ready_and_whether_it_is_over(status, ready, over):
    assert (pod(**status).is_ready, pod(**status).is_over) == (ready, over)
    assert pod(**status).runs is not over


def test_a_pod_that_is_being_deleted_does_not_run():
    leaving = pod(deleted="2030-01-01T00:00:05Z", phase="Running")
    assert leaving.is_leaving
    assert not leaving.runs


@pytest.mark.parametrize(
    ("status", "trouble"),
    [
        ({"containerStatuses": [container(waiting={"reason": "ContainerCreating"})]}, ""),
        ({"containerStatuses": [container(running={"startedAt": "2030-01-01T00:00:00Z"})]}, ""),
        ({"containerStatuses": [container(terminated={"reason": "Completed"})]}, ""),
        ({"containerStatuses": [container(waiting={"reason": "ErrImagePull"})]}, "ErrImagePull"),
        (
            {
                "containerStatuses": [container(waiting={"reason": "PodInitializing"})],
                "initContainerStatuses": [container(terminated={"reason": "Error"})],
            },
            "Error",
        ),
        ({"phase": "Failed"}, "Failed"),
    ],
)
def test_the_trouble_of_a_pod_is_the_word_of_the_kubelet(status, trouble):
    assert pod(**status).trouble == trouble


def test_a_pod_of_the_same_second_may_be_older():
    assert pod().is_older_than(CREATED)
    assert not pod().is_older_than(CREATED - timedelta(seconds=1))


@pytest.mark.parametrize("label", ["pod-template-hash", "controller-revision-hash"])
def test_the_template_hash_is_that_of_its_controller(label):
    assert pod({label: "abc"}).template_hash == "abc"
    assert pod().template_hash == ""


def revision(**fields):
    metadata = {"name": "web-1", "namespace": "shop", **fields.pop("metadata", {})}
    return msgspec.json.decode(msgspec.json.encode({"metadata": metadata, **fields}), type=Revision)


TEMPLATE = {"template": {"metadata": {"annotations": {PINS: "configmap/app=app-1a2b3c4d5e"}}}}


@pytest.mark.parametrize("fields", [{"spec": TEMPLATE}, {"data": {"spec": TEMPLATE}}])
def test_a_revision_tells_the_copies_that_its_template_names(fields):
    got = revision(**fields)
    assert got.pins == {Key("ConfigMap", "shop", "app-1a2b3c4d5e")}
    assert got.mentions(frozenset({"app-1a2b3c4d5e", "other"})) == {"app-1a2b3c4d5e"}


@pytest.mark.parametrize("fields", [{}, {"spec": {}}, {"data": {"uid": "1", "job": {}}}])
def test_a_revision_without_a_pinned_template_names_no_copies(fields):
    assert revision(**fields).pins == frozenset()


def test_the_number_of_a_revision_is_in_a_field_or_an_annotation():
    annotated = {"annotations": {"deployment.kubernetes.io/revision": "7"}}
    assert revision(metadata=annotated, spec={}).number == 7
    assert revision(revision=3).number == 3


def test_owners_are_read_and_written():
    owner = OwnerRef("apps/v1", "Deployment", "web", "u-1")
    more = {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "u-2"}
    owners = [more, {**owner.reference, "controller": True}]
    metadata = msgspec.convert({"name": "x", "ownerReferences": owners}, Metadata)
    assert controller(metadata).name == "web"
    assert is_owned_by(metadata, "u-2")
    assert not is_owned_by(metadata, "u-3")
    assert controller(Metadata("x")) is None


CRASHED = {"terminated": {"reason": "Error", "exitCode": 3}}
TROUBLES: dict[str, tuple[dict[str, Any], str]] = {
    "it has just ended": ({"state": CRASHED}, "Error (exit 3)"),
    "it is not started yet": (
        {"state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": CRASHED},
        "CrashLoopBackOff (exit 3)",
    ),
    "it runs for a moment": (
        {"state": {"running": {}}, "lastState": CRASHED, "ready": False},
        "restarted (exit 3)",
    ),
    "it recovered": ({"state": {"running": {}}, "lastState": CRASHED, "ready": True}, ""),
    "it starts": ({"state": {"waiting": {"reason": "ContainerCreating"}}, "ready": False}, ""),
    "it runs and is not ready yet": ({"state": {"running": {}}, "ready": False}, ""),
    "it waits for a source": (
        {"state": {"waiting": {"reason": "CreateContainerConfigError"}}, "ready": False},
        "CreateContainerConfigError",
    ),
}


@pytest.mark.parametrize(("status", "trouble"), TROUBLES.values(), ids=TROUBLES)
def test_the_trouble_of_a_container_is_the_same_between_two_crashes(
    status: dict[str, Any], trouble: str
) -> None:
    one = msgspec.convert({"name": "main", **status}, Container)
    assert one.trouble == trouble


def test_only_restarts_of_what_is_in_trouble_count_as_crashes():
    def pod(**status: Any) -> Pod:
        one = {"name": "main", "restartCount": 4, **status}
        return msgspec.convert(
            {"metadata": {"name": "web"}, "status": {"containerStatuses": [one]}}, Pod
        )

    assert pod(**TROUBLES["it is not started yet"][0]).crashes == 4
    assert pod(**TROUBLES["it runs for a moment"][0]).crashes == 4
    assert pod(**TROUBLES["it recovered"][0]).crashes == 0
