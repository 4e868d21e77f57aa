"""What a command sees of a cluster, with sentences about what it may not see."""

import pytest
from tests.kube.follow import connect
from tests.kube.models import ConfigMap
from tests.kube.test_api import Numbers

from reroll.kube import resources
from reroll.kube.objects import Stub
from reroll.kube.resources import CONFIG_MAPS, SECRETS
from reroll.kube.view import View

pytestmark = pytest.mark.cluster


async def test_what_may_not_be_read_is_a_gap_and_no_error(kubeconfig_for, namespace, put):
    await put("app")
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}]
    async with connect(kubeconfig_for(rules, namespace)) as client:
        view = View(client, namespace, namespace)

        assert "app" in [one.metadata.name for one in await view.every(CONFIG_MAPS, Stub)]
        assert await view.get(CONFIG_MAPS, namespace, "app", Stub) is None
        assert await view.every(SECRETS, Stub) == []
        assert await view.every(CONFIG_MAPS, Stub, everywhere=True) == []

    assert view.gaps == [
        f"ConfigMap {namespace}/app may not be read; grant `get` on it",
        f"secrets in namespace {namespace} may not be listed; grant `list` on them",
        "configmaps in all namespaces may not be listed; grant `list` on them",
    ]


async def test_an_api_that_is_not_served_is_no_gap(kubeconfig_for, namespace, client):
    absent = resources.custom("none.example", "v1", "things", "Thing")
    async with connect(kubeconfig_for([], namespace)) as powerless:
        for each in (client, powerless):
            view = View(each, namespace, namespace)
            assert (await view.every(absent, Stub), view.gaps) == ([], [])


async def test_an_object_that_cannot_be_read_is_a_gap_beside_the_others(client, namespace, put):
    await put("text", "one", kind="mine")
    await put("number", "1", kind="mine")
    view = View(client, namespace, namespace)

    listed = await view.every(CONFIG_MAPS, ConfigMap, label_selector="kind=mine")
    assert (len(listed), view.gaps) == (2, [])

    assert await view.every(CONFIG_MAPS, Numbers, label_selector="kind=mine") == []
    assert await view.get(CONFIG_MAPS, namespace, "text", Numbers) is None
    assert len(view.gaps) == 3
    assert all(gap.startswith(f"ConfigMap {namespace}/") for gap in view.gaps)
