"""Typed calls on the real control plane: models, pages, guards and errors."""

import msgspec
import pytest
from tests.kube.models import ConfigMap, Meta

from reroll.core.model.metadata import Metadata
from reroll.kube import api, errors
from reroll.kube.objects import Pod, Stub
from reroll.kube.resources import CONFIG_MAPS, PODS

pytestmark = pytest.mark.cluster


class Numbers(msgspec.Struct):
    """A model that a ConfigMap with text does not fit."""

    metadata: Meta
    data: dict[str, int] | None = None


async def test_one_object_comes_as_its_model_and_find_tells_of_none(client, namespace, put):
    await put("app", "1")

    got = await api.get(client, CONFIG_MAPS, namespace, "app", ConfigMap)

    assert (got.metadata.name, got.data) == ("app", {"key": "1"})
    assert await api.find(client, CONFIG_MAPS, namespace, "app", ConfigMap) == got
    assert await api.find(client, CONFIG_MAPS, namespace, "none", ConfigMap) is None
    with pytest.raises(errors.NotFound):
        await api.get(client, CONFIG_MAPS, namespace, "none", ConfigMap)


async def test_an_answer_that_does_not_fit_names_the_request_and_no_value(client, namespace, put):
    await put("app", "secret-value")

    with pytest.raises(errors.Malformed) as caught:
        await api.get(client, CONFIG_MAPS, namespace, "app", Numbers)
    with pytest.raises(errors.Malformed):
        await api.every(client, CONFIG_MAPS, namespace, Numbers)

    assert f"GET /api/v1/namespaces/{namespace}/configmaps/app" in str(caught.value)
    assert (caught.value.kind, caught.value.name) == ("ConfigMap", "app")
    assert "secret-value" not in str(caught.value)


async def test_a_model_of_metadata_alone_asks_for_nothing_else(client, namespace, put, asked):
    await put("app")

    await api.get(client, CONFIG_MAPS, namespace, "app", Stub)
    await api.every(client, CONFIG_MAPS, namespace, Stub)
    operations = [{"op": "add", "path": "/data/key", "value": "2"}]
    await api.patch(client, CONFIG_MAPS, namespace, "app", operations, Stub)
    await api.get(client, CONFIG_MAPS, namespace, "app", ConfigMap)

    assert ["PartialObjectMetadata" in one.accept for one in asked[1:]] == [True] * 3 + [False]


async def test_every_page_is_read(client, namespace, put):
    for number in range(5):
        await put(f"app-{number}", kind="mine")

    by = {"label_selector": api.selector({"kind": "mine"}), "limit": 2}
    sizes = [
        len(page.items) async for page in api.pages(client, CONFIG_MAPS, namespace, ConfigMap, **by)
    ]
    listed = await api.every(client, CONFIG_MAPS, namespace, ConfigMap, **by)

    assert sizes == [2, 2, 1]
    assert [one.metadata.name for one in listed] == [f"app-{number}" for number in range(5)]


async def test_each_way_to_write_answers_with_the_new_object(client, namespace):
    head = {"metadata": {"name": "app", "labels": {"a": "1"}}}
    place = (client, CONFIG_MAPS, namespace)
    made = await api.create(*place, {**head, "data": {"key": "1"}}, ConfigMap)
    with pytest.raises(errors.AlreadyExists):
        await api.create(*place, head, ConfigMap)
    failing = [{"op": "test", "path": "/data/key", "value": "other"}]
    with pytest.raises(errors.Invalid):
        await api.patch(*place, "app", failing, ConfigMap)
    operations = [{"op": "replace", "path": "/data/key", "value": "2"}]
    patched = await api.patch(*place, "app", operations, ConfigMap)
    merged = await api.merge(*place, "app", {"data": {"key": "3"}}, ConfigMap)
    stale = {"resourceVersion": made.metadata.resource_version}
    with pytest.raises(errors.Conflict):
        await api.merge(*place, "app", {"metadata": stale, "data": {}}, ConfigMap)
    strategic = await api.strategic(*place, "app", {"data": {"key": "4"}}, ConfigMap)
    whole = {"apiVersion": "v1", "kind": "ConfigMap", **head, "data": {"key": "5"}}
    applied = await api.apply(*place, "app", whole, ConfigMap)

    versions = (made, patched, merged, strategic, applied)
    assert [one.data for one in versions] == [{"key": str(number)} for number in range(1, 6)]


async def test_deleting_tells_whether_it_was_there_and_can_be_guarded(client, namespace, put):
    await put("app")

    with pytest.raises(errors.Conflict):
        await api.delete(client, CONFIG_MAPS, namespace, "app", uid="another")

    assert await api.delete(client, CONFIG_MAPS, namespace, "app") is True
    assert await api.delete(client, CONFIG_MAPS, namespace, "app") is False


async def test_only_this_very_pod_is_evicted(client, namespace):
    spec = {"containers": [{"name": "app", "image": "none"}], "automountServiceAccountToken": False}
    body = {"metadata": {"name": "app"}, "spec": spec}
    pod = await api.create(client, PODS, namespace, body, Pod)

    with pytest.raises(errors.Conflict):
        await api.evict(client, Pod(Metadata("app", namespace, uid="another")))
    await api.evict(client, pod)

    left = await api.find(client, PODS, namespace, "app", Pod)
    assert left is None or left.is_leaving


def test_a_selector_joins_labels_in_their_order():
    assert api.selector({"app": "web", "tier": "front"}) == "app=web,tier=front"
    assert api.selector((("app", "web"),)) == "app=web"
    assert api.selector({}) == ""
