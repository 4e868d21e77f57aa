"""Sync windows of Argo CD and windows of ours: nothing rolls while one of either is closed."""

from collections.abc import Callable, Iterator

import pytest
from tests.neighbours.argo import VERSION, Application, deployed
from tests.neighbours.gitops import closed, colour, config, web
from tests.neighbours.looks import custom, rolled_once, rollouts, stays
from tests.scenarios.stage import Controller, Stage, eventually

from reroll_dev.api import path_to

Start = Callable[..., Controller]
DENIED = {"kind": "deny", "schedule": "* * * * *", "duration": "24h", "applications": ["*"]}


class Project:
    """One of Argo CD, of the test's own, with a sync window that can be closed."""

    def __init__(self, argocd: Application) -> None:
        self._argocd, self._api = argocd, argocd.stage.api
        self._path = path_to("AppProject", argocd.name, "argocd", version=VERSION)
        spec = {
            "sourceRepos": ["*"],
            "destinations": [{"namespace": "*", "server": "*"}],
            "clusterResourceWhitelist": [{"group": "*", "kind": "*"}],
        }
        self._api.create(custom(VERSION, "AppProject", argocd.name, spec=spec), namespace="argocd")

    def close(self) -> None:
        self._api.patch(self._path, {"spec": {"syncWindows": [DENIED]}})
        self._api.patch(self._argocd.path, {"spec": {"project": self._argocd.name}})

    def open(self) -> None:
        self._api.patch(self._path, {"spec": {"syncWindows": None}})
        self._argocd.refresh()

    def delete(self) -> None:
        """After what is in it, which nobody could delete any more."""
        self._argocd.delete()
        self._api.delete(self._path)


@pytest.fixture
def project(argocd: Application) -> Iterator[Project]:
    one = Project(argocd)
    yield one
    one.delete()


def keeps_away(argocd: Application) -> None:
    """It sees the commit, and does not sync it."""
    eventually(lambda: argocd.status()["sync"]["status"] == "OutOfSync", "it sees the commit")
    stays(lambda: colour(argocd.stage) == "blue", "it synced", 6)


def test_a_window_of_ours_holds_the_roll_and_argo_cd_stays_in_sync(
    stage: Stage, controller: Start, argocd: Application
) -> None:
    number = deployed(argocd, controller, manifest=web(annotations=closed()))
    revision = argocd.repository.commit(config("green"))
    argocd.refresh()
    argocd.at(revision)
    argocd.is_calm(6)
    assert stage.record(web())["n"] == number
    assert rollouts(stage, web()) == 1

    argocd.repository.commit(web())
    argocd.refresh()

    record = stage.rolled(web(), since=number)
    assert record["by"] == ["configmap/app"]


def test_a_sync_window_of_theirs_keeps_the_config_away_and_so_nothing_rolls(
    stage: Stage, controller: Start, argocd: Application, project: Project
) -> None:
    number = deployed(argocd, controller)
    project.close()
    argocd.repository.commit(config("green"))
    argocd.refresh()
    keeps_away(argocd)
    assert stage.record(web())["n"] == number

    project.open()

    rolled_once(stage, web(), since=number)


def test_with_both_windows_a_roll_waits_for_the_second_of_them_and_comes_once(
    stage: Stage, controller: Start, argocd: Application, project: Project
) -> None:
    number = deployed(argocd, controller, manifest=web(annotations=closed()))
    project.close()
    argocd.repository.commit(config("green"))
    argocd.refresh()
    keeps_away(argocd)

    project.open()
    eventually(lambda: colour(stage) == "green", "the config is there")
    argocd.is_calm(6)
    assert stage.record(web())["n"] == number
    assert rollouts(stage, web()) == 1

    argocd.repository.commit(web())
    argocd.refresh()

    record = rolled_once(stage, web(), since=number)
    assert record["by"] == ["configmap/app"]
    assert rollouts(stage, web()) == 2
