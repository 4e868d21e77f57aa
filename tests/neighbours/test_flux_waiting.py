"""Who waits for whom: Flux for a roll of ours, ours for a window, and both for a suspension."""

from collections.abc import Callable
from typing import Any

from tests.neighbours.gitops import SOON, closed, colour, config, web
from tests.neighbours.kustomizations import Kustomization
from tests.neighbours.looks import rolled_once, rollouts, stays
from tests.scenarios.stage import Controller, Stage, alone, eventually
from tests.support.build import Object
from tests.support.settled import is_settled

Start = Callable[..., Controller]
SLOWLY = {"dev.reroll.dev/ready-after": "20s"}


def deployed(
    flux: Kustomization, controller: Start, manifest: Object | None = None, **options: Any
) -> int:
    """The first revision is there, and ours watches; the number of its record."""
    revision = flux.repository.commit(config("blue"), manifest or web())
    flux.make(**options)
    flux.at(revision)
    flux.stage.settled(web())
    alone(controller, *SOON)
    return int(flux.stage.adopted(web())["n"])


def test_flux_waits_for_a_roll_of_ours_and_shows_it_healthy_then(
    stage: Stage, controller: Start, flux: Kustomization
) -> None:
    number = deployed(flux, controller, web(template_annotations=SLOWLY), wait=True, timeout="90s")
    assert flux.health() in {"True", "Unknown"}
    flux.repository.commit(config("green"))
    flux.refresh()
    stage.rolled(web(), since=number)

    eventually(flux.is_waiting, "it waits for the pods", instead=flux.words)
    assert not is_settled(stage.get(web()))

    stage.settled(web())
    eventually(lambda: flux.health() == "True", "it is healthy", instead=flux.words)
    assert rollouts(stage, web()) == 2


def test_a_window_of_ours_holds_the_roll_and_flux_is_ready(
    stage: Stage, controller: Start, flux: Kustomization
) -> None:
    number = deployed(flux, controller, web(annotations=closed()))
    revision = flux.repository.commit(config("green"))
    flux.refresh()
    flux.at(revision)
    flux.is_calm(config(), web())
    assert stage.record(web())["n"] == number
    assert rollouts(stage, web()) == 1

    flux.repository.commit(web())
    flux.refresh()

    record = rolled_once(stage, web(), since=number)
    assert record["by"] == ["configmap/app"]
    assert rollouts(stage, web()) == 2


def test_a_suspended_kustomization_keeps_the_config_away_and_so_nothing_rolls(
    stage: Stage, controller: Start, flux: Kustomization
) -> None:
    number = deployed(flux, controller)
    stage.api.patch(stage.path(flux.own), {"spec": {"suspend": True}})
    flux.repository.commit(config("green"))
    flux.refresh()
    stays(lambda: colour(stage) == "blue", "it was applied", 6)
    assert stage.record(web())["n"] == number

    stage.api.patch(stage.path(flux.own), {"spec": {"suspend": False}})

    rolled_once(stage, web(), since=number)
    assert rollouts(stage, web()) == 2
