"""What scenarios of the commands that roll have in common."""

from collections.abc import Callable
from typing import Any

from tests.scenarios.stage import ENABLED, Stage, eventually
from tests.support import build
from tests.support.build import FAIL, Object
from tests.support.command import Finished
from tests.support.settled import is_settled

from reroll_dev.api import path_to

Command = Callable[..., Finished]


def a_web(name: str = "web", **more: Any) -> Object:
    """A Deployment that is opted in and uses the ConfigMap `app`."""
    return build.deployment(name, uses=["configmap/app"], annotations=dict(ENABLED), **more)


def that_fails(stage: Stage, manifest: Object, fail: str = "unready") -> Object:
    """Pods of its template fail, except those that are there already."""
    template = manifest["spec"]["template"]["metadata"]
    template.setdefault("annotations", {})[FAIL] = fail
    stage.make(manifest)
    heal(stage, manifest)
    return manifest


def heal(stage: Stage, manifest: Object) -> None:
    """The pods that are there, and those that come until its rollout is over, get ready."""

    def healed() -> bool:
        """One by one: a StatefulSet waits for each."""
        for pod in stage.pods(manifest):
            if FAIL in pod["metadata"].get("annotations", {}):
                path = path_to("Pod", pod["metadata"]["name"], stage.namespace)
                stage.api.patch(path, {"metadata": {"annotations": {FAIL: None}}})
        return is_settled(stage.get(manifest))

    eventually(healed, "its pods are ready")
