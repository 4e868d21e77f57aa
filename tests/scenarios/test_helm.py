"""Real helm: an upgrade or rollback of a chart is one rollout, or none if nothing changed."""

from collections.abc import Callable

import pytest
from tests.scenarios.releases import QUIET, WEB, Release
from tests.scenarios.stage import Controller, Stage, eventually
from tests.support.tools import Tool

UPGRADES = {
    "nothing": (0, {}),
    "the ConfigMap": (1, {"greeting": "good day"}),
    "the Secret": (1, {"password": "correct horse"}),
    "the image": (1, {"tag": "2"}),
    "the ConfigMap and the image": (1, {"greeting": "good day", "tag": "2"}),
    "all of it": (1, {"greeting": "good day", "password": "correct horse", "tag": "2"}),
}


@pytest.fixture
def release(stage: Stage, helm: Tool) -> Release:
    return Release(stage, helm)


@pytest.mark.thorough
@pytest.mark.parametrize(("rollouts", "values"), UPGRADES.values(), ids=UPGRADES.keys())
def test_an_upgrade_that_changes(
    stage: Stage,
    controller: Callable[..., Controller],
    release: Release,
    rollouts: int,
    values: dict[str, str],
) -> None:
    controller(*QUIET, wait="watching")
    stage.adopted(WEB)
    before = release.settled()

    release.upgrade(values)
    assert release.settled(before + rollouts) == before + rollouts
    release.rollback(1)
    assert release.settled(before + 2 * rollouts) == before + 2 * rollouts
    release.upgrade(values, "--force")
    last = before + 3 * rollouts
    assert release.settled(last) == last

    # Whatever helm left of our record, the next change is noticed.
    number = stage.adopted(WEB)["n"]
    release.upgrade({**values, "greeting": "farewell"})
    assert stage.rolled(WEB, since=number)["why"] == "ConfigChanged"
    assert release.settled(last + 1) == last + 1


@pytest.mark.parametrize("down", [False, True], ids=["runs", "is down"])
def test_an_upgrade_by_force_loses_no_change_of_a_workload_that_never_rolled(
    stage: Stage, controller: Callable[..., Controller], release: Release, down: bool
) -> None:
    """It writes the whole Deployment: its record is gone, and its template is what it was."""
    one = controller(*QUIET, wait="watching")
    number = stage.adopted(WEB)["n"]
    stage.settled(WEB)  # A status that is written meanwhile is a conflict for helm.
    if down:
        one.stop()

    release.upgrade({"greeting": "good day"}, "--force")
    if down:
        one.start(wait="watching")

    assert stage.rolled(WEB, since=number)["why"] == "ConfigChanged"


@pytest.mark.thorough
@pytest.mark.parametrize("what", ["the ConfigMap", "the image", "all of it"])
def test_an_upgrade_while_the_controller_is_down_that_changes(
    stage: Stage, controller: Callable[..., Controller], release: Release, what: str
) -> None:
    rollouts, values = UPGRADES[what]
    one = controller(*QUIET, wait="watching")
    stage.adopted(WEB)
    before = release.settled()
    one.kill()

    release.upgrade(values)
    stage.settled(WEB)
    one.start(wait="watching")

    eventually(lambda: release.rollouts > before, "it rolls")
    # Helm writes all within a second, and seconds are all that tells afterwards: in doubt, roll.
    in_doubt = len(values) > 1
    assert release.settled() - before in {rollouts, rollouts + in_doubt}
