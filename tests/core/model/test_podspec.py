"""Pod templates decode from JSON and from plain values alike, whatever else they hold."""

import json
from typing import Any

import msgspec
import pytest
from tests.core.build import template

from reroll.core.model.podspec import PodSpec, PodTemplate, given

TEMPLATE = template(
    {"a": "b"},
    env=[{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}],
    resources={"limits": {"cpu": "1"}},
    livenessProbe={"httpGet": {"path": "/"}},
)


def test_json_and_plain_values_give_the_same_template() -> None:
    from_json = msgspec.json.decode(json.dumps(TEMPLATE), type=PodTemplate)

    assert from_json == msgspec.convert(TEMPLATE, PodTemplate)


@pytest.mark.parametrize(
    "spec",
    [
        {"containers": None, "initContainers": None, "volumes": None},
        {"containers": [{"name": "a", "env": None, "envFrom": None, "volumeMounts": None}]},
        {"volumes": [{"name": "v", "configMap": None, "secret": None, "projected": None}]},
        {"volumes": [{"name": "v", "configMap": {"name": "a", "items": None, "optional": None}}]},
        {"volumes": [{"name": "v", "csi": {"driver": "d", "volumeAttributes": None}}]},
    ],
    ids=["lists", "of a container", "of a volume", "of a source", "of a driver"],
)
def test_null_is_read_as_nothing(spec: dict[str, Any]) -> None:
    assert msgspec.convert(spec, PodSpec) is not None


def test_given_reads_null_and_empty_alike() -> None:
    assert given(None) == given([]) == []
    assert given([1]) == [1]
