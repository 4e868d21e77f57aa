"""An installation on a real node: its release, its pods, and what the kubelet says of them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.scenarios.stage import eventually
from tests.support.chart import CHART
from tests.support.settled import has_condition
from tests.support.tools import Tool

from reroll_dev.access import NODE
from reroll_dev.api import Api, Object, path_to
from reroll_dev.images.made import name_of

NAME = "reroll"
RESTRICTED = {"pod-security.kubernetes.io/enforce": "restricted"}
PATIENCE = 180.0
"""Seconds: containers start on a busy machine."""


def image_values(image: str) -> dict[str, Any]:
    repository, _, tag = image.rpartition(":")
    return {"image": {"repository": repository, "tag": tag}}


@dataclass(frozen=True)
class Installation:
    """A release named `reroll`, in a namespace of its own."""

    api: Api
    tool: Tool
    home: str
    values: Path

    def helm(self, command: str, *flags: str | Path) -> str:
        return self.tool(command, NAME, "--namespace", self.home, *flags)

    def apply(
        self,
        command: str,
        values: Mapping[str, Any],
        *,
        chart: Path = CHART,
        image: str = name_of("reroll"),
    ) -> str:
        """Install or upgrade, until all replicas are ready."""
        self.values.write_text(json.dumps({**image_values(image), **values}))
        wait = ("--wait", "--timeout", f"{PATIENCE:.0f}s")
        said = self.helm(command, chart, "--values", self.values, *wait)
        self.settled()
        return said

    def settled(self) -> None:
        """Wait until its pods are those of its template and ready, and no others are left."""
        deployment = self.api.get(path_to("Deployment", NAME, self.home))
        wanted = deployment["spec"]["replicas"]
        eventually(
            lambda: [is_ready(pod) for pod in self.every_pod()] == [True] * wanted,
            f"{wanted} replicas are ready",
            PATIENCE,
        )

    def every_pod(self) -> list[Object]:
        """Its pods, those that are on their way out too."""
        selector = f"app.kubernetes.io/instance={NAME},app.kubernetes.io/component=controller"
        return self.api.list(path_to("Pod", "", self.home), labelSelector=selector)

    def pods(self) -> dict[str, Object]:
        return {
            pod["metadata"]["name"]: pod
            for pod in self.every_pod()
            if "deletionTimestamp" not in pod["metadata"]
        }

    def leader(self) -> Object:
        """The pod of the replica that holds the Lease, once one does."""

        def holder() -> Object | None:
            spec = self.api.get(path_to("Lease", NAME, self.home))["spec"]
            name = str(spec.get("holderIdentity") or "").rpartition("-")[0]
            return self.pods().get(name)

        found: Object = eventually(holder, "a replica leads", PATIENCE)
        return found

    def restarts(self) -> int:
        return sum(
            one["restartCount"]
            for pod in self.pods().values()
            for one in pod["status"]["containerStatuses"]
        )

    def stats(self) -> list[Object]:
        """What the kubelet measured of each container of its pods, once it has."""

        def measured() -> list[Object] | None:
            summary = self.api.get(f"{path_to('Node', NODE)}/proxy/stats/summary")
            found = [
                one
                for pod in summary["pods"]
                if pod["podRef"]["name"] in self.pods()
                for one in pod.get("containers", ())
                if "workingSetBytes" in one.get("memory", {}) and "usageNanoCores" in one["cpu"]
            ]
            return found if len(found) == len(self.pods()) else None

        found: list[Object] = eventually(measured, "the kubelet has measured", PATIENCE)
        return found


def is_ready(pod: Object) -> bool:
    return "deletionTimestamp" not in pod["metadata"] and has_condition(pod, "Ready")


def amiss(said: str) -> list[str]:
    """What the doctor warns of, or calls a problem."""
    return [line for line in said.splitlines() if line.startswith(("warning:", "problem:"))]
