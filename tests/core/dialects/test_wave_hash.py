"""The hash is the one that Wave computes: its own vectors, and a formula written down anew."""

import base64
import hashlib
import json
from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import build

from reroll.core.dialects.wave_hash import Wanted, config_hash, wanted
from reroll.core.model.key import Key
from reroll.core.model.podspec import PodSpec

EMPTY = "100444e91862dd77d7ebe29f050c1e9a7f357c771e1a7b7650aae27e6a3a031d"
# What Wave's own test suite expects for its example Deployment.
EXAMPLE = "318d4a3c6b9f6471f054001ea3103b2abb3693fe41922c733df45b53266d5216"
THREE = ("key1", "key2", "key3")


def spec_of(**template: Any) -> PodSpec:
    return msgspec.convert(build.pod_template("web", **template)["spec"], PodSpec)


def example() -> dict[Key, dict[str, bytes]]:
    """Six ConfigMaps and Secrets, the first ConfigMap with binary data too."""
    contents = {
        Key(kind, "default", f"example{n}"): {k: f"example{n}:{k}".encode() for k in THREE}
        for kind in ("ConfigMap", "Secret")
        for n in range(1, 7)
    }
    binary = {f"binary_{key}": f"example1:binary_{key}".encode() for key in THREE}
    contents[Key("ConfigMap", "default", "example1")] |= binary
    return contents


def projected(**sources: Any) -> dict[str, Any]:
    return {"name": "projection", "projected": {"sources": [{k: v} for k, v in sources.items()]}}


def test_a_template_that_refers_to_nothing_has_the_known_hash() -> None:
    assert config_hash(wanted("default", spec_of(), ()), {}) == EMPTY
    assert config_hash(wanted("default", None, ()), {}) == EMPTY


def test_the_example_of_waves_own_tests_has_the_hash_that_they_expect() -> None:
    both = ("configmap", "secret")
    items = {"name": "example6", "items": [{"key": k, "path": k} for k in ("key1", "key3")]}
    spec = spec_of(
        uses=[
            f"{kind}/{use}"
            for kind in both
            for use in ("example1", "example2", "example3#key1", "example3#key2", "example3#key4?")
        ]
        + [f"{kind}/{use}" for kind in both for use in ("example4#key1?", "not-there?")],
        mounts=[f"{kind}/example1" for kind in both],
        volumes=[
            projected(configMap={"name": "example5", "optional": True}, secret=items),
            projected(secret={"name": "example5", "optional": True}, configMap=items),
        ],
    )

    assert config_hash(wanted("default", spec, ()), example()) == EXAMPLE


@pytest.mark.parametrize(
    ("template", "keys"),
    [
        pytest.param({"uses": "configmap/app#a"}, {"a"}, id="env counts with its key"),
        pytest.param({"uses": "configmap/app"}, None, id="envFrom counts whole"),
        pytest.param({"mounts": "configmap/app"}, None, id="a volume counts whole"),
        pytest.param({"mounts": "configmap/app#a"}, None, id="a volume counts whole despite items"),
        pytest.param(
            {"volumes": [{"name": "v", "configMap": {"name": "app"}}]},
            None,
            id="a volume counts if nobody mounts it",
        ),
        pytest.param(
            {"volumes": [projected(configMap={"name": "app"})]}, None, id="projected counts whole"
        ),
        pytest.param(
            {"volumes": [projected(configMap={"name": "app", "items": [{"key": "a"}]})]},
            {"a"},
            id="projected items count alone",
        ),
    ],
)
def test_wave_hashes_what_a_template_refers_to(
    template: dict[str, Any], keys: set[str] | None
) -> None:
    expected = frozenset(keys) if keys else None

    assert wanted("shop", spec_of(**template), ()) == (
        Wanted(Key("ConfigMap", "shop", "app"), expected),
    )


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(
            {"initContainers": [{"name": "init", "envFrom": [{"configMapRef": {"name": "app"}}]}]},
            id="the environment of an init container",
        ),
        pytest.param({"imagePullSecrets": [{"name": "app"}]}, id="an image pull secret"),
        pytest.param(
            {
                "volumes": [
                    {
                        "name": "v",
                        "csi": {
                            "driver": "secrets-store.csi.k8s.io",
                            "volumeAttributes": {"secretProviderClass": "app"},
                        },
                    }
                ]
            },
            id="a CSI class",
        ),
    ],
)
def test_wave_overlooks(pod: dict[str, Any]) -> None:
    assert wanted("shop", spec_of(pod=pod), ()) == ()


def test_an_object_without_any_of_the_keys_still_counts_and_a_missing_one_does_not() -> None:
    there = (Wanted(Key("Secret", "shop", "db"), frozenset(("none",))),)

    assert config_hash(there, {Key("Secret", "shop", "db"): {"a": b"1"}}) != EMPTY
    assert config_hash(there, {}) == EMPTY


def test_of_two_objects_of_one_name_the_later_reference_wins() -> None:
    here, there = Key("ConfigMap", "shop", "app"), Key("ConfigMap", "other", "app")
    contents = {here: {"a": b"here"}, there: {"a": b"there"}}
    alone = config_hash([Wanted(there)], contents)

    assert config_hash([Wanted(here), Wanted(there)], contents) == alone
    # Extra sources come after volumes and before the environment.
    assert config_hash(wanted("shop", spec_of(mounts="configmap/app"), [there]), contents) == alone
    assert config_hash(wanted("shop", spec_of(uses="configmap/app"), [there]), contents) != alone


names = st.sampled_from(("a", "b", "c.d", "e-f"))
data_keys = st.sampled_from(("k1", "k2", "K_3", "k.4"))
sources = st.builds(Key, st.sampled_from(("ConfigMap", "Secret")), st.just("shop"), names)
contents_of = st.dictionaries(sources, st.dictionaries(data_keys, st.binary(max_size=20)))
references = st.lists(
    st.builds(Wanted, sources, st.none() | st.frozensets(data_keys, min_size=1)), max_size=8
)


@given(references, contents_of)
def test_the_hash_is_that_of_sorted_compact_json_with_base64(
    found: list[Wanted], contents: Mapping[Key, Mapping[str, bytes]]
) -> None:
    source: dict[str, dict[str, dict[str, str]]] = {"configMaps": {}, "secrets": {}}
    for one in found:
        if one.source in contents:
            kind = {"ConfigMap": "configMaps", "Secret": "secrets"}[one.source.kind]
            data = source[kind].setdefault(one.source.name, {})
            for key, value in contents[one.source].items():
                if one.keys is None or key in one.keys:
                    data[key] = base64.b64encode(value).decode()
    text = json.dumps(source, sort_keys=True, separators=(",", ":"))

    assert config_hash(found, contents) == hashlib.sha256(text.encode()).hexdigest()
