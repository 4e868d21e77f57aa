"""Every field of a pod that can name a source, and what several uses of one source add up to."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.build import configmap, pod_spec, secret

from reroll.core.model.key import Key
from reroll.core.model.reference import Reference
from reroll.core.policy.references import CSI_DRIVER, Use, references, uses

FULL = pod_spec(
    initContainers=[
        {
            "name": "init",
            "env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "init-env", "key": "a"}}}],
            "volumeMounts": [{"name": "cm", "mountPath": "/cm"}],
        },
        {
            "name": "sidecar",
            "restartPolicy": "Always",
            "envFrom": [{"configMapRef": {"name": "sidecar-env"}}],
        },
    ],
    containers=[
        {
            "name": "web",
            "env": [
                {"name": "PLAIN", "value": "x"},
                {"name": "FIELD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                {"name": "C", "valueFrom": {"configMapKeyRef": {"name": "env-cm", "key": "c"}}},
                {
                    "name": "S",
                    "valueFrom": {"secretKeyRef": {"name": "env-s", "key": "s", "optional": True}},
                },
            ],
            "envFrom": [
                {"prefix": "P_", "configMapRef": {"name": "from-cm", "optional": True}},
                {"secretRef": {"name": "from-s"}},
            ],
            "volumeMounts": [
                {"name": "cm", "mountPath": "/etc/cm", "subPath": "app.conf"},
                {"name": "cm-items", "mountPath": "/etc/items"},
                {"name": "s", "mountPath": "/etc/s"},
                {"name": "s-items", "mountPath": "/etc/s2", "subPath": "tls/crt"},
                {"name": "all", "mountPath": "/etc/all", "subPathExpr": "$(POD_NAME)"},
                {"name": "csi", "mountPath": "/etc/csi"},
                {"name": "scratch", "mountPath": "/tmp/x"},
                {"name": "storage", "mountPath": "/data"},
                {"name": "ceph", "mountPath": "/ceph"},
            ],
        },
        {"name": "log", "env": None},
    ],
    ephemeralContainers=[
        {"name": "debug", "envFrom": [{"configMapRef": {"name": "for-debugging"}}]},
    ],
    imagePullSecrets=[{"name": "registry"}],
    volumes=[
        {"name": "scratch", "emptyDir": {}},
        {"name": "cm", "configMap": {"name": "vol-cm"}},
        {
            "name": "cm-items",
            "configMap": {
                "name": "vol-cm-items", "optional": True, "items": [{"key": "k", "path": "p"}],
            },
        },
        {"name": "s", "secret": {"secretName": "vol-s"}},
        {
            "name": "s-items",
            "secret": {
                "secretName": "vol-s-items",
                "items": [{"key": "crt", "path": "tls/crt"}, {"key": "ca", "path": "ca"}],
            },
        },
        {
            "name": "all",
            "projected": {
                "sources": [
                    {"configMap": {"name": "proj-cm", "optional": True}},
                    {"secret": {"name": "proj-s", "items": [{"key": "x", "path": "x"}]}},
                    {"serviceAccountToken": {"path": "token"}},
                    {"downwardAPI": {"items": []}},
                    {"clusterTrustBundle": {"name": "ca", "path": "ca"}},
                ]
            },
        },
        {
            "name": "csi",
            "csi": {"driver": CSI_DRIVER, "volumeAttributes": {"secretProviderClass": "vault"}},
        },
        {"name": "unmounted", "secret": {"secretName": "nobody-mounts-it"}},
        {
            "name": "storage",
            "csi": {
                "driver": "ebs",
                "nodePublishSecretRef": {"name": "ebs"},
                "volumeAttributes": {"secretProviderClass": "not-of-that-driver"},
            },
        },
        {"name": "ceph", "cephfs": {"secretRef": {"name": "ceph"}}},
    ],
)  # fmt: skip


def keys(*names: str) -> frozenset[str]:
    return frozenset(names)


def test_every_field_that_can_name_a_source_is_a_use_and_nothing_else_is() -> None:
    found = list(uses(FULL))

    for use in found:
        assert use.how.endswith(f" of container {use.container}")
        assert use.mounted is use.how.startswith("volume ")
    assert [msgspec.structs.replace(use, container="", mounted=False) for use in found] == [
        Use("Secret", "init-env", "env A of container init", keys("a"), needs=keys("a")),
        Use("ConfigMap", "sidecar-env", "envFrom of container sidecar"),
        Use("ConfigMap", "env-cm", "env C of container web", keys("c"), needs=keys("c")),
        Use("Secret", "env-s", "env S of container web", keys("s"), optional=True, needs=keys("s")),
        Use("ConfigMap", "from-cm", "envFrom of container web", optional=True),
        Use("Secret", "from-s", "envFrom of container web"),
        Use("ConfigMap", "vol-cm", "volume cm of container init", live=True),
        Use("ConfigMap", "vol-cm", "volume cm (subPath) of container web", keys("app.conf")),
        Use(
            "ConfigMap", "vol-cm-items", "volume cm-items of container web",
            keys("k"), optional=True, live=True, needs=keys("k"),
        ),
        Use("Secret", "vol-s", "volume s of container web", live=True),
        Use(
            "Secret", "vol-s-items", "volume s-items (subPath) of container web",
            keys("crt"), needs=keys("crt", "ca"),
        ),
        Use("ConfigMap", "proj-cm", "volume all (subPath) of container web", optional=True),
        Use(
            "Secret", "proj-s", "volume all (subPath) of container web",
            keys("x"), needs=keys("x"),
        ),
        Use(
            "SecretProviderClass", "vault", "volume csi of container web", optional=True, live=True
        ),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "nameless",
    [
        {},
        {"containers": [{"envFrom": [{"configMapRef": {}}, {"secretRef": {"name": ""}}, {}]}]},
        {"containers": [{"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"key": "a"}}}]}]},
        {
            "containers": [{"volumeMounts": [{"name": "v"}]}],
            "volumes": [
                {"name": "v", "configMap": {}, "secret": {}, "projected": {"sources": None}},
                {"name": "v", "csi": {"driver": CSI_DRIVER}},
                {"name": "v", "projected": {"sources": [{"configMap": {}, "secret": {}}]}},
            ],
        },
    ],
    ids=["nothing at all", "envFrom", "env", "volumes"],
)
def test_a_reference_without_a_name_refers_to_nothing(nameless: dict[str, Any]) -> None:
    assert list(uses(pod_spec(**nameless))) == []


ITEMS = [{"key": "app", "path": "conf/app.ini"}, {"key": "db", "path": "./conf/db.ini"}]
SUB_PATHS: dict[str, tuple[Any, str, frozenset[str] | None]] = {
    "one key": (None, "app.ini", keys("app.ini")),
    "one key, with a slash at the end": (None, "app.ini/", keys("app.ini")),
    "one key, with a dot before": (None, "./app.ini", keys("app.ini")),
    "the whole volume": (None, ".", None),
    "a path past the kubelet's own link": (None, "..data/app.ini", None),
    "an item by its path": (ITEMS, "conf/app.ini", keys("app")),
    "an item by its path, written otherwise": (ITEMS, "conf//db.ini", keys("db")),
    "a folder of items": (ITEMS, "conf", keys("app", "db")),
    "half the name of a folder": (ITEMS, "con", keys()),
    "the key of an item instead of its path": (ITEMS, "app", keys()),
    "all items": (ITEMS, ".", keys("app", "db")),
    "no items at all": ([], "app.ini", keys("app.ini")),
}


@pytest.mark.parametrize(("items", "sub_path", "used"), SUB_PATHS.values(), ids=SUB_PATHS)
def test_a_sub_path_uses_only_what_it_names(
    items: Any, sub_path: str, used: frozenset[str] | None
) -> None:
    spec = pod_spec(
        containers=[{"name": "c", "volumeMounts": [{"name": "v", "subPath": sub_path}]}],
        volumes=[{"name": "v", "configMap": {"name": "app", "items": items}}],
    )

    (use,) = uses(spec)

    assert use.keys == used
    assert not use.live


def refs(*found: Use, live: bool = False) -> tuple[Reference, ...]:
    return references("shop", found, mounts_are_live=live)


def test_uses_of_one_source_add_up() -> None:
    found = refs(
        Use("ConfigMap", "app", "", keys("a"), needs=keys("a")),
        Use("ConfigMap", "app", "", keys("b"), optional=True, needs=keys("b")),
        Use("Secret", "app", "", keys("c"), optional=True),
    )

    assert found == (
        Reference(configmap("app"), keys("a", "b"), required=True, required_keys=keys("a")),
        Reference(secret("app"), keys("c")),
    )


def test_a_use_of_the_whole_source_swallows_its_single_keys() -> None:
    (found,) = refs(Use("ConfigMap", "app", "", keys("a")), Use("ConfigMap", "app", ""))

    assert found.keys is None


def test_a_key_that_only_a_sub_path_names_stops_no_pod() -> None:
    """In a projected volume each source would seem to lack the keys of the others."""
    spec = pod_spec(
        containers=[{"name": "c", "volumeMounts": [{"name": "v", "subPath": "a.ini"}]}],
        volumes=[
            {
                "name": "v",
                "projected": {"sources": [{"configMap": {"name": "a"}}, {"secret": {"name": "b"}}]},
            }
        ],
    )

    assert [ref.required_keys for ref in refs(*uses(spec))] == [frozenset(), frozenset()]


@pytest.mark.parametrize(
    ("live", "expected"),
    [
        pytest.param(False, None, id="frozen: a plain mount counts"),
        pytest.param(True, keys("a"), id="live: only what is frozen in the pod counts"),
    ],
)
def test_live_mounts(live: bool, expected: frozenset[str] | None) -> None:
    mounted = Use("ConfigMap", "app", "", live=True, needs=keys("m"))

    (found,) = refs(mounted, Use("ConfigMap", "app", "", keys("a"), optional=True), live=live)

    assert found.keys == expected
    assert found.required
    assert found.required_keys == keys("m")


def test_of_a_source_that_is_only_mounted_live_nothing_but_its_presence_matters() -> None:
    (found,) = refs(Use("ConfigMap", "app", "", live=True), live=True)

    assert found.only_presence_matters
    assert found.required


def test_references_are_in_order_and_in_the_namespace_of_the_workload() -> None:
    found = refs(Use("Secret", "a", ""), Use("ConfigMap", "z", ""), Use("ConfigMap", "b", ""))

    assert [ref.source for ref in found] == [configmap("b"), configmap("z"), secret("a")]


some_keys = st.frozensets(st.sampled_from("abcd"))
any_use = st.builds(
    Use,
    st.sampled_from(["ConfigMap", "Secret"]),
    st.sampled_from("xy"),
    st.just(""),
    st.none() | some_keys,
    optional=st.booleans(),
    live=st.booleans(),
    needs=some_keys,
)


@given(st.lists(any_use), st.booleans(), st.randoms())
def test_the_order_of_uses_does_not_matter(found: list[Use], live: bool, random: Any) -> None:
    shuffled = list(found)
    random.shuffle(shuffled)

    assert refs(*shuffled, live=live) == refs(*found, live=live)


@given(st.lists(any_use, min_size=1), st.booleans())
def test_each_source_has_one_reference_that_covers_all_its_uses(
    found: list[Use], live: bool
) -> None:
    by_source = {ref.source: ref for ref in refs(*found, live=live)}

    assert set(by_source) == {Key(use.kind, "shop", use.name) for use in found}
    for use in found:
        ref = by_source[Key(use.kind, "shop", use.name)]
        if not use.optional:
            assert ref.required
            assert use.needs <= ref.required_keys
        if ref.keys is not None and not (live and use.live):
            assert use.keys is not None
            assert use.keys <= ref.keys
