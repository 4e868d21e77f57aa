"""Kinds that come and go with their CRD: here the reports of the Secrets Store CSI driver."""

from collections.abc import Callable

import pytest
from tests.scenarios.csi import GROUP, Driver, volume
from tests.scenarios.stage import ENABLED, Controller, Stage, eventually
from tests.support import build

Start = Callable[..., Controller]
# An API that comes or goes is noticed within ten seconds.
PATIENCE = 60.0


def mounting(name: str = "web") -> build.Object:
    return build.deployment(
        name,
        annotations=ENABLED,
        uses="configmap/app",
        volumes=[volume()],
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


@pytest.mark.slow
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
