"""What the tools deploy that take manifests from a repository: a Deployment and what it uses."""

import time
from typing import Any

from tests.scenarios.stage import ENABLED, Stage
from tests.support import build
from tests.support.build import Object

SOON = ("--debounce", "1s")
"""Time enough for the tools to come from the ConfigMap to the Deployment on a busy machine."""


def config(colour: str = "", name: str = "app") -> Object:
    return build.configmap(name, {"COLOUR": colour})


def web(image: str = "1", uses: str = "configmap/app", **more: Any) -> Object:
    container = {"image": f"example.invalid/app:{image}"}
    annotations = {**ENABLED, **more.pop("annotations", {})}
    return build.deployment(uses=uses, annotations=annotations, container=container, **more)


def colour(stage: Stage) -> str:
    return str(stage.get(config())["data"]["COLOUR"])


def image(stage: Stage) -> str:
    [container] = stage.template(web())["spec"]["containers"]
    return str(container["image"]).rpartition(":")[2]


def used(stage: Stage) -> str:
    """The name of the ConfigMap in the template."""
    [container] = stage.template(web())["spec"]["containers"]
    return str(container["envFrom"][0]["configMapRef"]["name"])


def closed() -> dict[str, str]:
    """A window of ours that does not open today."""
    today = time.strftime("%a", time.gmtime())
    days = [day for day in ("Mon", "Wed", "Fri", "Sun") if day != today][:2]
    return {"reroll.dev/window": "; ".join(f"{day} 12:00+1m UTC" for day in days)}
