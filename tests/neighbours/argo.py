"""An Application of Argo CD, and what it says of itself."""

from collections.abc import Callable

import pytest
from tests.neighbours.gitops import SOON, config, web
from tests.neighbours.looks import custom, stays
from tests.scenarios.stage import Controller, Stage, alone, eventually
from tests.support.build import Object
from tests.support.git_server import BRANCH, Repository

from reroll_dev.api import path_to

VERSION = "argoproj.io/v1alpha1"
SERVER = "https://kubernetes.default.svc"
REPLACE = "Replace=true"
WAYS = {
    "client-side apply": [],
    "server-side apply": ["ServerSideApply=true"],
    "replace": [REPLACE],
}
"""The ways in which it writes."""
for_each_way = pytest.mark.parametrize("options", WAYS.values(), ids=list(WAYS))


class Application:
    """One of Argo CD, that deploys a repository to the test's namespace."""

    def __init__(self, stage: Stage, repository: Repository) -> None:
        self.stage, self.repository = stage, repository
        self.name = stage.namespace
        self.path = path_to("Application", self.name, "argocd", version=VERSION)

    def make(self, *options: str, plugin: str = "") -> None:
        source = {"repoURL": self.repository.url, "path": ".", "targetRevision": BRANCH}
        spec = {
            "project": "default",
            "source": {**source, **({"plugin": {"name": plugin}} if plugin else {})},
            "destination": {"server": SERVER, "namespace": self.stage.namespace},
            "syncPolicy": {
                "automated": {"prune": True, "selfHeal": True},
                "syncOptions": list(options),
            },
        }
        self.create(spec)

    def create(self, spec: Object) -> None:
        manifest = custom(VERSION, "Application", self.name, spec=spec)
        manifest["metadata"]["finalizers"] = ["resources-finalizer.argocd.argoproj.io"]
        self.stage.api.create(manifest, namespace="argocd")

    def status(self) -> Object:
        found: Object = self.stage.api.get(self.path).get("status", {})
        return found

    def refresh(self) -> None:
        """As a webhook of the repository's host would have it do: look now."""
        asked = {"argocd.argoproj.io/refresh": "normal"}
        self.stage.api.patch(self.path, {"metadata": {"annotations": asked}})

    def at(self, revision: str, health: str = "Healthy") -> Object:
        """Wait until this revision is synced, and this healthy."""

        def there() -> Object | None:
            status = self.status()
            synced = status.get("sync", {})
            operation = status.get("operationState", {})
            done = (
                synced.get("status") == "Synced"
                and synced.get("revision") == revision
                and status.get("health", {}).get("status") == health
                and operation.get("phase") == "Succeeded"
            )
            return status if done else None

        return eventually(there, f"{self.name} has {revision}", 120, self.words)

    def words(self) -> Object:
        """What it says, in short."""
        status = self.status()
        operation = status.get("operationState", {})
        return {
            "sync": status.get("sync", {}).get("status"),
            "health": status.get("health"),
            "conditions": status.get("conditions"),
            "operation": (operation.get("phase"), operation.get("message")),
        }

    def is_calm(self, seconds: float = 12) -> None:
        """In sync and writing nothing, over two rounds of its own, and healthy in the end."""
        eventually(lambda: self._state()[0] == "Synced", "it is in sync", 60, self.words)
        last = self._state()
        stays(lambda: self._state() == last, f"Argo CD is restless: {self.words()}", seconds)
        healthy = {"status": "Healthy"}
        eventually(
            lambda: self.status()["health"].items() >= healthy.items(), "healthy", 60, self.words
        )

    def _state(self) -> tuple[str, str]:
        """The last word is when it last began to write: while that stays, it fights nobody."""
        status = self.status()
        return status["sync"]["status"], str(status.get("operationState", {}).get("startedAt"))

    def delete(self) -> None:
        self.stage.api.delete(self.path, missing_ok=True)
        self.stage.api.wait_gone(self.path, timeout=60)


def deployed(
    argocd: Application,
    controller: Callable[..., Controller],
    *options: str,
    manifest: Object | None = None,
) -> int:
    """The first revision is there, and ours watches; the number of its record."""
    revision = argocd.repository.commit(config("blue"), manifest or web())
    argocd.make(*options)
    argocd.at(revision)
    argocd.stage.settled(web())
    alone(controller, *SOON)
    return int(argocd.stage.adopted(web())["n"])
