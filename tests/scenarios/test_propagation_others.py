"""What becomes of a spread when workloads in it leave, cannot roll, or are changed by others."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.scenarios.custom import config
from tests.scenarios.propagating import (
    Start,
    all_healthy,
    begun,
    change,
    judged,
    pinned,
    planned,
    rolled,
    sick,
    told,
    trial,
    verdict,
    web,
)
from tests.scenarios.rolling import Command
from tests.scenarios.stage import Stage, again, alone, eventually
from tests.support import build
from tests.support.tools import Tool

from reroll.core.tables.kinds import KINDS
from reroll_dev.api import path_to

Object = build.Object
Leave = Callable[[Stage, Object], object]


def patched(spec: dict[str, object]) -> Leave:
    return lambda stage, one: stage.api.patch(stage.path(one), {"spec": spec})


LEAVES: dict[str, Leave] = {
    "deleted": lambda stage, one: stage.api.delete(stage.path(one)),
    "opted out": lambda stage, one: stage.annotate(one, enabled="false"),
    "scaled to none": patched({"replicas": 0}),
    "paused": patched({"paused": True}),
}


def hanging(stage: Stage, one: Object) -> None:
    """Make it; it hangs with the next content, long before its deadline."""
    sick(stage, one)
    stage.api.patch(stage.path(one), {"spec": {"progressDeadlineSeconds": 600}})


def first_that_hangs(stage: Stage) -> list[Object]:
    """The first of three does."""
    webs = [web(number, wave=str(number)) for number in range(3)]
    stage.make(build.configmap(), *webs[1:])
    hanging(stage, webs[0])
    return webs


def test_the_spread_goes_on_whenever_the_one_under_way_leaves_it(
    stage: Stage, controller: Start
) -> None:
    """Four hang, one after the other: each is left behind in another way."""
    webs = [web(number, wave=str(number)) for number in range(len(LEAVES) + 1)]
    stage.make(build.configmap(), webs[-1])
    for each in webs[:-1]:
        hanging(stage, each)
    begun(stage, controller, webs)
    change(stage, "second")

    for number, (how, leave) in enumerate(LEAVES.items()):
        here, later = webs[number], webs[number + 1 :]
        eventually(lambda here=here: rolled(stage, [here]), f"the one rolls that will be {how}")
        assert rolled(stage, later) == []
        leave(stage, here)

    all_healthy(stage, webs[-1:])


def test_the_spread_goes_on_when_the_only_one_that_asked_for_care_is_deleted(
    stage: Stage, controller: Start, plan: Command
) -> None:
    first, *rest = (web(number, **({"wave": "-1"} if not number else {})) for number in range(3))
    stage.make(build.configmap(), *rest)
    hanging(stage, first)
    begun(stage, controller, [first, *rest])
    change(stage, "second")
    eventually(lambda: rolled(stage, [first]), "the first rolls")
    assert "wave -1" in planned(plan, "AfterOthers", "web-1", "web-2")

    stage.api.delete(stage.path(first))

    for each in rest:
        stage.rolled(each, since=0)


def test_the_spread_goes_on_when_the_namespace_of_the_one_under_way_goes(
    stage: Stage, controller: Start, another: Callable[..., Stage], tmp_path: Path
) -> None:
    elsewhere = another()
    names = f"kubernetes.io/metadata.name in ({stage.namespace}, {elsewhere.namespace})"
    first, second = web(0), web(1)
    for one in (stage, elsewhere):
        one.make(build.configmap())
    hanging(elsewhere, first)
    stage.make(second)
    file = config(tmp_path, {"limits": {"cluster": 1}})
    one = alone(controller, "--namespace-selector", names, "--config", str(file))
    elsewhere.adopted(first)
    stage.adopted(second)
    change(elsewhere, "second")
    eventually(lambda: rolled(elsewhere, [first]), "the first rolls")

    change(stage, "second")
    stage.quiet(second)

    stage.api.delete(path_to("Namespace", elsewhere.namespace))

    stage.rolled(second, since=0)
    assert not one.said("Failing")


# Who cannot roll

CANNOT: dict[str, tuple[str, dict[str, object]]] = {
    "held": ("Deployment", {"hold": "true"}),
    "paused": ("Deployment", {"spec": {"paused": True}}),
    "empty": ("Deployment", {"replicas": 0}),
    "OnDelete": ("StatefulSet", {"spec": {"updateStrategy": {"type": "OnDelete"}}}),
    "partitioned": (
        "StatefulSet",
        {"spec": {"updateStrategy": {"rollingUpdate": {"partition": 1}}}},
    ),
    "suspended": ("CronJob", {"spec": {"suspend": True}}),
}


def test_those_in_the_first_wave_block_nobody_that_cannot_roll(
    stage: Stage, controller: Start
) -> None:
    kinds = {one.name: one for one in KINDS}
    firsts = [web(why.lower(), of=kinds[name], **more) for why, (name, more) in CANNOT.items()]
    second = web("second", wave="1")
    stage.make(build.configmap(), *firsts, second)
    one = begun(stage, controller, [second])
    for each in firsts:
        stage.adopted(each)

    change(stage, "second")

    all_healthy(stage, [second])
    assert [verdict(stage, each) for each in firsts] == [""] * len(CANNOT)
    assert not any(one.said("Healthy", each["metadata"]["name"]) for each in firsts)


def test_one_that_was_sick_before_rolls_first_and_blames_nobody(
    stage: Stage, controller: Start
) -> None:
    broken = web("broken", wave="5", spec={"progressDeadlineSeconds": 2})
    broken["spec"]["template"]["metadata"]["annotations"] = {build.FAIL: "unready"}
    stage.make(broken)
    hangs, *rest = first_that_hangs(stage)
    begun(stage, controller, [hangs, *rest])
    stage.adopted(broken)
    stage.api.wait_for(
        stage.path(broken), lambda seen: "ProgressDeadlineExceeded" in str(seen["status"])
    )

    change(stage, "second")

    # Its own wave is far, and the first one hangs.
    stage.rolled(broken, since=0)
    assert trial(stage, broken)["sick"] is True
    assert rolled(stage, rest) == []
    stage.api.delete(stage.path(hangs))
    all_healthy(stage, rest)
    assert verdict(stage, broken) == ""


# Two sources


@pytest.mark.parametrize("revisions", ["true", "false"])
def test_one_that_waits_for_two_changes_of_which_one_was_stopped(
    stage: Stage, controller: Start, revisions: str
) -> None:
    bad = web("bad", uses=["configmap/other"], wave="-1", revisions="false")
    both = web("both", uses=["configmap/app", "configmap/other"], revisions=revisions)
    stage.make(build.configmap(), build.configmap("other"))
    sick(stage, bad)
    stage.make(both)
    begun(stage, controller, [bad, both])
    if revisions == "true":
        pinned(stage, [both])
    before = stage.record(both)
    change(stage, "broken", "other")
    judged(stage, bad, "failed")
    told(stage, both, "Stopped", "web-bad")

    change(stage, "good")

    if revisions == "false":
        stage.quiet(both)
        assert stage.record(both) == before
        return
    after = stage.rolled(both, since=before["n"])
    assert after["by"] == ["configmap/app"]
    assert after["s"]["configmap/other"] == before["s"]["configmap/other"]
    assert after["s"]["configmap/app"] != before["s"]["configmap/app"]
    pin = next(part for part in before["pins"].replace(",", " ").split() if "other" in part)
    assert pin in after["pins"]


# Another writer


def is_a_second_past(stage: Stage, one: Object) -> bool:
    """Whoever writes now does so later than the last write, as `managedFields` tell it."""
    times = [entry["time"] for entry in stage.get(one)["metadata"]["managedFields"]]
    return f"{datetime.now(UTC) - timedelta(seconds=1):%Y-%m-%dT%H:%M:%SZ}" > max(times)


@pytest.mark.parametrize("when", ["while it runs", "before a restart", "while none runs"])
def test_a_rollout_of_another_writer_is_not_our_verdict(
    stage: Stage, controller: Start, kubectl: Tool, when: str
) -> None:
    webs = first_that_hangs(stage)
    one = begun(stage, controller, webs)
    change(stage, "second")
    eventually(lambda: rolled(stage, webs[:1]), "the first rolls")
    if when == "while none runs":
        one.kill()
        eventually(lambda: is_a_second_past(stage, webs[0]), "another second")

    kubectl("-n", stage.namespace, "set", "image", "deployment/web-0", "main=example.invalid/app:2")
    if when == "while none runs":
        one.start(wait="watching")
    judged(stage, webs[0], "unjudged")
    if when == "before a restart":
        again(one)
    stage.api.patch(stage.path(webs[0]), {"spec": {"progressDeadlineSeconds": 2}})

    all_healthy(stage, webs[1:])
    assert not one.said("Failing")
    assert verdict(stage, webs[0]) == "unjudged"


def test_a_workload_that_gets_sick_later_is_never_marked(stage: Stage, controller: Start) -> None:
    webs = [web(number, wave=str(number)) for number in range(2)]
    stage.make(build.configmap(), *webs)
    one = begun(stage, controller, webs)
    change(stage, "second")
    all_healthy(stage, webs)
    before = stage.record(webs[0])

    stage.api.patch(stage.path(webs[0]), {"spec": {"progressDeadlineSeconds": 2}})
    [pod] = stage.pods(webs[0])
    path = path_to("Pod", pod["metadata"]["name"], stage.namespace)
    stage.api.patch(path, {"metadata": {"annotations": {build.FAIL: "unready"}}})
    eventually(
        lambda: not stage.get(webs[0])["status"].get("availableReplicas"), "it is not available"
    )

    stage.quiet(webs[0])
    again(one)
    stage.quiet(webs[0])
    assert stage.record(webs[0]) == before
    change(stage, "third")
    sick_now = stage.rolled(webs[0], since=before["n"])
    assert sick_now["trial"]["sick"] is True
