"""Flux deploys: what it applies rolls once, and neither of the two undoes what the other did.

It applies on the server's side, prunes, and corrects drift every two seconds, with `force` and
without.
"""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from tests.neighbours.gitops import colour, config, image, web
from tests.neighbours.kustomizations import Kustomization
from tests.neighbours.looks import rolled_once, rollouts, shown, stays
from tests.scenarios.pins import Installation
from tests.scenarios.revised import copies, pin
from tests.scenarios.rolling import Command
from tests.scenarios.stage import Controller, Stage, alone, eventually
from tests.support import build
from tests.support.build import Object
from tests.support.tools import Tool

from reroll.cli.errors import Exit

Start = Callable[..., Controller]
WAYS: Mapping[str, Mapping[str, Any]] = {
    "server-side apply": {},
    "force": {"force": True},
    "wait": {"wait": True, "timeout": "60s"},
}
for_each_way = pytest.mark.parametrize("options", WAYS.values(), ids=list(WAYS))
RESTARTED = "kubectl.kubernetes.io/restartedAt"
MERGED = {"kustomize.toolkit.fluxcd.io/ssa": "Merge"}
WATCHED = {"reconcile.fluxcd.io/watch": "Enabled"}


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


def annotations(stage: Stage) -> dict[str, str]:
    return dict(stage.get(web())["metadata"].get("annotations", {}))


def template_annotations(stage: Stage) -> dict[str, str]:
    return dict(stage.template(web())["metadata"].get("annotations", {}))


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


@for_each_way
def test_a_commit_that_takes_a_rollout_back_rolls_once(
    stage: Stage, controller: Start, flux: Kustomization, options: Mapping[str, Any]
) -> None:
    deployed(flux, controller, **options)
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


@for_each_way
def test_a_source_that_is_pruned_with_its_last_use_rolls_once(
    stage: Stage, controller: Start, flux: Kustomization, options: Mapping[str, Any]
) -> None:
    deployed(flux, controller, **options)
    other = config("green", "other")
    revision = flux.repository.commit(other, web(uses="configmap/other"), without="configmap-app")
    flux.refresh()
    flux.at(revision)
    stage.api.wait_gone(stage.path(config()), timeout=60)
    stage.settled(web())
    flux.is_calm(other, web())
    assert rollouts(stage, web()) == 2


def test_copies_of_revisions_are_neither_pruned_nor_drift(
    stage: Stage, controller: Start, flux: Kustomization, installation: Installation
) -> None:
    """Where pods are rewritten when they are made; names in the template would be corrected."""
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


def test_what_our_commands_write_stays_and_flux_takes_away_what_kubectl_wrote(
    stage: Stage,
    controller: Start,
    flux: Kustomization,
    kubectl: Tool,
    restart: Command,
    hold: Command,
) -> None:
    """To Flux, whatever kubectl wrote is drift, also where the repository says nothing of it."""
    deployed(flux, controller)
    kubectl("annotate", "deployment/web", "reroll.dev/window=Mon", "-n", stage.namespace)
    kubectl("rollout", "restart", "deployment/web", "--namespace", stage.namespace)

    eventually(lambda: "reroll.dev/window" not in annotations(stage), "it takes it away")
    eventually(lambda: RESTARTED not in template_annotations(stage), "and the restart")
    stage.settled(web())

    assert restart("deployment/web", "--reason", "rotate connections").code == Exit.OK
    assert hold("deployment/web", "--reason", "incident 42").code == Exit.OK
    restarted = template_annotations(stage)[RESTARTED]
    flux.is_calm(web())
    assert template_annotations(stage)[RESTARTED] == restarted
    assert "incident 42" in annotations(stage)["reroll.dev/hold"]


def test_the_annotation_of_a_restart_strategy_is_no_drift(
    stage: Stage, controller: Start, flux: Kustomization
) -> None:
    manifest = web(annotations={"reroll.dev/strategy": "restart"})
    number = deployed(flux, controller, manifest)
    revision = flux.repository.commit(config("green"))
    flux.refresh()
    rolled_once(stage, web(), since=number)
    flux.at(revision)
    flux.is_calm(config(), web())
    assert RESTARTED in template_annotations(stage)
    assert rollouts(stage, web()) == 2


def test_a_value_that_flux_puts_in_after_the_build_rolls_once(
    stage: Stage, controller: Start, flux: Kustomization
) -> None:
    """Nobody commits: `postBuild` takes it from an object of the cluster."""
    values = build.configmap("values", {"hue": "blue"}, labels=WATCHED)
    stage.make(values)
    source = {"substituteFrom": [{"kind": "ConfigMap", "name": "values"}]}
    revision = flux.repository.commit(config("${hue}"), web())
    flux.make(postBuild=source)
    flux.at(revision)
    assert colour(stage) == "blue"
    stage.settled(web())
    alone(controller)
    number = stage.adopted(web())["n"]

    stage.change("ConfigMap", "values", hue="green")

    record = rolled_once(stage, web(), since=number)
    assert record["by"] == ["configmap/app"]
    assert colour(stage) == "green"
    flux.is_calm(config(), web())
    assert rollouts(stage, web()) == 2


def rolled_twice(flux: Kustomization, controller: Start, manifest: Object) -> int:
    """There are two revisions with a stamp; how many rollouts there were."""
    stage, number = flux.stage, deployed(flux, controller, manifest)
    for hue in ("green", "red"):
        revision = flux.repository.commit(config(hue))
        flux.refresh()
        number = int(stage.rolled(web(), since=number)["n"])
        flux.at(revision)
        stage.settled(web())
    return rollouts(stage, web())


@pytest.mark.parametrize(
    ("policy", "more"), [(MERGED, 1), ({}, 2)], ids=["Merge", "the default policy"]
)
def test_an_undo_by_kubectl_stays(
    stage: Stage,
    controller: Start,
    flux: Kustomization,
    kubectl: Tool,
    policy: Mapping[str, str],
    more: int,
) -> None:
    """By default Flux takes the stamp away that kubectl put back: one rollout more, no fight."""
    before = rolled_twice(flux, controller, web(annotations=policy))

    kubectl("rollout", "undo", "deployment/web", "--namespace", stage.namespace)

    eventually(lambda: stage.record(web())["why"] == "Undone", "it is declined")
    flux.more_rounds()
    stage.settled(web())
    flux.is_calm(web())
    assert stage.record(web())["declined"] == ["configmap/app"]
    assert (stage.stamp(web()) is not None) == (policy == MERGED)
    assert rollouts(stage, web()) == before + more


def test_the_example_of_the_guide_does_what_it_says(
    stage: Stage, controller: Start, flux: Kustomization
) -> None:
    page = shown("with-flux.md")
    deployment = page["web.yaml, in the repository"]
    revision = flux.repository.commit(config("blue"), deployment)
    source, own = page["repository.yaml"], page["kustomization.yaml"]["spec"]
    source["spec"] |= {"url": flux.repository.url}
    source["metadata"] = flux.source["metadata"]
    del own["sourceRef"]
    flux.make(source, **{**own, "targetNamespace": stage.namespace})
    flux.at(revision)
    stage.settled(deployment)
    alone(controller)
    number = stage.adopted(deployment)["n"]

    revision = flux.repository.commit(config("green"))
    flux.refresh()

    assert rolled_once(stage, deployment, since=number)["by"] == ["configmap/app"]
    flux.at(revision)
