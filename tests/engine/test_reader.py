"""What is read of sources with very many keys: one at a time, so that others get their turn."""

import asyncio
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from tests.fuzz.bench import Bench, run

from reroll.core.model.content import Content
from reroll.core.model.key import Key
from reroll.engine.sources import Sources

NAMES = ("one", "two", "three")


def configmap(name: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "shop", "resourceVersion": "20", "uid": name}
    return {"metadata": metadata, "data": {f"k{i}": "" for i in range(3_000)}}


def deployment() -> dict[str, Any]:
    sources = [{"configMapRef": {"name": name}} for name in NAMES]
    container = {"name": "web", "image": "web", "envFrom": sources}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": "web",
            "namespace": "shop",
            "uid": "web",
            "resourceVersion": "10",
            "generation": 1,
            "annotations": {"reroll.dev/enabled": "true"},
        },
        "spec": {"template": {"spec": {"containers": [container]}}},
    }


def test_one_source_with_very_many_keys_is_digested_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    order: list[str] = []
    usual = Sources.observe_in_pieces

    def noted(self: Sources, kind: Any, source: Any, *, watched: bool) -> Iterator[None]:
        for _ in usual(self, kind, source, watched=watched):
            order.append(source.metadata.name)
            yield

    async def read() -> list[object]:
        bench = Bench()
        bench.feed("namespaces", {"metadata": {"name": "shop", "resourceVersion": "1"}}, "ADDED")
        bench.feed("deployments", deployment(), "ADDED")
        for name in NAMES:
            path = f"/api/v1/namespaces/shop/configmaps/{name}"
            bench.answers.by_path[path] = msgspec.json.encode(configmap(name))
        keys = [Key("ConfigMap", "shop", name) for name in NAMES]
        monkeypatch.setattr(Sources, "observe_in_pieces", noted)
        reader = bench.observer.reader
        await asyncio.gather(*(reader._fetch(key) for key in keys))
        return [bench.world.sources.content(key) for key in keys]

    contents = run(read())

    assert all(isinstance(content, Content) and content.wholes for content in contents)
    assert [name for place, name in enumerate(order) if name not in order[:place]] == list(NAMES)
    changes = sum(one != other for one, other in pairwise(order))
    assert changes == len(NAMES) - 1
