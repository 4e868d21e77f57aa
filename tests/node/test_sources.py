"""Wherever a container uses a source, its process has the new value after one roll."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.node.serving import PORT, ServingStage, container, file, serving, variables
from tests.scenarios.stage import ENABLED, Controller
from tests.support import build

BESIDE = PORT + 1
PLACE = "/etc/app"


def from_key(kind: str, name: str = "COLOUR") -> build.Object:
    reference = {"name": "app", "key": "colour"}
    return {"name": name, "valueFrom": {f"{kind}KeyRef": reference}}


@dataclass(frozen=True)
class Use:
    """A place where a container can use the key `colour` of `app`."""

    kind: str = "ConfigMap"
    template: Mapping[str, Any] = field(default_factory=serving)
    path: str = "/env/COLOUR"
    """Where the server tells what its process has."""
    port: int = PORT


def mounted(volume: build.Object, path: str = "", **mount: str) -> dict[str, Any]:
    """A volume below `PLACE`, whose files the server reads once, when it starts."""
    return {
        **serving(WEB_ROOT=PLACE),
        "volumes": [{"name": "app", **volume}],
        "volume_mounts": [{"name": "app", "mountPath": PLACE + path, **mount}],
    }


PART = {"name": "app", "items": [{"key": "colour", "path": "hue"}]}
USES = {
    "env": Use("Secret", serving([from_key("secret")])),
    "envFrom": Use(
        template={
            **serving(),
            "env_from": [{"prefix": "APP_", "configMapRef": {"name": "app"}}],
        },
        path="/env/APP_colour",
    ),
    "volume": Use("Secret", mounted({"secret": {"secretName": "app"}}), "/colour"),
    "subPath": Use(
        template=mounted({"configMap": {"name": "app"}}, "/colour", subPath="colour"),
        path=file(f"{PLACE}/colour"),
    ),
    "projected": Use(
        template=mounted({"projected": {"sources": [{"configMap": PART}]}}),
        path="/hue",
    ),
    "sidecar": Use(
        "Secret",
        serving(
            pod={
                "initContainers": [
                    container(
                        "beside",
                        BESIDE,
                        restartPolicy="Always",
                        env=[
                            *variables(WEB_LISTEN=f":{BESIDE}", WEB_DRAIN="0s"),
                            from_key("secret"),
                        ],
                    )
                ]
            }
        ),
        port=BESIDE,
    ),
}
BUILD = {"ConfigMap": build.configmap, "Secret": build.secret}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_the_process_has_the_new_value_after_one_roll(
    stage: ServingStage, controller: Callable[..., Controller], use: Use
) -> None:
    web = build.deployment(annotations=ENABLED, **use.template)
    stage.make(BUILD[use.kind]("app", {"colour": "blue", "other": "1"}), web)
    controller()
    stage.adopted(web)
    stage.all_answer(web, use.path, "blue", use.port)

    stage.change(use.kind, "app", colour="green")

    stage.all_answer(web, use.path, "green", use.port)
    stage.settled(web)
    stage.quiet(web)
    assert len(stage.revisions(web)) == 2


def test_an_init_container_has_the_new_value_after_one_roll(
    stage: ServingStage, controller: Callable[..., Controller]
) -> None:
    env = [*variables(WEB_SHOW="COLOUR"), from_key("configMap")]
    first = {"name": "first", "image": container()["image"], "args": ["once"], "env": env}
    web = build.deployment(annotations=ENABLED, **serving(pod={"initContainers": [first]}))
    stage.make(build.configmap("app", {"colour": "blue"}), web)
    controller()
    stage.adopted(web)
    stage.settled(web)
    [pod] = stage.pods(web)
    assert stage.log(pod, "first") == 'once COLOUR="blue"\n'

    stage.change("ConfigMap", "app", colour="green")

    stage.rolled(web, since=1)
    stage.settled(web)
    [pod] = stage.pods(web)
    assert stage.log(pod, "first") == 'once COLOUR="green"\n'
    assert len(stage.revisions(web)) == 2
