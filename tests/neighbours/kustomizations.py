"""A Kustomization of Flux with its GitRepository, and what it says of itself."""

import time
from typing import Any

from tests.neighbours.looks import custom, is_ready
from tests.scenarios.stage import Stage, eventually
from tests.support.build import Object
from tests.support.git_server import BRANCH, Repository

SOURCES = "source.toolkit.fluxcd.io/v1"
VERSION = "kustomize.toolkit.fluxcd.io/v1"
OFTEN = "2s"
"""How often it looks for drift."""
APPLIER = "kustomize-controller"


class Kustomization:
    """One of Flux, that deploys a repository to the test's namespace."""

    def __init__(self, stage: Stage, repository: Repository) -> None:
        self.stage, self.repository = stage, repository
        self.source = custom(SOURCES, "GitRepository", "app")
        self.own = custom(VERSION, "Kustomization", "app")

    def make(self, source: Object | None = None, **spec: Any) -> None:
        """With the repository, or with another source of the same name."""
        reference = {"url": self.repository.url, "ref": {"branch": BRANCH}, "interval": OFTEN}
        self.source = source or {**self.source, "spec": reference}
        own = {
            "interval": OFTEN,
            "retryInterval": OFTEN,
            "path": "./",
            "prune": True,
            "sourceRef": {"kind": self.source["kind"], "name": "app"},
            "targetNamespace": self.stage.namespace,
        }
        self.stage.make(self.source, {**self.own, "spec": {**own, **spec}})

    def get(self) -> Object:
        return self.stage.get(self.own)

    def refresh(self) -> None:
        """As a webhook of the repository's host would have it do: look now."""
        asked = {"reconcile.fluxcd.io/requestedAt": str(time.time_ns())}
        self.stage.api.patch(self.stage.path(self.source), {"metadata": {"annotations": asked}})

    def at(self, revision: str) -> Object:
        """Wait until this revision is applied, and all is well."""

        def there() -> Object | None:
            seen = self.get()
            applied = str(seen.get("status", {}).get("lastAppliedRevision", ""))
            return seen if applied.endswith(revision) and is_ready(seen) else None

        return eventually(there, f"{revision} is applied", 120, self.words)

    def words(self) -> Object:
        """What both say, in short."""
        found = [self.get(), self.stage.get(self.source)]
        return {one["kind"]: one.get("status", {}).get("conditions") for one in found}

    def health(self) -> str:
        """Of what it applied, where it waits for that: `True`, or `Unknown` while it looks."""
        conditions = self.get().get("status", {}).get("conditions") or ()
        return next((str(one["status"]) for one in conditions if one["type"] == "Healthy"), "")

    def is_waiting(self, seconds: float = 3) -> bool:
        """It is at a round, and stays there for longer than one takes where all is well."""
        before = (self.rounds(), self.health())
        time.sleep(seconds)
        return before == (self.rounds(), self.health()) and before[1] == "Unknown"

    def rounds(self) -> int:
        """How often it has looked at everything; each looks for drift, and corrects it."""
        history = self.get().get("status", {}).get("history", ())
        return sum(one["totalReconciliations"] for one in history)

    def more_rounds(self, count: int = 3) -> None:
        """Wait until it looked so often again."""
        goal = self.rounds() + count
        eventually(lambda: self.rounds() >= goal, f"{count} rounds", 60, self.words)

    def is_calm(self, *manifests: Object) -> None:
        """It goes on looking, and writes nothing to these."""
        before = [self._written(one) for one in manifests]
        self.more_rounds()
        assert [self._written(one) for one in manifests] == before, "Flux is restless"

    def _written(self, manifest: Object) -> list[str]:
        """When it wrote to an object."""
        fields = self.stage.api.get(self.stage.path(manifest))["metadata"]["managedFields"]
        return [one["time"] for one in fields if one["manager"] == APPLIER]

    def delete(self) -> None:
        for one in (self.own, self.source):
            self.stage.api.delete(self.stage.path(one), missing_ok=True)
            self.stage.api.wait_gone(self.stage.path(one), timeout=60)
