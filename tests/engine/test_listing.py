"""A listing: what it keeps, and for how long."""

import gc
import weakref
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.kube.follow import connect
from tests.support import build

from reroll.clock import SystemClock
from reroll.engine.listing import Listing
from reroll.kube.client import Client
from reroll.kube.view import View
from reroll.settings.table import Settings

pytestmark = pytest.mark.cluster


@pytest.fixture
async def client(cluster: Any) -> AsyncIterator[Client]:
    async with connect(cluster.kubeconfig("admin")) as made:
        yield made


async def test_nothing_of_a_listing_outlives_it(client: Client, api: Any, namespace: str) -> None:
    annotations = {"reroll.dev/enabled": "true"}
    for one in (build.configmap(), build.deployment(uses="configmap/app", annotations=annotations)):
        api.create({**one, "metadata": {**one["metadata"], "namespace": namespace}})
    worlds = []
    for _ in range(3):
        view = View(client, namespace, namespace)
        listing = Listing(view, SystemClock(), Settings(), namespace)
        await listing.fill()
        assert len(listing.workloads) == 1
        worlds.append(weakref.ref(listing.world))
        del listing, view
    gc.collect()
    assert [world() for world in worlds] == [None] * 3
