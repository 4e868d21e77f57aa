"""Faults between the controller and the API server make no change and no verdict of their own."""

import time
from pathlib import Path

import pytest
from tests.scenarios.propagating import (
    Start,
    all_healthy,
    begun,
    change,
    judged,
    rolled,
    sick,
    told,
    verdict,
    web,
)
from tests.scenarios.stage import Stage, eventually
from tests.support import build
from tests.support.build import Object
from tests.support.faultproxy import FaultProxy
from tests.support.faults import ALL_OF_THEM, Answer, Cut, DropResponse, Fault, Match, WatchError

WATCH = Match(path="/(configmaps|deployments)$", watch=True, query=ALL_OF_THEM)
LIST = Match(method="GET", path="/(configmaps|deployments)$", watch=False)
GET = Match(method="GET", path="/configmaps/app$")
PODS = Match(method="GET", path="/pods$")
PATCH = Match(method="PATCH", path="/deployments/")
FAULTS: dict[str, tuple[tuple[Fault, Match], ...]] = {
    "watches that are cut and too old": (
        (Cut(in_event=1), WATCH), (WatchError(410), WATCH), (Answer(410), WATCH),
    ),
    "reads that fail": ((Cut(in_event=1), WATCH), (Answer(500), LIST), (Answer(500), GET)),
    "reads that are forbidden": ((Cut(in_event=1), WATCH), (Answer(403), LIST), (Answer(403), GET)),
    "a change of etcd's leader": ((Answer(503), LIST), (Answer(500), PATCH), (Answer(504), GET)),
    "writes whose answer is lost": ((DropResponse(), PATCH),),
}  # fmt: skip


@pytest.fixture
def shaky(fault_proxy: FaultProxy, controller: Start, reroll_kubeconfig: Path) -> Start:
    """A controller whose way to the API server leads through the fault proxy."""
    kubeconfig = fault_proxy.kubeconfig(reroll_kubeconfig)
    return lambda *flags, **more: controller(*flags, kubeconfig=kubeconfig, **more)


def slow(number: int) -> Object:
    late = {"dev.reroll.dev/ready-after": "2s"}
    return web(number, wave=str(number), template_annotations=late)


@pytest.mark.thorough
@pytest.mark.parametrize("fault", FAULTS)
def test_a_spread_comes_to_its_end_once_after(
    stage: Stage, shaky: Start, fault_proxy: FaultProxy, fault: str
) -> None:
    webs = [slow(number) for number in range(3)]
    stage.make(build.configmap(), *webs)
    one = begun(stage, shaky, webs)

    change(stage, "second")
    eventually(lambda: rolled(stage, webs[:1]), "the first rolls")
    for what, match in FAULTS[fault]:
        fault_proxy.inject(what, match, times=2)
    all_healthy(stage, webs)

    assert [len(stage.revisions(each)) for each in webs] == [2, 2, 2]
    assert not one.said("Failing")
    assert not one.said("Stuck")


def test_an_api_server_that_is_away_makes_no_verdict(
    stage: Stage, shaky: Start, fault_proxy: FaultProxy
) -> None:
    webs = [web(0, deadline="20s"), web(1, wave="1")]
    stage.make(build.configmap(), *webs)
    one = begun(stage, shaky, webs)
    change(stage, "second")
    eventually(lambda: rolled(stage, webs[:1]), "the first rolls")

    fault_proxy.refuse()
    time.sleep(3)
    fault_proxy.accept()

    all_healthy(stage, webs)
    assert not one.said("Failing")
    assert [len(stage.revisions(each)) for each in webs] == [2, 2]


@pytest.mark.thorough
@pytest.mark.parametrize("status", [403, 500])
def test_pods_that_cannot_be_read_make_no_verdict(
    stage: Stage, shaky: Start, fault_proxy: FaultProxy, status: int
) -> None:
    webs = [web(0, on_failure="rollback"), web(1, wave="1")]
    stage.make(build.configmap())
    sick(stage, webs[0])
    stage.make(webs[1])
    one = begun(stage, shaky, webs)
    fault_proxy.inject(Answer(status), PODS, times=None)

    change(stage, "second")
    fault_proxy.wait_for("Answer", PODS)
    stage.quiet(webs[0])

    assert verdict(stage, webs[0]) == ""
    assert rolled(stage, webs[1:]) == []
    assert not one.said("Failing")
    assert not one.said("Stuck")
    fault_proxy.clear()
    judged(stage, webs[0], "failed")
    told(stage, webs[1], "Stopped", "web-0")
