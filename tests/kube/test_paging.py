"""Pages whose objects are as large as somebody made them, on the real control plane."""

import re

import pytest
from tests.kube.follow import following
from tests.kube.models import ConfigMap

from reroll.kube import api, errors, paging, wire
from reroll.kube.resources import CONFIG_MAPS

pytestmark = pytest.mark.cluster
LARGE = "x" * 100_000


@pytest.fixture
async def names(put, monkeypatch) -> set[str]:
    """Large ones among small ones, one of them larger than a page may be."""
    monkeypatch.setattr(paging, "LARGEST_PAGE", 300_000)
    made = {"huge": 4 * LARGE} | {f"large-{i}": LARGE for i in range(6)}
    made |= {f"small-{i}": "x" for i in range(6)}
    for name, value in made.items():
        await put(name, value)
    return set(made)


async def test_a_list_of_large_objects_comes_by_smaller_pages(client, namespace, names, asked):
    asked.clear()
    objects = await api.every(client, CONFIG_MAPS, namespace, ConfigMap, limit=100)

    assert names <= {one.metadata.name for one in objects}
    limits = [int(re.search(r"limit=(\d+)", one.target)[1]) for one in asked]
    assert limits[:2] == [100, 12]
    assert 1 in limits, "one that is larger than a page comes alone"
    assert len(limits) < 20


async def test_a_watch_begins_with_smaller_pages_too(client, namespace, names):
    async with following(client, namespace, streaming=False, page_size=100) as (seen, watch):
        await watch.synced.wait()
        assert names <= seen.known.keys()
        assert not seen.wrong


async def test_an_answer_is_read_no_further_than_it_may_be(client, namespace, put):
    await put("large", LARGE)
    request = wire.get(CONFIG_MAPS, namespace, "large")

    with pytest.raises(errors.TooLarge, match="more than 1000 bytes"):
        await client.send(request, largest=1000)
    whole = await client.send(request, largest=1_000_000)

    assert len(whole) > len(LARGE)
