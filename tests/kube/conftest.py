"""What the tests of this layer share: a client of the control plane, and ConfigMaps."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from tests.kube.follow import CONFIGMAPS, connect

from reroll.kube import wire
from reroll.kube.client import Client


@pytest.fixture
async def client(cluster) -> AsyncIterator[Client]:
    """As the cluster's administrator."""
    async with connect(cluster.kubeconfig("admin")) as made:
        yield made


@pytest.fixture
def put(client, namespace):
    """Make a ConfigMap in the test's namespace, or change it."""

    async def write(name: str, value: str = "1", **labels: str) -> None:
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name, "labels": labels},
            "data": {"key": value},
        }
        await client.send(wire.apply(CONFIGMAPS, namespace, name, body, force=True))

    return write


@pytest.fixture
def remove(client, namespace):
    async def gone(name: str) -> None:
        await client.send(wire.delete(CONFIGMAPS, namespace, name))

    return gone


@pytest.fixture
async def sockets():
    """Every socket that is connected during the test; `-1` once it is closed."""
    loop, made = asyncio.get_running_loop(), []
    connect_socket = loop.create_connection

    async def remembered(*args, **more):
        transport, protocol = await connect_socket(*args, **more)
        made.append(transport.get_extra_info("socket"))
        return transport, protocol

    loop.create_connection = remembered
    return lambda: [each.fileno() for each in made]


@pytest.fixture
def asked(client, monkeypatch):
    """Every request that the client sends."""
    requests, send = [], client.send

    async def noted(request, **more):
        requests.append(request)
        return await send(request, **more)

    monkeypatch.setattr(client, "send", noted)
    return requests
