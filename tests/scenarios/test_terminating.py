"""A namespace that is being deleted takes no Events, and none counts as lost."""

import asyncio

from tests.scenarios.stage import eventually
from tests.support import build

from reroll.clock import SystemClock
from reroll.controller.events import Recorder, Regarding
from reroll.core.model.key import Key
from reroll.core.tables.reasons import Reason
from reroll.kube.auth import load
from reroll.kube.client import Client
from reroll_dev.api import Api, path_to
from reroll_dev.cluster import DevCluster


async def _announced(cluster: DevCluster, namespace: str) -> int:
    lost: list[bool] = []
    connection = load({}, kubeconfig=str(cluster.kubeconfig("admin")))
    async with Client(connection) as client:
        recorder = Recorder(
            client,
            SystemClock(),
            "test",
            identify=lambda _: ("v1", ""),
            on_drop=lambda: lost.append(True),
        )
        running = asyncio.create_task(recorder.run())
        web = Regarding(Key("Deployment", namespace, "web"), "apps/v1", "uid")
        recorder.announce(web, Reason.HELD, "it is held")
        await recorder.flush()
        running.cancel()
    return len(lost)


def test_an_event_that_is_refused_for_that_is_not_lost(cluster: DevCluster, api: Api) -> None:
    name = "terminating"
    api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    kept = build.configmap("kept")
    kept["metadata"]["finalizers"] = ["example.com/test"]
    api.create(kept, name)
    api.delete(path_to("Namespace", name))
    eventually(lambda: api.get(path_to("Namespace", name))["status"]["phase"] == "Terminating")

    assert asyncio.run(_announced(cluster, name)) == 0
    api.patch(path_to("ConfigMap", "kept", name), {"metadata": {"finalizers": None}})
    assert asyncio.run(_announced(cluster, "never-there")) == 0
