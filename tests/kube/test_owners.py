"""Owner references on the real API server: merged by uid, whatever others do to the list."""

import pytest

from reroll.core.model.key import Key
from reroll.kube import api, errors, owners
from reroll.kube.objects import OwnerRef, Stub
from reroll.kube.resources import CONFIG_MAPS

pytestmark = pytest.mark.cluster


@pytest.fixture
async def some(client, namespace, put):
    """Three ConfigMaps as owners, and a fourth to own."""
    made = []
    for name in ("one", "two", "three", "app"):
        await put(name)
        stub = await api.get(client, CONFIG_MAPS, namespace, name, Stub)
        made.append(OwnerRef.of(CONFIG_MAPS, stub.metadata))
    return made


async def test_owners_are_added_and_removed_beside_those_of_others(client, namespace, some):
    one, two, three, _ = some
    key = Key("ConfigMap", namespace, "app")

    await owners.change(client, CONFIG_MAPS, key, [one, two])
    await owners.change(client, CONFIG_MAPS, key, [two])
    after = await owners.change(client, CONFIG_MAPS, key, [three], drop=[one.uid, "none"])

    assert sorted(owner.uid for owner in after.owner_references) == sorted([two.uid, three.uid])
    assert not any(owner.controller for owner in after.owner_references)


async def test_another_object_of_that_name_is_left_alone(client, namespace, some):
    one, *_, app = some
    key = Key("ConfigMap", namespace, "app")

    with pytest.raises(errors.Conflict):
        await owners.change(client, CONFIG_MAPS, key, [one], uid="another")
    after = await owners.change(client, CONFIG_MAPS, key, [one], uid=app.uid)

    assert [owner.uid for owner in after.owner_references] == [one.uid]
