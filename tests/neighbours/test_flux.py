"""Flux deploys: what it applies rolls once, and neither of the two undoes what the other did.

It applies on the server's side, prunes, and corrects drift every two seconds, with `force` and
without.
"""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from tests.neighbours.gitops import colour, config, image, web
from tests.neighbours.kustomizations import Kustomization
from tests.neighbours.looks import rolled_once, rollouts, stays
from tests.scenarios.pins import Installation
from tests.scenarios.revised import copies, pin
from tests.scenarios.stage import Controller, Stage, alone, eventually
from tests.support.build import Object
from tests.support.tools import Tool

Start = Callable[..., Controller]
WAYS: Mapping[str, Mapping[str, Any]] = {
    "server-side apply": {},
    "force": {"force": True},
    "wait": {"wait": True, "timeout": "60s"},
}
for_each_way = pytest.mark.parametrize("options", WAYS.values(), ids=list(WAYS))
RESTARTED = "kubectl.kubernetes.io/restartedAt"
MERGED = {"kustomize.toolkit.fluxcd.io/ssa": "Merge"}


def deployed(
    flux: Kustomization, controller: Start, manifest: Object | None = None, **options: Any
) -> int:
    """The first revision is there, and ours watches; the number of its record."""
    revision = flux.repository.commit(config("blue"), manifest or web())
    flux.make(**options)
    flux.at(revision)
    flux.stage.settled(web())
    alone(controller)
    return int(flux.stage.adopted(web())["n"])


@for_each_way
def test_a_commit_of_config_alone_rolls_once_and_nothing_of_it_is_drift(
    stage: Stage, controller: Start, flux: Kustomization, options: Mapping[str, Any]
) -> None:
    number = deployed(flux, controller, **options)
    for count, hue in enumerate(("green", "red"), start=2):
        revision = flux.repository.commit(config(hue))
        flux.refresh()
        record = rolled_once(stage, web(), since=number)
        assert record["by"] == ["configmap/app"]
        flux.at(revision)
        flux.is_calm(config(), web())
        assert stage.record(web()) == record
        assert stage.stamp(web()) is not None
        assert rollouts(stage, web()) == count
        number = int(record["n"])


@for_each_way
def test_image_and_config_in_one_commit_roll_once(
    stage: Stage, controller: Start, flux: Kustomization, options: Mapping[str, Any]
) -> None:
    deployed(flux, controller, **options)
    revision = flux.repository.commit(config("green"), web("2"))
    flux.refresh()
    flux.at(revision)
    stage.settled(web())
    flux.is_calm(config(), web())
    assert (image(stage), colour(stage)) == ("2", "green")
    assert rollouts(stage, web()) == 2


@for_each_way
def test_drift_correction_takes_away_what_people_did_and_nothing_of_ours(
    stage: Stage, controller: Start, flux: Kustomization, options: Mapping[str, Any]
) -> None:
    number = deployed(flux, controller, **options)
    revision = flux.repository.commit(config("green"))
    flux.refresh()
    stage.rolled(web(), since=number)
    flux.at(revision)
    stage.settled(web())
    before = rollouts(stage, web())

    stage.change("ConfigMap", "app", COLOUR="by hand")

    eventually(lambda: colour(stage) == "green", "it is corrected")
    flux.is_calm(config(), web())
    stage.settled(web())
    # What was there for a moment may have rolled, and then what is in the repository rolled again.
    assert rollouts(stage, web()) - before <= 2
    record = stage.record(web())
    stays(lambda: stage.record(web()) == record, "it rolls on", 3)


def test_a_commit_that_takes_a_rollout_back_rolls_once(
    stage: Stage, controller: Start, flux: Kustomization
) -> None:
    deployed(flux, controller)
    revision = flux.repository.commit(config("green"), web("2"))
    flux.refresh()
    flux.at(revision)
    stage.settled(web())
    flux.more_rounds()
    before = rollouts(stage, web())

    revision = flux.repository.commit(config("blue"), web("1"))
    flux.refresh()

    flux.at(revision)
    stage.settled(web())
    flux.is_calm(config(), web())
    assert (image(stage), colour(stage)) == ("1", "blue")
    assert rollouts(stage, web()) == before + 1


def test_what_is_not_in_the_repository_any_more_is_pruned_and_ours_is_left_alone(
    stage: Stage, controller: Start, flux: Kustomization, installation: Installation
) -> None:
    """Copies carry no mark of Flux's, so they are none that it would prune."""
    installation.install()
    revised = {"reroll.dev/revisions": "true", "reroll.dev/pin": "admission"}
    deployed(flux, controller, web(annotations=revised))
    first = pin(stage, web())
    revision = flux.repository.commit(config("green"))
    flux.refresh()
    flux.at(revision)
    eventually(lambda: pin(stage, web()) != first, "it is pinned to the new content")
    stage.settled(web())
    flux.is_calm(config(), web())
    assert {first, pin(stage, web())} <= set(copies(stage, "app"))


def test_names_of_copies_in_the_template_are_corrected_and_people_are_told(
    stage: Stage, controller: Start, flux: Kustomization
) -> None:
    """Git has other names there, so this way to pin is not for Flux: no fight, but a word."""
    revised = {"reroll.dev/revisions": "true", "reroll.dev/pin": "template"}
    deployed(flux, controller, web(annotations=revised))
    eventually(lambda: stage.events(web(), "PinsRemoved"), "it is told")
    stage.settled(web())
    flux.is_calm(web())
    assert rollouts(stage, web()) <= 3


def test_a_restart_of_ours_stays_and_flux_takes_one_by_kubectl_away(
    stage: Stage, controller: Start, flux: Kustomization, kubectl: Tool
) -> None:
    """The strategy `restart` writes the annotation of `kubectl rollout restart`, as ourselves."""
    manifest = web(annotations={"reroll.dev/strategy": "restart"})
    number = deployed(flux, controller, manifest)
    revision = flux.repository.commit(config("green"))
    flux.refresh()
    rolled_once(stage, web(), since=number)
    flux.at(revision)
    flux.is_calm(config(), web())
    assert RESTARTED in stage.template(web())["metadata"]["annotations"]
    assert rollouts(stage, web()) == 2
    record = stage.record(web())

    kubectl("rollout", "restart", "deployment/web", "--namespace", stage.namespace)

    eventually(
        lambda: RESTARTED not in stage.template(web())["metadata"].get("annotations", {}),
        "Flux takes it away",
    )
    stage.settled(web())
    flux.is_calm(web())
    assert stage.record(web())["s"] == record["s"]
