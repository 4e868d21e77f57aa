"""AnalysisRuns of gates on a real API server, one look after the other.

Nobody carries these out: the label of their template is for another instance of Argo Rollouts, and
the test writes what would come of them.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.kube.fakes import StillClock
from tests.kube.follow import connect
from tests.support import build
from tests.support.faultproxy import FaultProxy
from tests.support.faults import Answer as Answering
from tests.support.faults import Match
from tests.support.tools import kubeconfig_of

from reroll.core.model.gates import Analysis, Answer, Gate, Measured, Phase
from reroll.core.model.key import Key
from reroll.core.tables import rights
from reroll.engine.gates import GateId
from reroll.engine.ports import Roll
from reroll.features.gates.analyses import NOT_SERVED, Analyses
from reroll.features.gates.analysis_run import run_name
from reroll_dev.api import Api, path_to
from reroll_dev.cluster import DevCluster

ARGO = "argoproj.io/v1alpha1"
INSTANCE = {"argo-rollouts.argoproj.io/controller-instance-id": "nobody"}
GATE = Gate("g", Analysis("t"), timedelta(minutes=1), timedelta(minutes=10), per_workload=True)
ALL = rights.cluster((), sources=(), features={rights.Feature.ANALYSIS})


class Looking:
    """A workload that waits for a gate, and whoever looks at its run."""

    def __init__(self, api: Api, namespace: str) -> None:
        self.api, self.clock = api, StillClock()
        web = api.create(build.deployment("web", replicas=0), namespace)
        self.key = Key("Deployment", namespace, "web")
        self.one = GateId("g", namespace, self.key, Phase.WAITING)
        self.roll = Roll("apps/v1", "Deployment", web["metadata"]["uid"], 7)
        self.path = path_to("AnalysisRun", run_name(self.one, self.key), namespace, version=ARGO)
        metric = {"name": "m", "provider": {"web": {"url": "http://127.0.0.1:1"}}}
        template = {"metadata": {"name": "t", "labels": INSTANCE}, "spec": {"metrics": [metric]}}
        api.create({"apiVersion": ARGO, "kind": "AnalysisTemplate", **template}, namespace)

    def roll_of(self, _: Key) -> Roll:
        return self.roll

    @asynccontextmanager
    async def by(self, kubeconfig: Path) -> AsyncIterator[None]:
        """Another process."""
        port: Any = self
        async with connect(kubeconfig) as client:
            self.analyses = Analyses(client, self.clock, port)
            yield

    async def look(self) -> Measured | float:
        assert isinstance(GATE.question, Analysis)
        return await self.analyses.measure(GATE, GATE.question, self.one)

    async def answer(self) -> Measured:
        found = await self.look()
        assert isinstance(found, Measured)
        return found

    async def begun(self) -> str:
        """The uid of its run, which is under way."""
        while not isinstance(found := await self.look(), float) or found == 0:
            assert not isinstance(found, Measured), found
        return self.uid

    @property
    def uid(self) -> str:
        return str(self.api.get(self.path)["metadata"]["uid"])

    def is_over(self, phase: str) -> None:
        results = [{"name": "m", "phase": phase, "count": 1}]
        ended = f"{self.clock.now():%Y-%m-%dT%H:%M:%SZ}"
        status = {"phase": phase, "completedAt": ended, "metricResults": results}
        self.api.patch(self.path, {"status": status})


@pytest.fixture
def looking(rollouts: DevCluster, api: Api, namespace: str) -> Looking:
    return Looking(api, namespace)


@pytest.fixture
def admin(cluster: DevCluster) -> Path:
    return kubeconfig_of(cluster, "admin")


async def test_a_run_is_answered_for_once_and_the_next_takes_its_place(
    looking: Looking, admin: Path
) -> None:
    async with looking.by(admin):
        first = await looking.begun()
        assert await looking.look() == 1.0
        looking.clock.move(40)
        assert await looking.look() == 8.0
        looking.is_over("Failed")
        assert (await looking.answer()).answer is Answer.CLOSED
        assert await looking.begun() != first
        looking.is_over("Successful")
        assert (await looking.answer()).answer is Answer.OPEN


async def test_another_process_goes_on_with_what_is_under_way_or_has_just_ended(
    looking: Looking, admin: Path
) -> None:
    async with looking.by(admin):
        first = await looking.begun()
    async with looking.by(admin):
        assert await looking.begun() == first
        looking.is_over("Failed")
    async with looking.by(admin):
        assert (await looking.answer()).answer is Answer.CLOSED
        assert looking.uid == first
    looking.clock.move(GATE.every.total_seconds())
    async with looking.by(admin):  # That is no answer to a question of now.
        assert await looking.begun() != first


async def test_a_run_for_an_earlier_roll_answers_nothing(looking: Looking, admin: Path) -> None:
    async with looking.by(admin):
        first = await looking.begun()
        looking.is_over("Successful")
        looking.roll = looking.roll._replace(number=8)
        assert await looking.begun() != first


async def test_a_run_that_is_not_over_in_time_is_deleted(looking: Looking, admin: Path) -> None:
    async with looking.by(admin):
        first = await looking.begun()
        looking.clock.move(GATE.timeout.total_seconds())
        found = await looking.answer()
        assert (found.answer, "nobody took up" in found.why) == (Answer.UNKNOWN, True)
        looking.api.wait_gone(looking.path)
        assert await looking.begun() != first


async def test_what_nobody_waits_for_any_more_is_stopped_and_what_is_over_is_kept(
    looking: Looking, admin: Path
) -> None:
    async with looking.by(admin):
        await looking.begun()
        await looking.analyses.leave(looking.one)
        looking.api.wait_gone(looking.path)
        kept = await looking.begun()
        looking.is_over("Failed")
        await looking.answer()
        await looking.analyses.leave(looking.one)
        assert looking.uid == kept


async def test_a_run_of_somebody_else_is_left_alone(looking: Looking, admin: Path) -> None:
    async with looking.by(admin):
        await looking.begun()
        label = {"metadata": {"labels": {"reroll.dev/gate": None}}}
        looking.api.patch(looking.path, label)
        assert "that is not ours; delete it" in (await looking.answer()).why
        assert looking.uid


@pytest.mark.parametrize("verb", ["create", "get"])
async def test_a_right_that_is_missing_is_told(
    looking: Looking, kubeconfig_for: Callable[..., Path], verb: str
) -> None:
    rules = [{**one, "verbs": [each for each in one["verbs"] if each != verb]} for one in ALL]
    async with looking.by(kubeconfig_for([one for one in rules if one["verbs"]], None)):
        found = await looking.answer()
    assert found.answer is Answer.UNKNOWN
    assert f"cannot {verb} resource" in found.why
    assert "grant it: the chart's roles have it for such gates" in found.why


async def test_without_argo_rollouts_it_is_told_what_to_install(
    looking: Looking, fault_proxy: FaultProxy
) -> None:
    fault_proxy.inject(Answering(404), Match(path="/apis/argoproj.io"), times=None)
    async with looking.by(fault_proxy.kubeconfig()):
        assert (await looking.answer()).why == NOT_SERVED
    fault_proxy.clear()
    fault_proxy.inject(Answering(500), Match(path="/apis/argoproj.io"), times=None)
    async with looking.by(fault_proxy.kubeconfig()):
        assert (await looking.answer()).answer is Answer.UNKNOWN
