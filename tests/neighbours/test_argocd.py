"""Argo CD deploys: what it syncs rolls once, and neither of the two undoes what the other did.

Automated, with self-heal and prune, in each of the ways in which it writes.
"""

from collections.abc import Callable

from tests.neighbours.argo import REPLACE, VERSION, Application, deployed, for_each_way
from tests.neighbours.gitops import colour, config, image, web
from tests.neighbours.looks import rolled_once, rollouts, shown, stays
from tests.scenarios.pins import Installation
from tests.scenarios.revised import copies, pin
from tests.scenarios.stage import Controller, Stage, alone, eventually

Start = Callable[..., Controller]


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
    assert stage.stamp(web()) is not None or REPLACE in options
    record = stage.record(web())
    stays(lambda: stage.record(web()) == record, "it rolls on", 3)


@for_each_way
def test_a_source_that_is_pruned_with_its_last_use_rolls_once(
    stage: Stage, controller: Start, argocd: Application, options: list[str]
) -> None:
    deployed(argocd, controller, *options)
    moved = web(uses="configmap/other")
    revision = argocd.repository.commit(config("green", "other"), moved, without="configmap-app")
    argocd.refresh()
    argocd.at(revision)
    stage.api.wait_gone(stage.path(config()), timeout=60)
    stage.settled(web())
    argocd.is_calm()
    assert rollouts(stage, web()) == 2


@for_each_way
def test_the_annotation_of_a_restart_is_no_difference(
    stage: Stage, controller: Start, argocd: Application, options: list[str]
) -> None:
    """`kubectl rollout restart` and the strategy `restart` write the same one."""
    manifest = web(annotations={"reroll.dev/strategy": "restart"})
    number = deployed(argocd, controller, *options, manifest=manifest)
    revision = argocd.repository.commit(config("green"))
    argocd.refresh()
    rolled_once(stage, web(), since=number)
    argocd.at(revision)
    argocd.is_calm()
    meta = stage.template(web())["metadata"]["annotations"]
    assert "kubectl.kubernetes.io/restartedAt" in meta
    assert rollouts(stage, web()) == 2


def roll_back(argocd: Application, revision: str) -> None:
    """As `argocd app rollback` does it: it refuses to where syncs are automated."""
    api, path = argocd.stage.api, argocd.path
    api.patch(path, {"spec": {"syncPolicy": {"automated": None}}})
    api.patch(path, {"operation": {"sync": {"revision": revision, "prune": True}}})


@for_each_way
def test_a_rollback_by_argo_cd_is_respected(
    stage: Stage, controller: Start, argocd: Application, options: list[str]
) -> None:
    deployed(argocd, controller, *options)
    first = argocd.status()["sync"]["revision"]
    second = argocd.repository.commit(config("green"), web("2"))
    argocd.refresh()
    argocd.at(second)
    argocd.is_calm(3)
    before = rollouts(stage, web())

    roll_back(argocd, first)

    eventually(lambda: (image(stage), colour(stage)) == ("1", "blue"), "it went back")
    stage.settled(web())
    stays(lambda: (image(stage), colour(stage)) == ("1", "blue"), "it came forth again", 8)
    assert rollouts(stage, web()) == before + 1


def test_a_rollback_of_config_alone_rolls_once(
    stage: Stage, controller: Start, argocd: Application
) -> None:
    number = deployed(argocd, controller)
    first = argocd.status()["sync"]["revision"]
    second = argocd.repository.commit(config("green"))
    argocd.refresh()
    number = int(stage.rolled(web(), since=number)["n"])
    argocd.at(second)
    stage.settled(web())

    roll_back(argocd, first)

    record = rolled_once(stage, web(), since=number)
    assert (record["why"], record["by"]) == ("ConfigChanged", ["configmap/app"])
    assert colour(stage) == "blue"
    assert rollouts(stage, web()) == 3


def test_argo_cd_shows_a_roll_of_ours_as_progressing_and_then_healthy(
    stage: Stage, controller: Start, argocd: Application
) -> None:
    slowly = {"dev.reroll.dev/ready-after": "6s"}
    number = deployed(argocd, controller, manifest=web(template_annotations=slowly))
    revision = argocd.repository.commit(config("green"))
    argocd.refresh()
    stage.rolled(web(), since=number)
    argocd.at(revision, health="Progressing")
    argocd.at(revision, health="Healthy")


@for_each_way
def test_copies_of_revisions_are_neither_pruned_nor_out_of_sync(
    stage: Stage,
    controller: Start,
    argocd: Application,
    installation: Installation,
    options: list[str],
) -> None:
    """Where pods are rewritten when they are made; names in the template would be healed away."""
    installation.install()
    revised = {"reroll.dev/revisions": "true", "reroll.dev/pin": "admission"}
    deployed(argocd, controller, *options, manifest=web(annotations=revised))
    first = pin(stage, web())
    stage.settled(web())
    before = rollouts(stage, web())
    revision = argocd.repository.commit(config("green"))
    argocd.refresh()
    argocd.at(revision)
    eventually(lambda: pin(stage, web()) != first, "it is pinned to the new content")
    stage.settled(web())
    argocd.is_calm()
    assert first in copies(stage, "app")
    assert pin(stage, web()) in copies(stage, "app")
    # What replaces the workload takes its pins away, which is a rollout of its own.
    assert rollouts(stage, web()) - before <= (2 if REPLACE in options else 1)


def test_names_of_copies_in_the_template_are_healed_away_and_people_are_told(
    stage: Stage, controller: Start, argocd: Application
) -> None:
    """Git has other names there, so this way to pin is not for Argo CD: no fight, but a word."""
    revised = {"reroll.dev/revisions": "true", "reroll.dev/pin": "template"}
    deployed(argocd, controller, manifest=web(annotations=revised))
    eventually(lambda: stage.events(web(), "PinsRemoved"), "it is told")
    argocd.is_calm()
    assert rollouts(stage, web()) <= 3


def test_the_example_of_the_guide_does_what_it_says(
    stage: Stage, controller: Start, argocd: Application
) -> None:
    page = shown("with-argocd.md")
    own, deployment = page["application.yaml"], page["web.yaml, in the repository"]
    assert own["apiVersion"] == VERSION
    own["spec"]["source"]["repoURL"] = argocd.repository.url
    own["spec"]["destination"]["namespace"] = stage.namespace
    revision = argocd.repository.commit(config("blue"), deployment)
    argocd.create(own["spec"])
    argocd.at(revision)
    alone(controller)
    number = stage.adopted(deployment)["n"]

    revision = argocd.repository.commit(config("green"))
    argocd.refresh()

    assert rolled_once(stage, deployment, since=number)["by"] == ["configmap/app"]
    argocd.at(revision)
    argocd.is_calm()
