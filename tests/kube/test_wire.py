import msgspec
import pytest

from reroll.kube import wire
from reroll.kube.errors import Rejected

CONFIGMAPS = wire.Resource("", "v1", "configmaps", "ConfigMap")
DEPLOYMENTS = wire.Resource("apps", "v1", "deployments", "Deployment")
NODES = wire.Resource("", "v1", "nodes", "Node", namespaced=False)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (CONFIGMAPS.path(), "/api/v1/configmaps"),
        (CONFIGMAPS.path("shop"), "/api/v1/namespaces/shop/configmaps"),
        (CONFIGMAPS.path("shop", "app"), "/api/v1/namespaces/shop/configmaps/app"),
        (DEPLOYMENTS.path(), "/apis/apps/v1/deployments"),
        (
            DEPLOYMENTS.path("shop", "web", "scale"),
            "/apis/apps/v1/namespaces/shop/deployments/web/scale",
        ),
        (NODES.path(None, "n1"), "/api/v1/nodes/n1"),
        (NODES.path("shop", "n1"), "/api/v1/nodes/n1"),
        (CONFIGMAPS.path("a/../b", "x?y#z"), "/api/v1/namespaces/a%2F..%2Fb/configmaps/x%3Fy%23z"),
    ],
    ids=[
        "all of a core kind",
        "all of a namespace",
        "one object",
        "all of a kind in a group",
        "a subresource",
        "one of a cluster-wide kind",
        "a namespace means nothing to a cluster-wide kind",
        "names cannot leave their place in the path",
    ],
)
def test_paths(path, expected):
    assert path == expected


@pytest.mark.parametrize("name", ["", ".", ".."])
def test_a_name_that_would_be_another_path_is_refused(name):
    with pytest.raises(Rejected, match="cannot be the name"):
        wire.delete(CONFIGMAPS, "shop", name)


def test_one_object_of_a_namespaced_kind_needs_a_namespace():
    with pytest.raises(Rejected, match="needs a namespace"):
        wire.get(CONFIGMAPS, None, "app")


def test_names_for_people_are_those_of_kubectl():
    assert (CONFIGMAPS.full_name, DEPLOYMENTS.full_name) == ("configmaps", "deployments.apps")
    assert (CONFIGMAPS.api_version, DEPLOYMENTS.api_version) == ("v1", "apps/v1")


def test_a_streaming_list_asks_for_all_and_for_the_bookmark_that_ends_it():
    request = wire.watch(CONFIGMAPS, send_initial_events=True, timeout_seconds=300)

    assert dict(request.query) == {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
        "timeoutSeconds": "300",
    }


def test_a_watch_resumes_from_a_version():
    request = wire.watch(CONFIGMAPS, "shop", resource_version="17", label_selector="a=b,c")

    assert request.target == (
        "/api/v1/namespaces/shop/configmaps?watch=true&allowWatchBookmarks=true"
        "&resourceVersion=17&labelSelector=a%3Db%2Cc"
    )


def test_a_page_of_a_list_carries_the_token_of_the_last_one():
    request = wire.list_page(CONFIGMAPS, limit=10, continue_="abc==", field_selector="x=y")

    assert request.target == "/api/v1/configmaps?limit=10&continue=abc%3D%3D&fieldSelector=x%3Dy"


def test_metadata_only_never_falls_back_to_whole_objects():
    requests = [
        wire.get(CONFIGMAPS, "shop", "app", metadata_only=True),
        wire.list_page(CONFIGMAPS, metadata_only=True),
        wire.watch(CONFIGMAPS, metadata_only=True),
    ]

    for request in requests:
        assert request.accept.startswith("application/json;as=PartialObjectMetadata")
        assert "," not in request.accept


def test_writes_name_their_field_manager():
    requests = [
        wire.create(CONFIGMAPS, "shop", {}),
        wire.json_patch(CONFIGMAPS, "shop", "app", []),
        wire.merge_patch(CONFIGMAPS, "shop", "app", {}),
        wire.apply(CONFIGMAPS, "shop", "app", {}),
    ]

    assert [dict(request.query)["fieldManager"] for request in requests] == ["reroll"] * 4


def test_each_patch_has_its_content_type():
    assert wire.json_patch(DEPLOYMENTS, "a", "b", []).content_type == wire.JSON_PATCH
    assert wire.merge_patch(DEPLOYMENTS, "a", "b", {}).content_type == wire.MERGE_PATCH
    assert wire.apply(DEPLOYMENTS, "a", "b", {}).content_type == wire.APPLY_PATCH


def test_a_delete_can_be_of_one_very_object_and_say_what_becomes_of_its_dependents():
    request = wire.delete(DEPLOYMENTS, "shop", "web", uid="u-1", propagation="Orphan")

    body = msgspec.json.decode(request.body)
    assert body["preconditions"] == {"uid": "u-1"}
    assert body["propagationPolicy"] == "Orphan"


def test_a_delete_can_be_of_one_very_version():
    request = wire.delete(CONFIGMAPS, "shop", "app", uid="u-1", resource_version="12")

    body = msgspec.json.decode(request.body)
    assert body["preconditions"] == {"uid": "u-1", "resourceVersion": "12"}


def test_a_patch_can_be_for_show():
    request = wire.merge_patch(DEPLOYMENTS, "shop", "web", {}, dry_run=True)

    assert ("dryRun", "All") in request.query
    assert "dryRun" not in dict(wire.merge_patch(DEPLOYMENTS, "shop", "web", {}).query)


def test_an_eviction_goes_to_the_pod():
    request = wire.evict("shop", "web-1", uid="u-1")

    assert request.path == "/api/v1/namespaces/shop/pods/web-1/eviction"
    assert msgspec.json.decode(request.body)["deleteOptions"] == {"preconditions": {"uid": "u-1"}}


def test_a_body_of_bytes_goes_out_as_it_is():
    assert wire.merge_patch(DEPLOYMENTS, "a", "b", b'{"a": 1}').body == b'{"a": 1}'
