"""Contenders for one Lease on the real API server."""

import asyncio
import json
from contextlib import asynccontextmanager

import pytest
from tests.kube.follow import connect, eventually
from tests.support.faults import Answer, Delay, DropResponse, Late, Match, Silence

from reroll.clock import SystemClock
from reroll.kube import errors, wire
from reroll.kube.election import Timing
from reroll.kube.lease import Leadership
from reroll.kube.resources import LEASES

QUICK = Timing(lease_duration=1.0, renew_deadline=0.7, retry_period=0.1)
PATIENT = Timing(lease_duration=90.0, renew_deadline=60.0, retry_period=0.1)
NAME = "reroll"


class Contender:
    def __init__(self, client, namespace, identity, **more):
        self.changes = []
        self.leadership = Leadership(
            client,
            SystemClock(),
            namespace,
            NAME,
            identity,
            on_started=lambda: self.changes.append("started"),
            on_stopped=lambda: self.changes.append("stopped"),
            **{"timing": PATIENT, **more},
        )

    @property
    def leads(self):
        return self.leadership.is_leader


@asynccontextmanager
async def running(client, namespace, identity, **more):
    contender = Contender(client, namespace, identity, **more)
    task = asyncio.create_task(contender.leadership.run())
    try:
        yield contender
    finally:
        task.cancel()
        (ended,) = await asyncio.gather(task, return_exceptions=True)
        assert isinstance(ended, asyncio.CancelledError), ended


@pytest.fixture
def lease(client, namespace):
    async def read():
        return json.loads(await client.send(wire.get(LEASES, namespace, NAME)))["spec"]

    return read


@pytest.fixture
async def shaky(fault_proxy):
    async with connect(fault_proxy.kubeconfig()) as client:
        yield client


async def test_the_first_leads_and_the_second_waits(client, namespace, lease):
    async with running(client, namespace, "ann") as ann:
        await eventually(lambda: ann.leads)
        async with running(client, namespace, "bob") as bob:
            await eventually(lambda: bob.leadership.holder == "ann")
            renewed = (await lease())["renewTime"]
            while (await lease())["renewTime"] == renewed:
                await asyncio.sleep(0.01)
            assert (ann.leads, bob.leads) == (True, False)

    assert ann.changes == ["started", "stopped"]
    assert bob.changes == []


async def test_on_the_way_out_the_lease_is_given_up_and_taken_at_once(client, namespace, lease):
    async with running(client, namespace, "bob") as bob:
        await eventually(lambda: bob.leads)
        async with running(client, namespace, "ann") as ann:
            await eventually(lambda: ann.leadership.holder == "bob")
    assert (await lease())["holderIdentity"] == ""

    async with running(client, namespace, "ann") as ann:
        await eventually(lambda: ann.leads)
        taken = await lease()

    assert (taken["holderIdentity"], taken["leaseTransitions"]) == ("ann", 1)
    assert taken["leaseDurationSeconds"] == 90


async def test_a_holder_that_is_cut_off_stops_before_the_other_starts(
    client, fault_proxy, shaky, namespace
):
    async with running(shaky, namespace, "ann", timing=QUICK) as ann:
        await eventually(lambda: ann.leads)
        async with running(client, namespace, "bob", timing=QUICK) as bob:
            await asyncio.to_thread(fault_proxy.refuse)
            both = []
            while not bob.leads:
                both.append(ann.leads and bob.leads)
                await asyncio.sleep(0.005)

            assert not any(both)
            assert not ann.leads
            # It may have lost it before, to a server that took its time.
            assert ann.changes[-1] == "stopped"
            await eventually(lambda: ann.leadership.problem is not None)
            assert f"cannot hold the lease {namespace}/{NAME}" in ann.leadership.problem


async def test_a_holder_whose_server_is_silent_stops_by_its_own_clock(
    fault_proxy, shaky, namespace
):
    async with running(shaky, namespace, "ann", timing=QUICK) as ann:
        await eventually(lambda: ann.leads)
        await asyncio.to_thread(fault_proxy.inject, Silence(), Match(path="leases"), times=None)
        await eventually(lambda: ann.changes[-1] == "stopped")
        assert not ann.leads
        await asyncio.to_thread(fault_proxy.clear)
        await eventually(lambda: ann.leads)


@pytest.mark.parametrize("fault", [Late(2.0), Delay(2.0)], ids=["request", "answer"])
async def test_a_slow_server_costs_nobody_the_lead(fault_proxy, shaky, namespace, fault):
    """For longer than the Lease lasts, each renewal takes more than half of it."""
    timing, renewals = Timing.of(3.5), Match("PATCH", path="leases")
    async with running(shaky, namespace, "ann", timing=timing) as ann:
        await eventually(lambda: ann.leads)
        async with running(shaky, namespace, "bob", timing=timing) as bob:
            await eventually(lambda: bob.leadership.holder == "ann")
            await asyncio.to_thread(fault_proxy.inject, fault, times=None)
            await asyncio.to_thread(fault_proxy.wait_for, type(fault).__name__, renewals, 12)

            assert (ann.changes, bob.changes) == (["started"], [])
            assert ann.leadership.problem is None
            await asyncio.to_thread(fault_proxy.clear)


async def test_the_lease_is_given_up_while_renewals_are_not_answered_yet(
    fault_proxy, shaky, namespace, lease
):
    renewals = Match("PATCH", path="leases")
    async with running(shaky, namespace, "ann") as ann:
        await eventually(lambda: ann.leads)
        await asyncio.to_thread(fault_proxy.inject, Delay(30.0), renewals, times=3)
        await asyncio.to_thread(fault_proxy.wait_for, "Delay", renewals, 3)

    assert (await lease())["holderIdentity"] == ""


async def test_a_leader_waits_for_nobody_else_to_be_answered(fault_proxy, namespace, lease):
    async with connect(fault_proxy.kubeconfig(), connections=1) as crowded:
        stuck = Match(path="pods/stuck$")
        await asyncio.to_thread(fault_proxy.inject, Silence(), stuck)
        get = wire.get(wire.PODS, namespace, "stuck")
        other = asyncio.create_task(crowded.send(get))
        await asyncio.to_thread(fault_proxy.wait_for, "Silence", stuck)
        async with running(crowded, namespace, "ann") as ann:
            await eventually(lambda: ann.leads)
            renewed = (await lease())["renewTime"]
            while (await lease())["renewTime"] == renewed:
                await asyncio.sleep(0.01)
        other.cancel()
        await asyncio.gather(other, return_exceptions=True)


@pytest.mark.parametrize("fault", [Answer(500), Answer(429, retry_after=1), DropResponse()])
async def test_one_bad_answer_does_not_cost_the_lead(fault_proxy, shaky, namespace, lease, fault):
    async with running(shaky, namespace, "ann") as ann:
        await eventually(lambda: ann.leads)
        await asyncio.to_thread(fault_proxy.inject, fault, Match(path="leases"))
        await asyncio.to_thread(fault_proxy.wait_for, type(fault).__name__)
        renewed = (await lease())["renewTime"]
        while (await lease())["renewTime"] == renewed:
            await asyncio.sleep(0.01)
        assert ann.changes == ["started"]


async def test_a_lease_that_someone_deleted_is_made_again(client, namespace, lease):
    async with running(client, namespace, "ann") as ann:
        await eventually(lambda: ann.leads)
        await client.send(wire.delete(LEASES, namespace, NAME))
        while True:
            try:
                assert (await lease())["holderIdentity"] == "ann"
                break
            except errors.NotFound:
                await asyncio.sleep(0.01)
        assert ann.changes == ["started"]


async def test_a_lease_that_someone_took_is_lost(client, namespace):
    async with running(client, namespace, "ann") as ann:
        await eventually(lambda: ann.leads)
        theft = {"spec": {"holderIdentity": "eve", "leaseDurationSeconds": 3600}}
        await client.send(wire.merge_patch(LEASES, namespace, NAME, theft))
        await eventually(lambda: ann.changes == ["started", "stopped"])
        assert (ann.leads, ann.leadership.holder) == (False, "eve")


async def test_what_others_put_on_the_lease_stays(client, namespace):
    async with running(client, namespace, "ann") as ann:
        await eventually(lambda: ann.leads)
        label = {"metadata": {"labels": {"team": "shop"}}}
        await client.send(wire.merge_patch(LEASES, namespace, NAME, label))
        before = json.loads(await client.send(wire.get(LEASES, namespace, NAME)))
        while True:
            after = json.loads(await client.send(wire.get(LEASES, namespace, NAME)))
            if after["spec"]["renewTime"] != before["spec"]["renewTime"]:
                break
            await asyncio.sleep(0.01)

    assert after["metadata"]["labels"] == {"team": "shop"}
    assert after["spec"]["acquireTime"] == before["spec"]["acquireTime"]


async def test_many_contenders_never_lead_together(client, namespace):
    contenders = [Contender(client, namespace, f"c{number}") for number in range(5)]
    tasks = [asyncio.create_task(each.leadership.run()) for each in contenders]
    led = []
    while tasks:
        await eventually(lambda: any(each.leads for each in contenders))
        leading = [index for index, each in enumerate(contenders) if each.leads]
        assert len(leading) == 1
        led.append(contenders.pop(leading[0]).leadership.identity)
        task = tasks.pop(leading[0])
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    assert sorted(led) == [f"c{number}" for number in range(5)]


async def test_a_missing_permission_is_told(cluster, namespace):
    kubeconfig = cluster.kubeconfig("alice")
    async with connect(kubeconfig) as client, running(client, namespace, "ann") as ann:
        await eventually(lambda: ann.leadership.problem is not None)
        assert "cannot get resource" in ann.leadership.problem
        assert not ann.leads
