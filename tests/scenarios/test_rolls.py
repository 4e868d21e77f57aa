"""The main job, for every kind that rolls: the right workload, once, and nothing else."""

from collections.abc import Callable

import pytest
from tests.scenarios.stage import ENABLED, Controller, Stage
from tests.support import build

ROLLING = ("deployment", "statefulset", "daemonset", "rollout")
Start = Callable[..., Controller]


@pytest.fixture(params=ROLLING)
def make(request: pytest.FixtureRequest) -> Callable[..., build.Object]:
    """A builder of each kind whose template change replaces pods."""
    if request.param == "rollout":
        request.getfixturevalue("rollouts")
    builder: Callable[..., build.Object] = getattr(build, request.param)
    return builder


def test_a_changed_configmap_rolls_the_workload_that_uses_it_exactly_once(
    stage: Stage, controller: Start, make: Callable[..., build.Object]
) -> None:
    web = make("web", uses="configmap/app", annotations=ENABLED)
    other = make("other", uses="configmap/other", annotations=ENABLED)
    stage.make(build.configmap("app"), build.configmap("other"), web, other)
    controller()
    first = stage.adopted(web)
    stage.adopted(other)
    for one in (web, other):
        stage.settled(one)

    stage.change("ConfigMap", "app", key="new")

    record = stage.rolled(web, since=first["n"])
    stage.settled(web)
    stage.quiet(web)
    assert record["why"] == "ConfigChanged"
    assert record["by"] == ["configmap/app"]
    assert record["keys"] == ["key"]
    assert len(stage.revisions(web)) == 2
    assert len(stage.revisions(other)) == 1


def test_a_changed_secret_rolls_the_workload_that_uses_it(
    stage: Stage, controller: Start, make: Callable[..., build.Object]
) -> None:
    web = make("web", uses="secret/db#password", annotations=ENABLED)
    stage.make(build.secret("db"), web)
    controller()
    first = stage.adopted(web)

    stage.change("Secret", "db", password="correct horse")

    assert stage.rolled(web, since=first["n"])["by"] == ["secret/db#password"]
    assert "correct horse" not in str(stage.get(web))


def test_a_key_that_is_not_used_rolls_nothing(
    stage: Stage, controller: Start, make: Callable[..., build.Object]
) -> None:
    web = make("web", uses="configmap/app#key", annotations=ENABLED)
    stage.make(build.configmap("app", {"key": "a", "other": "b"}), web)
    controller()
    stage.adopted(web)
    stage.settled(web)

    stage.change("ConfigMap", "app", other="c")

    stage.quiet(web)
    assert len(stage.revisions(web)) == 1
