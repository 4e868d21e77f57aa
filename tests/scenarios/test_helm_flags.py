"""Real helm 3 and 4 with the flags that people give: by force, waiting, going back by itself."""

from collections.abc import Callable

import pytest
from tests.scenarios.releases import QUIET, WEB, Release
from tests.scenarios.stage import Controller, Stage
from tests.support.tools import Tool

from reroll_dev.api import path_to

Start = Callable[..., Controller]
WAYS = {
    "helm 3, atomic and so waiting": ("helm", "--atomic"),
    "helm 4": ("helm4",),
    "helm 4, going back on failure and so waiting": ("helm4", "--rollback-on-failure"),
    "helm 4, by force against conflicts": ("helm4", "--force-conflicts"),
    "helm 4, by replacement": ("helm4", "--force-replace", "--server-side=false"),
}
FURTHER_WAYS = {
    "helm 3, by force": ("helm", "--force"),
    "helm 3, waiting": ("helm", "--wait"),
    "helm 4, waiting": ("helm4", "--wait"),
    "helm 4, by the names of helm 3": ("helm4", "--force", "--atomic", "--server-side=false"),
}
"""Each is a part of one above, or its name of before."""
EACH_WAY = [
    *(pytest.param(way, id=name) for name, way in WAYS.items()),
    *(pytest.param(way, id=name, marks=pytest.mark.slow) for name, way in FURTHER_WAYS.items()),
]
GOES_BACK = {"helm 3": ("helm", "--atomic"), "helm 4": ("helm4", "--rollback-on-failure")}


@pytest.fixture
def release(request: pytest.FixtureRequest, stage: Stage, way: tuple[str, ...]) -> Release:
    tool: Tool = request.getfixturevalue(way[0])
    return Release(stage, tool)


@pytest.mark.parametrize("way", EACH_WAY)
def test_each_upgrade_is_one_rollout_and_an_upgrade_of_nothing_is_none(
    stage: Stage, controller: Start, release: Release, way: tuple[str, ...]
) -> None:
    controller(*QUIET, wait="watching")
    stage.adopted(WEB)
    count = release.settled()
    values: dict[str, str] = {}
    for change in ({"greeting": "good day"}, {"greeting": "farewell", "tag": "2"}, {}):
        values |= change
        release.upgrade(values, *way[1:])
        count += bool(change)
        assert release.settled(count) == count, change


@pytest.mark.parametrize("way", GOES_BACK.values(), ids=GOES_BACK)
def test_an_upgrade_that_fails_and_goes_back_is_one_rollout_each_way(
    stage: Stage, controller: Start, release: Release, way: tuple[str, ...]
) -> None:
    controller(*QUIET, wait="watching")
    stage.adopted(WEB)
    before = release.settled()
    with pytest.raises(AssertionError, match="ended with 1"):
        release.upgrade({"greeting": "bad", "fail": "unready"}, *way[1:], "--timeout", "8s")
    assert release.settled(before + 2) == before + 2
    assert stage.api.get(path_to("ConfigMap", "shop", stage.namespace))["data"] == {
        "greeting": "hello"
    }
    # What came back is what is recorded: the next change rolls, and once.
    release.upgrade({"greeting": "good day"})
    assert release.settled(before + 3) == before + 3
