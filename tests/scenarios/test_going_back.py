"""Going back by an action that needs nothing but the cluster, as after a restart."""

import asyncio
from pathlib import Path

import pytest
from tests.kube.follow import connect
from tests.scenarios.rolling import Command, a_web
from tests.scenarios.stage import ENABLED, Stage, a
from tests.support import build

from reroll.clock import SystemClock
from reroll.controller.pace import Pacer
from reroll.controller.report import Report
from reroll.core.decide.rollback import go_back
from reroll.core.model.key import Key
from reroll.core.tables.kinds import KINDS, Kind, Revisions
from reroll.engine.executor import Executor
from reroll.engine.listing import Listing
from reroll.kube.view import View
from reroll.settings.table import Settings
from reroll_dev.cluster import DevCluster

with_revisions = pytest.mark.parametrize(
    "kind",
    [kind for kind in KINDS if kind.revisions is not Revisions.NONE],
    ids=lambda kind: kind.name,
    indirect=True,
)


async def gone_back(kubeconfig: Path, stage: Stage, key: Key, settings: Settings) -> Report | None:
    """What a process reports that knows nothing of the roll."""
    clock = SystemClock()
    async with connect(kubeconfig) as client:
        listing = Listing(
            View(client, stage.namespace, stage.namespace), clock, settings, stage.namespace
        )
        await listing.fill(kinds=[key.kind], make_key=True)
        executor = Executor(client, clock, listing.observer, Pacer(clock))
        snapshot = listing.observer.snapshot(key)
        assert snapshot is not None
        plan = go_back(snapshot, clock.now(), "the new configuration is bad")
        return (await executor.execute(snapshot, plan)).report


@with_revisions
def test_the_template_before_comes_back_from_the_revisions_and_its_content_is_declined(
    kind: Kind, stage: Stage, sync: Command, cluster: DevCluster
) -> None:
    web = stage.make(build.configmap(), a(kind, uses=["configmap/app"], annotations=ENABLED))
    stage.settled(web)
    sync()
    before = stage.template(web)
    stage.change("ConfigMap", "app", key="bad")
    sync("--wait")
    assert stage.template(web) != before
    key = Key(kind.name, stage.namespace, "web")

    report = asyncio.run(gone_back(cluster.kubeconfig(), stage, key, Settings()))

    assert report is not None
    assert (report.reason.word, report.message) == ("Undone", "the new configuration is bad")
    after = stage.template(web)
    assert after["spec"] == before["spec"]
    assert after["metadata"].get("annotations") in (before["metadata"].get("annotations"), None, {})
    assert stage.record(web)["why"] == "Undone"
    rolled = sync("-o", "json")
    # Pods that started since run well with it; it is declined as long as one of before is there.
    assert rolled.json["workloads"][0]["result"] in {"nothing to do", "declined"}, rolled.out


def test_a_change_by_somebody_else_is_not_undone(
    stage: Stage, sync: Command, cluster: DevCluster
) -> None:
    web = stage.make(build.configmap(), a_web())
    stage.settled(web)
    sync()
    stage.change("ConfigMap", "app", key="bad")
    sync("--wait")
    containers = [{"name": "main", "image": "another:2"}]
    spec = {"template": {"spec": {"containers": containers}}}
    stage.api.patch(stage.path(web), {"spec": spec}, kind="strategic")
    template, key = stage.template(web), Key("Deployment", stage.namespace, "web")

    report = asyncio.run(gone_back(cluster.kubeconfig(), stage, key, Settings()))

    assert report is not None
    assert report.reason.word == "RollbackFailed"
    assert "changed by somebody else" in report.message
    assert stage.template(web) == template
