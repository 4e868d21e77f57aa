"""Kinds that come and go with their CRD: here the reports of the Secrets Store CSI driver."""

import fcntl
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.conftest import RUN_FOLDER
from tests.scenarios.stage import ENABLED, Controller, Stage, eventually
from tests.support import build

from reroll.devcluster.api import Api, ApiError, path_of
from reroll.devcluster.cluster import DevCluster

Start = Callable[..., Controller]
GROUP, KIND = "secrets-store.csi.x-k8s.io", "SecretProviderClassPodStatus"
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"{KIND.lower()}es.{GROUP}"},
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"kind": KIND, "plural": f"{KIND.lower()}es", "singular": KIND.lower()},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "x-kubernetes-preserve-unknown-fields": True,
                    }
                },
            }
        ],
    },
}
# An API that comes or goes is noticed within ten seconds.
PATIENCE = 60.0


class Driver:
    """What the CSI driver does: its CRD, and a report for each pod of what it mounted."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def install(self) -> None:
        self._api.create(DEFINITION)
        self._api.wait_for(path_of(DEFINITION), _is_established)

    def uninstall(self) -> None:
        self._api.delete(path_of(DEFINITION), missing_ok=True)
        self._api.wait_gone(path_of(DEFINITION))

    def mounts(self, stage: Stage, pod: str, **versions: str) -> None:
        """A pod reports what it mounted of the class `vault`."""
        objects = [{"id": name, "version": version} for name, version in versions.items()]
        status = {"secretProviderClassName": "vault", "podName": pod, "objects": objects}
        report = {
            "apiVersion": f"{GROUP}/v1",
            "kind": KIND,
            "metadata": {"name": f"{pod}-vault"},
            "status": status,
        }

        def made() -> bool:
            try:
                stage.make(report)
            except ApiError as error:
                if error.status == 409:
                    stage.api.patch(stage.path(report), {"status": status})
                # The API server serves a new kind a moment after it is established.
                elif error.status == 404:
                    return False
                else:
                    raise
            return True

        eventually(made, "the report is written")


def _is_established(seen: build.Object) -> bool:
    conditions = seen.get("status", {}).get("conditions") or ()
    return any(c["type"] == "Established" and c["status"] == "True" for c in conditions)


@pytest.fixture
def driver(api: Api, cluster: DevCluster, pytestconfig: pytest.Config) -> Iterator[Driver]:
    """Not installed yet. There is one CRD for all, so there is one such test at a time."""
    folder: Path = pytestconfig.stash[RUN_FOLDER]
    with (folder / "csi.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        one = Driver(api)
        yield one
        one.uninstall()


def mounting(name: str = "web") -> build.Object:
    attributes = {"secretProviderClass": "vault"}
    csi = {"driver": "secrets-store.csi.k8s.io", "readOnly": True, "volumeAttributes": attributes}
    return build.deployment(
        name,
        annotations=ENABLED,
        uses="configmap/app",
        volumes=[{"name": "v", "csi": csi}],
        volume_mounts=[{"name": "v", "mountPath": "/v"}],
    )


def test_versions_that_pods_have_mounted_roll_a_workload_when_they_change(
    stage: Stage, controller: Start, driver: Driver
) -> None:
    driver.install()
    web = mounting()
    stage.make(build.configmap("app"), web)
    controller()
    stage.adopted(web)

    # What a pod reports for the first time is what it started with.
    driver.mounts(stage, "web-1", password="1", cert="1")
    eventually(lambda: len(stage.record(web)["s"]) == 2, "it is recorded", PATIENCE)
    stage.quiet(web)
    assert stage.stamp(web) is None

    number = stage.record(web)["n"]
    driver.mounts(stage, "web-1", password="2", cert="1")
    record = stage.rolled(web, since=number)
    assert record["by"] == ["secretproviderclass/vault"]
    assert record["keys"] == ["password"]
    # The others follow, and so do the new pods.
    driver.mounts(stage, "web-2", password="2", cert="1")
    driver.mounts(stage, "web-3", cert="1", password="2")
    stage.quiet(web)
    assert stage.record(web)["n"] == record["n"]


def test_a_kind_whose_crd_comes_and_goes_is_picked_up_without_a_restart_and_harms_no_other(
    stage: Stage, controller: Start, driver: Driver
) -> None:
    web = mounting()
    other = build.deployment("other", uses="configmap/other", annotations=ENABLED)
    stage.make(build.configmap("app"), build.configmap("other"), web, other)
    running = controller()
    number = stage.adopted(web)["n"]
    stage.change("ConfigMap", "app", key="2")
    number = stage.rolled(web, since=number)["n"]

    driver.install()
    driver.mounts(stage, "web-1", password="1")
    eventually(lambda: stage.record(web)["n"] > number, "it is recorded", PATIENCE)
    number = stage.record(web)["n"]
    driver.mounts(stage, "web-1", password="2")
    number = stage.rolled(web, since=number)["n"]

    gone = len(running.lines())
    driver.uninstall()
    running.wait_for(lambda line: line.get("state") == "absent" and GROUP in line["resource"], gone)
    before = stage.adopted(other)["n"]
    stage.change("ConfigMap", "other", key="2")
    stage.rolled(other, since=before)
    stage.quiet(web)
    assert stage.record(web)["n"] == number

    driver.install()
    driver.mounts(stage, "web-1", password="3")
    eventually(lambda: stage.record(web)["n"] > number, "it rolls again", PATIENCE)
    assert stage.record(web)["by"] == ["secretproviderclass/vault"]
    assert not [line for line in running.lines() if line["msg"] == "bug"]
