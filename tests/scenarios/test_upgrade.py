"""From the release before to this one, and back: nothing rolls, and no change is lost."""

import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.scenarios.stage import ENABLED, Controller, Stage, Web, eventually
from tests.support import build
from tests.support.templates import Templates

import reroll
from reroll_dev.cluster import DevCluster

pytestmark = pytest.mark.usefixtures("every_dialect")

Start = Callable[..., Controller]

[BEFORE] = (Path(__file__).parents[1] / "upgrade").glob("reroll-*.whl")
"""The release before, without its development cluster: a controller needs none."""
ANNOTATIONS: dict[str, dict[str, str]] = {
    "stamp": ENABLED,
    "env": {**ENABLED, "reroll.dev/strategy": "env"},
    "restart": {**ENABLED, "reroll.dev/strategy": "restart"},
    "reloader": {"reloader.stakater.com/auto": "true"},
    "wave": {"wave.pusher.com/update-on-config-change": "true"},
}
SEEN = "rollout.argoproj.io/revision"
LONG = {"dev.reroll.dev/complete-after": "1h"}
USES: dict[str, Any] = {"uses": ["configmap/app", "secret/db"]}


def workloads() -> list[build.Object]:
    """Of every kind whose template changes, and of every dialect."""
    deployments = [
        build.deployment(name, replicas=0, annotations=annotations, **USES)
        for name, annotations in ANNOTATIONS.items()
    ]
    return [
        *deployments,
        build.statefulset("sts", replicas=0, annotations=ENABLED, **USES),
        build.daemonset("ds", annotations=ENABLED, **USES),
        build.rollout("rollout", replicas=0, annotations=ENABLED, **USES),
    ]


def has_looked(web: Web, count: int) -> bool:
    """Whether the controller has decided about so many workloads and has no more to look at."""
    metrics = web.metrics()
    decided = [v for name, v in metrics.items() if name.startswith("reroll_decisions_total{")]
    return sum(decided) >= count and metrics["reroll_queue_depth"] == 0


def test_the_release_before_is_another_one_and_whole() -> None:
    with zipfile.ZipFile(BEFORE) as package:
        text = package.read("reroll/__init__.py").decode()
        assert package.testzip() is None
    [version] = re.findall(r'__version__ = "(.+)"', text)

    assert version in BEFORE.name
    assert version != reroll.__version__


def test_an_upgrade_and_a_downgrade_roll_nothing_and_lose_no_change(
    rollouts: DevCluster, stage: Stage, controller: Start, web: Web
) -> None:
    found = workloads()
    job = build.job(annotations=ENABLED, template_annotations=LONG, **USES)
    cronjob = build.cronjob(
        "cron", annotations={**ENABLED, "reroll.dev/strategy": "trigger"}, **USES
    )
    stage.make(build.configmap("app"), build.secret("db"), *found, job, cronjob)
    every = [*found, job, cronjob]
    # Argo Rollouts writes defaults into a template when it first sees it.
    stage.api.wait_for(stage.path(found[-1]), lambda one: SEEN in one["metadata"]["annotations"])
    kinds = ("Deployment", "StatefulSet", "DaemonSet", "Rollout")
    with Templates(stage.api, stage.namespace, *kinds) as templates:
        running = controller(*web.flags, package=BEFORE)
        numbers = [stage.adopted(one)["n"] for one in every]

        def all_rolled(kind: str, name: str, **data: str) -> None:
            stage.change(kind, name, **data)
            numbers[:] = [
                stage.rolled(one, since=number)["n"]
                for one, number in zip(every, numbers, strict=True)
            ]

        def rolls() -> dict[str, int]:
            return {one["metadata"]["name"]: len(templates.of(one)) - 1 for one in found}

        all_rolled("ConfigMap", "app", key="with the old one")
        running.stop()

        running.start()
        eventually(lambda: has_looked(web, len(every)), "the new one has looked at everything")
        assert set(rolls().values()) == {1}, "the upgrade rolled"
        all_rolled("Secret", "db", password="with the new one")
        assert set(rolls().values()) == {2}
        running.stop()

        running.start(package=BEFORE)
        eventually(lambda: has_looked(web, len(every)), "the old one has looked at everything")
        assert set(rolls().values()) == {2}, "the downgrade rolled"
        running.stop()
        stage.change("ConfigMap", "app", key="while neither ran")
        running.start()
        for one, number in zip(every, numbers, strict=True):
            stage.rolled(one, since=number)
        eventually(lambda: has_looked(web, len(every)), "the new one has looked at everything")
        assert set(rolls().values()) == {3}
    versions = [line["version"] for line in running.lines() if line["msg"] == "starting"]
    assert [version == reroll.__version__ for version in versions] == [False, True, False, True]


def test_every_dialect_has_a_workload_that_is_upgraded() -> None:
    from reroll.core.dialects.table import DIALECTS

    prefixes = {"reroll": "reroll.dev/", "reloader": "reloader.stakater.com/"}
    prefixes |= {"wave": "wave.pusher.com/"}
    for row in DIALECTS:
        assert any(key.startswith(prefixes[row.name]) for a in ANNOTATIONS.values() for key in a)
