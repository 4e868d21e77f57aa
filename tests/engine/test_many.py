"""When many objects are listed, and when each is got by itself."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.kube.follow import connect
from tests.support import build

from reroll.core.model.key import Key
from reroll.engine import configs
from reroll.engine.configs import every_write
from reroll.engine.many import MANY, Rest, by_page, crowds
from reroll.kube import wire
from reroll.kube.client import Client
from reroll.kube.objects import Stub
from reroll.kube.resources import CONFIG_MAPS
from reroll.kube.view import View


def test_only_those_of_one_kind_and_namespace_are_many_together() -> None:
    keys = [Key("ConfigMap", "shop", str(number)) for number in range(MANY)]
    few = [Key("Secret", "shop", str(number)) for number in range(MANY - 1)]
    few += [Key("ConfigMap", f"team-{number}", "app") for number in range(MANY)]
    assert crowds([*keys, *few]) == {("ConfigMap", "shop"): [key.name for key in keys]}


@pytest.fixture
async def client(cluster: Any) -> AsyncIterator[Client]:
    async with connect(cluster.kubeconfig("admin")) as made:
        yield made


NUMBER = 12


@pytest.mark.cluster
@pytest.mark.parametrize("page", [5, 500])
async def test_a_list_brings_those_that_are_wanted_and_tells_which_are_not_there(
    client: Client, api: Any, namespace: str, monkeypatch: pytest.MonkeyPatch, page: int
) -> None:
    _make(api, namespace)
    monkeypatch.setattr(wire, "PAGE", page)
    monkeypatch.setattr("reroll.engine.many.A_PAGE", 1)
    taken: list[str] = []
    names = [*(f"app-{number:02}" for number in range(3, NUMBER)), "zebra"]

    place = CONFIG_MAPS, namespace
    rest = await by_page(client, place, names, Stub, lambda name, _: taken.append(name))

    assert sorted(taken) == names[:-1]
    assert (rest.unknown, rest.gone) == (frozenset(), frozenset({"zebra"}))
    assert rest.version > 0


@pytest.mark.cluster
async def test_a_long_list_is_given_up_where_to_get_the_rest_costs_less(
    client: Client, api: Any, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _make(api, namespace)
    monkeypatch.setattr(wire, "PAGE", 2)
    taken: list[str] = []

    names = {"app-00", "app-11", "zebra"}
    place = CONFIG_MAPS, namespace
    rest = await by_page(client, place, names, Stub, lambda name, _: taken.append(name))

    assert taken == ["app-00"]
    assert rest == Rest(frozenset({"app-11", "zebra"}), frozenset(), rest.version)


def _make(api: Any, namespace: str) -> None:
    for number in range(NUMBER):
        one = build.configmap(f"app-{number:02}")
        api.create({**one, "metadata": {**one["metadata"], "namespace": namespace}})


@pytest.mark.cluster
async def test_writers_are_read_where_pods_are_and_everywhere_if_that_is_many_places(
    client: Client, api: Any, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _make(api, namespace)
    near = await every_write(View(client, None, "default"), {namespace})
    assert {key.namespace for key in near.by} == {namespace}
    assert Key("ConfigMap", namespace, "app-00") in near.by
    monkeypatch.setattr(configs, "FEW", 0)
    whole = await every_write(View(client, None, "default"), {namespace})
    assert Key("ConfigMap", namespace, "app-00") in whole.by
    assert "kube-system" in {key.namespace for key in whole.by}
    assert (await every_write(View(client, None, "default"), ())).by == {}
