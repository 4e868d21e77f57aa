"""What a version of Kubernetes has is found and used, and what it lacks is done without."""

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.scenarios.pins import Installation
from tests.scenarios.stage import ENABLED, Controller, Stage, alone
from tests.support import build, minors
from tests.support.command import reroll

from reroll_dev.cluster import DevCluster

Start = Callable[..., Controller]
GROUND = minors.ground(os.environ)


def test_the_doctor_says_which_version_it_is_and_what_it_has(
    cluster: DevCluster, namespace: str
) -> None:
    where = ("-n", namespace, "--controller-namespace", namespace)

    done = reroll("doctor", *where, "--kubeconfig", cluster.kubeconfig(), "-o", "json")

    said = [one["sentence"] for one in done.json["findings"] if one["check"] == "API server"]
    assert [one for one in said if one.startswith(f"Kubernetes is v{GROUND.minor.name}.")]
    assert any(one.startswith("it has streaming lists") for one in said) is GROUND.streams
    served = f"MutatingAdmissionPolicy {GROUND.policies} is served: the API server can rewrite pods"
    assert any(one.startswith(served) for one in said) is bool(GROUND.policies)


def test_the_first_look_is_a_streaming_list_or_by_pages_where_there_is_none(
    stage: Stage,
    controller: Start,
    reroll_kubeconfig: Path,
    audit: Callable[[Path], list[dict[str, Any]]],
) -> None:
    web = build.deployment(uses="configmap/app", annotations=ENABLED)
    stage.make(build.configmap("app"), web)

    alone(controller)
    stage.adopted(web)

    # It also asks for one of them, to see in which store they are.
    looks = [
        (call["verb"], call["responseStatus"]["code"], "sendInitialEvents" in call["requestURI"])
        for call in audit(reroll_kubeconfig)
        if re.search(r"/deployments\?(?!limit=1$)", call["requestURI"])
    ]
    by_pages = [("watch", 422, True), ("list", 200, False), ("watch", 200, False)]
    assert looks == ([("watch", 200, True)] if GROUND.streams else by_pages)


def test_pods_are_rewritten_by_the_best_that_it_has(
    stage: Stage, installation: Installation
) -> None:
    done = installation.install("-o", "json").json

    assert done["tried"]["rewritten"]
    assert done["mode"] == ("policy" if GROUND.policies else "webhook")
    if GROUND.policies:
        assert done["why"].endswith(f"k8s.io/{GROUND.policies} MutatingAdmissionPolicy")
