"""Writing to a target that changes or goes while it is written to."""

from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
from tests.scenarios.injecting import SHAPES, gadget, install
from tests.support.build import Object
from tests.support.tools import kubeconfig_of

from reroll.core.model.injection import Injection, Manifest, read
from reroll.features.injection.decide import Target
from reroll.features.injection.values import Value
from reroll.features.injection.writer import FieldWriter, RefusedError
from reroll.kube import wire
from reroll.kube.auth import load
from reroll.kube.client import Client
from reroll.kube.errors import Conflict, NotFound
from reroll_dev.api import Api, ApiError, path_of
from reroll_dev.cluster import DevCluster

GADGETS = wire.Resource("example.com", "v1", "gadgets", "Gadget")
VALUE = Value("value", (b"value",))


@pytest.fixture
async def writer(cluster: DevCluster, api: Api) -> AsyncIterator[FieldWriter]:
    install(api, *SHAPES)
    connection = load({}, kubeconfig=str(kubeconfig_of(cluster, "admin")))
    async with Client(connection) as client:
        yield FieldWriter(client)


def an(path: str, namespace: str) -> Injection:
    to = {"apiVersion": "example.com/v1", "kind": "Gadget", "name": "g", "path": path}
    spec = {"from": [{"name": "s", "key": "k"}], "to": to}
    meta = {"name": "one", "namespace": namespace}
    return read(msgspec.convert({"metadata": meta, "spec": spec}, Manifest))


def made(api: Api, namespace: str, **spec: Any) -> tuple[Object, Target]:
    one = api.create(gadget("g", **spec), namespace)
    return one, Target("example.com", "Gadget", namespace, "g")


@pytest.mark.parametrize("path", [".spec.token", ".spec.plain[0].value"])
async def test_an_object_that_is_gone_is_not_made_anew(
    writer: FieldWriter, api: Api, namespace: str, path: str
) -> None:
    one, target = made(api, namespace, plain=[{"name": "x"}])
    found = await writer.read(GADGETS, target)
    api.delete(path_of(one))

    with pytest.raises((Conflict, NotFound)):
        await writer.write(an(path, namespace), found, VALUE)
    with pytest.raises(ApiError, match="404"):
        api.get(path_of(one))


async def test_another_object_of_the_same_name_is_not_written_to(
    writer: FieldWriter, api: Api, namespace: str
) -> None:
    one, target = made(api, namespace)
    found = await writer.read(GADGETS, target)
    api.delete(path_of(one))
    made(api, namespace, mode="fast")

    with pytest.raises(RefusedError):
        await writer.write(an(".spec.token", namespace), found, VALUE)
    assert api.get(path_of(one))["spec"] == {"mode": "fast"}


async def test_an_item_that_moved_meanwhile_is_looked_for_again(
    writer: FieldWriter, api: Api, namespace: str
) -> None:
    one, target = made(api, namespace, plain=[{"name": "x"}, {"name": "y"}])
    found = await writer.read(GADGETS, target)
    api.patch(path_of(one), {"spec": {"plain": [{"name": "y"}, {"name": "x"}]}})

    with pytest.raises(Conflict):
        await writer.write(an('.spec.plain[?(@.name=="y")].value', namespace), found, VALUE)
    assert api.get(path_of(one))["spec"]["plain"] == [{"name": "y"}, {"name": "x"}]


async def test_a_field_that_others_own_too_stays_when_it_is_given_back(
    writer: FieldWriter, api: Api, namespace: str
) -> None:
    one, target = made(api, namespace, mode="fast")
    injection = an(".spec.token", namespace)
    found = await writer.read(GADGETS, target)
    found = await writer.write(injection, found, VALUE)
    theirs = {**gadget("g"), "spec": {"token": "value"}}
    api.patch(path_of(one), theirs, "apply", fieldManager="gitops")
    written = found.written(injection.path)

    assert await writer.release(injection, GADGETS, written, lambda *_: False)
    after = api.get(path_of(one))
    assert after["spec"] == {"mode": "fast", "token": "value"}
    assert injection.manager not in {m["manager"] for m in after["metadata"]["managedFields"]}
    assert not await writer.release(injection, GADGETS, written, lambda *_: False)
