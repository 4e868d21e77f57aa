"""Argo CD deploys: what it syncs rolls once, and neither of the two undoes what the other did.

Automated, with self-heal and prune, in each of the ways in which it writes.
"""

import time
from collections.abc import Callable

import pytest
from tests.neighbours.argo import VERSION, Application
from tests.neighbours.gitops import colour, config, image, web
from tests.neighbours.looks import custom, rolled_once, rollouts, stays
from tests.scenarios.pins import Installation
from tests.scenarios.revised import copies, pin
from tests.scenarios.stage import Controller, Stage, alone, eventually
from tests.support.build import Object

from reroll_dev.api import path_to

Start = Callable[..., Controller]
WAYS = {
    "client-side apply": [],
    "server-side apply": ["ServerSideApply=true"],
    "replace": ["Replace=true"],
}
for_each_way = pytest.mark.parametrize("options", WAYS.values(), ids=list(WAYS))


def deployed(
    argocd: Application, controller: Start, *options: str, manifest: Object | None = None
) -> int:
    """The first revision is there, and ours watches; the number of its record."""
    revision = argocd.repository.commit(config("blue"), manifest or web())
    argocd.make(*options)
    argocd.at(revision)
    alone(controller)
    return int(argocd.stage.adopted(web())["n"])


@for_each_way
def test_a_commit_of_config_alone_rolls_once_and_leaves_argo_cd_in_sync(
    stage: Stage, controller: Start, argocd: Application, options: list[str]
) -> None:
    number = deployed(argocd, controller, *options)
    for count, hue in enumerate(("green", "red"), start=2):
        revision = argocd.repository.commit(config(hue))
        argocd.refresh()
        record = rolled_once(stage, web(), since=number)
        assert record["by"] == ["configmap/app"]
        argocd.at(revision)
        argocd.is_calm()
        assert stage.record(web()) == record
        assert rollouts(stage, web()) == count
        number = int(record["n"])


@for_each_way
def test_image_and_config_in_one_commit_roll_once(
    stage: Stage, controller: Start, argocd: Application, options: list[str]
) -> None:
    deployed(argocd, controller, *options)
    revision = argocd.repository.commit(config("green"), web("2"))
    argocd.refresh()
    argocd.at(revision)
    stage.settled(web())
    argocd.is_calm()
    assert rollouts(stage, web()) == 2


@for_each_way
def test_self_heal_takes_away_what_people_did_and_nothing_of_ours(
    stage: Stage, controller: Start, argocd: Application, options: list[str]
) -> None:
    number = deployed(argocd, controller, *options)
    revision = argocd.repository.commit(config("green"))
    argocd.refresh()
    stage.rolled(web(), since=number)
    argocd.at(revision)
    stage.settled(web())
    before = rollouts(stage, web())

    stage.change("ConfigMap", "app", COLOUR="by hand")

    eventually(lambda: colour(stage) == "green", "it is healed")
    argocd.is_calm()
    stage.settled(web())
    # What was there for a moment may have rolled, and then what is in the repository rolled again.
    assert rollouts(stage, web()) - before <= 2
    record = stage.record(web())
    stays(lambda: stage.record(web()) == record, "it rolls on", 3)


def test_a_source_that_is_pruned_with_its_last_use_rolls_once(
    stage: Stage, controller: Start, argocd: Application
) -> None:
    deployed(argocd, controller)
    moved = web(uses="configmap/other")
    revision = argocd.repository.commit(config("green", "other"), moved, without="configmap-app")
    argocd.refresh()
    argocd.at(revision)
    stage.api.wait_gone(stage.path(config()), timeout=60)
    stage.settled(web())
    argocd.is_calm()
    assert rollouts(stage, web()) == 2


def test_a_restart_by_a_person_is_left_alone(
    stage: Stage, controller: Start, argocd: Application
) -> None:
    """`kubectl rollout restart` and the strategy `restart` write the same annotation."""
    manifest = web(annotations={"reroll.dev/strategy": "restart"})
    number = deployed(argocd, controller, manifest=manifest)
    revision = argocd.repository.commit(config("green"))
    argocd.refresh()
    rolled_once(stage, web(), since=number)
    argocd.at(revision)
    argocd.is_calm()
    meta = stage.template(web())["metadata"]["annotations"]
    assert "kubectl.kubernetes.io/restartedAt" in meta
    assert rollouts(stage, web()) == 2


def test_a_rollback_by_argo_cd_is_respected(
    stage: Stage, controller: Start, argocd: Application
) -> None:
    deployed(argocd, controller)
    first = argocd.status()["sync"]["revision"]
    second = argocd.repository.commit(config("green"), web("2"))
    argocd.refresh()
    argocd.at(second)
    argocd.is_calm(3)
    before = rollouts(stage, web())

    stage.api.patch(argocd.path, {"spec": {"syncPolicy": {"automated": None}}})
    stage.api.patch(argocd.path, {"operation": {"sync": {"revision": first, "prune": True}}})

    eventually(lambda: (image(stage), colour(stage)) == ("1", "blue"), "it went back")
    stage.settled(web())
    stays(lambda: (image(stage), colour(stage)) == ("1", "blue"), "it came forth again", 8)
    assert rollouts(stage, web()) == before + 1


def test_argo_cd_shows_a_roll_of_ours_as_progressing_and_then_healthy(
    stage: Stage, controller: Start, argocd: Application
) -> None:
    slowly = {"template_annotations": {"dev.reroll.dev/ready-after": "6s"}}
    number = deployed(argocd, controller, manifest=web(**slowly))
    revision = argocd.repository.commit(config("green"))
    argocd.refresh()
    stage.rolled(web(), since=number)
    argocd.at(revision, health="Progressing")
    argocd.at(revision, health="Healthy")


def test_a_window_of_ours_holds_the_roll_and_argo_cd_stays_in_sync(
    stage: Stage, controller: Start, argocd: Application
) -> None:
    today = time.strftime("%a", time.gmtime())
    days = [day for day in ("Mon", "Wed", "Fri", "Sun") if day != today][:2]
    closed = "; ".join(f"{day} 12:00+1m UTC" for day in days)
    number = deployed(argocd, controller, manifest=web(annotations={"reroll.dev/window": closed}))
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
    stage: Stage, controller: Start, argocd: Application
) -> None:
    project = custom(
        VERSION,
        "AppProject",
        stage.namespace,
        spec={
            "sourceRepos": ["*"],
            "destinations": [{"namespace": "*", "server": "*"}],
            "clusterResourceWhitelist": [{"group": "*", "kind": "*"}],
        },
    )
    stage.api.create(project, namespace="argocd")
    path = path_to("AppProject", stage.namespace, "argocd", version=VERSION)
    number = deployed(argocd, controller)
    denied = {"kind": "deny", "schedule": "* * * * *", "duration": "24h", "applications": ["*"]}
    stage.api.patch(path, {"spec": {"syncWindows": [denied]}})
    stage.api.patch(argocd.path, {"spec": {"project": stage.namespace}})
    argocd.repository.commit(config("green"))
    argocd.refresh()
    eventually(lambda: argocd.status()["sync"]["status"] == "OutOfSync", "it sees the commit")
    stays(lambda: colour(stage) == "blue", "it synced", 6)
    assert stage.record(web())["n"] == number

    stage.api.patch(path, {"spec": {"syncWindows": None}})
    argocd.refresh()

    rolled_once(stage, web(), since=number)
    stage.api.patch(argocd.path, {"spec": {"project": "default"}})
    stage.api.delete(path)


def test_copies_of_revisions_are_neither_pruned_nor_out_of_sync(
    stage: Stage, controller: Start, argocd: Application, installation: Installation
) -> None:
    """Where pods are rewritten when they are made; names in the template would be healed away."""
    installation.install()
    revised = {"reroll.dev/revisions": "true", "reroll.dev/pin": "admission"}
    deployed(argocd, controller, manifest=web(annotations=revised))
    first = pin(stage, web())
    revision = argocd.repository.commit(config("green"))
    argocd.refresh()
    argocd.at(revision)
    eventually(lambda: pin(stage, web()) != first, "it is pinned to the new content")
    stage.settled(web())
    argocd.is_calm()
    assert first in copies(stage, "app")
    assert pin(stage, web()) in copies(stage, "app")


def test_names_of_copies_in_the_template_are_healed_away_and_people_are_told(
    stage: Stage, controller: Start, argocd: Application
) -> None:
    """Git has other names there, so this way to pin is not for Argo CD: no fight, but a word."""
    revised = {"reroll.dev/revisions": "true", "reroll.dev/pin": "template"}
    deployed(argocd, controller, manifest=web(annotations=revised))
    eventually(lambda: stage.events(web(), "PinsRemoved"), "it is told")
    argocd.is_calm()
    assert rollouts(stage, web()) <= 3
