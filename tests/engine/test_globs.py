"""What a glob matches is found out for the workload that has it: no other waits for that."""

import json
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
from tests.engine.test_bounds import Stage
from tests.kube.follow import CONFIGMAPS, connect
from tests.support import build

from reroll.clock import SystemClock
from reroll.core.model.key import Key
from reroll.core.model.metadata import Manifest
from reroll.core.tables.kinds import KINDS
from reroll.engine.observer import Observer
from reroll.engine.wants import GlobMatches, share
from reroll.engine.world import World
from reroll.kube import wire
from reroll.kube.client import Client
from reroll.settings.table import Settings


def waits(world: World, key: Key) -> bool:
    return any(world.references.unexpanded(world.workloads[key]))


def end_lists(stage: Stage, as_of: int | None = None) -> None:
    """The lists that are wanted end; they began as of then, or now."""
    references = stage.world.references
    for want in stage.wanted:
        if isinstance(want, GlobMatches):
            references.expanded(want, references.latest_glob if as_of is None else as_of)


@pytest.mark.parametrize("sources", ["cm/shop/x1*", "cm/shop/a*"])
def test_a_glob_of_another_namespace_delays_none_and_is_read_on_its_own_account(
    sources: str,
) -> None:
    stage = Stage()
    victims = stage.workload("web", sources="cm/a*"), stage.workload("api", sources="cm/shop/a*")
    end_lists(stage)
    stage.wanted.clear()
    stage.woken.clear()

    spy = stage.workload("spy", namespace="other", sources=sources)
    assert [waits(stage.world, key) for key in (*victims, spy)] == [False, False, True]
    assert [share(want) for want in stage.wanted] == ["other"]
    end_lists(stage)
    assert not waits(stage.world, spy)
    assert set(stage.woken) == {spy}


def test_a_glob_of_one_workload_delays_no_other_of_its_namespace() -> None:
    stage = Stage()
    web = stage.workload("web", sources="cm/a*")
    end_lists(stage)
    api = stage.workload("api", sources="cm/a*")
    assert (waits(stage.world, web), waits(stage.world, api)) == (False, True)


def test_workloads_of_one_namespace_want_one_list_of_a_place() -> None:
    stage = Stage()
    stage.workload("web", sources="cm/a*, cm/b*, cm/shop/c*")
    stage.workload("api", sources="cm/b*")
    assert set(stage.wanted) == {GlobMatches("ConfigMap", "shop", "shop")}


def test_a_glob_that_comes_while_a_list_runs_waits_for_the_next_one() -> None:
    stage = Stage()
    web = stage.workload("web", sources="cm/a*")
    as_of = stage.world.references.latest_glob
    api = stage.workload("api", sources="cm/b*")
    stage.workload("web", sources="cm/other")
    stage.workload("web", sources="cm/a*")  # A page may have come in between.
    end_lists(stage, as_of)
    assert waits(stage.world, web)
    assert waits(stage.world, api)

    end_lists(stage)
    assert not waits(stage.world, web)
    assert not waits(stage.world, api)


def test_who_waits_for_what_may_not_be_read_waits_no_more() -> None:
    stage = Stage()
    web = stage.workload("web", sources="cm/a*")
    spy = stage.workload("spy", namespace="other", sources="cm/shop/a*, secret/shop/a*")
    stage.world.sources.refused("ConfigMap", "shop")
    assert (waits(stage.world, web), waits(stage.world, spy)) == (False, True)
    api = stage.workload("api", sources="cm/a*")
    assert not waits(stage.world, api)


def test_a_glob_counts_on_a_workload_that_referred_to_nothing() -> None:
    stage = Stage()
    web = stage.workload("web")
    stage.workload("web", sources="cm/a*")
    assert waits(stage.world, web)
    stage.configmap("a1")
    assert stage.names(web) == ["a1"]

    stage.workload("web")
    assert stage.names(web) == []
    stage.workload("web", sources="cm/b*")
    stage.workload("web")
    stage.configmap("b1")
    assert len(stage.world.sources) == 0


# The reader


@pytest.fixture
async def client(cluster: Any) -> AsyncIterator[Client]:
    async with connect(cluster.kubeconfig("admin")) as made:
        yield made


def tell(world: World, namespace: str, name: str, sources: str) -> Key:
    said = {"reroll.dev/enabled": "true", "reroll.dev/sources": sources}
    web = build.deployment(name, annotations=said)
    web["metadata"] |= {"namespace": namespace, "uid": name, "resourceVersion": "5"}
    world.workload_seen(KINDS[0], msgspec.json.decode(json.dumps(web), type=Manifest))
    return Key("Deployment", namespace, name)


@pytest.mark.cluster
async def test_a_workload_is_looked_at_with_all_that_its_globs_match(
    client: Client, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second one comes between two pages of the list for the first."""
    monkeypatch.setattr(wire, "PAGE", 1)
    for name in ("b1", "b2", "b3"):
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
        await client.send(wire.apply(CONFIGMAPS, namespace, name, body, force=True))
    late, looks, lists = Key("Deployment", namespace, "late"), list[list[str]](), list[str]()

    def look(key: Key, _: bool) -> None:
        if key == late and not waits(observer.world, late):
            refs = observer.world.workloads[late].references
            looks.append([ref.source.name for ref in refs])

    observer = Observer(
        client, SystemClock(), Settings(), namespace, problem=lambda *_: None, wake=look
    )
    world, seen = observer.world, observer.world.sources.metadata_seen

    def metadata_seen(key: Key, *args: Any, **more: Any) -> None:
        lists.append(key.name)
        seen(key, *args, **more)
        if lists == ["b1", "b2"]:
            tell(world, namespace, "late", "cm/b*")

    monkeypatch.setattr(world.sources, "metadata_seen", metadata_seen)
    tell(world, namespace, "first", "cm/none*")
    await observer.reader.catch_up()
    assert lists.count("b2") == 2
    assert looks
    assert all(names == ["b1", "b2", "b3"] for names in looks)
