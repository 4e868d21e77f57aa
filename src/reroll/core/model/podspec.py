"""The few fields of a pod template that can name a source, as types to decode into.

Unknown fields are skipped while decoding, so a template costs what it says about configuration and
no more. The same types are filled from watch lines (JSON) and from manifests (`msgspec.convert`).
"""

import hashlib
from contextlib import suppress
from typing import Any, TypeVar

import msgspec

from reroll.core.model.unreadable import UNREADABLE

T = TypeVar("T")


class _Part(msgspec.Struct, gc=False, rename="camel"):
    """Kubernetes writes `null` where it means "none": `given` reads both alike."""


def given(items: list[T] | None) -> list[T]:
    return items or []


class KeyToPath(_Part):
    key: str
    path: str = ""


class KeySelector(_Part):
    key: str
    name: str = ""
    optional: bool | None = None


class EnvSource(_Part):
    config_map_key_ref: KeySelector | None = None
    secret_key_ref: KeySelector | None = None


class EnvVar(_Part):
    name: str
    value: str = ""
    value_from: EnvSource | None = None


class NameRef(_Part):
    name: str = ""
    optional: bool | None = None


class EnvFrom(_Part):
    config_map_ref: NameRef | None = None
    secret_ref: NameRef | None = None


class VolumeMount(_Part):
    name: str
    sub_path: str = ""
    sub_path_expr: str = ""


class Container(_Part):
    name: str = ""
    env: list[EnvVar] | None = None
    env_from: list[EnvFrom] | None = None
    volume_mounts: list[VolumeMount] | None = None


class ConfigMapVolume(_Part):
    name: str = ""
    items: list[KeyToPath] | None = None
    optional: bool | None = None


class SecretVolume(_Part):
    secret_name: str = ""
    items: list[KeyToPath] | None = None
    optional: bool | None = None


class Projection(_Part):
    config_map: ConfigMapVolume | None = None
    secret: ConfigMapVolume | None = None


class ProjectedVolume(_Part):
    sources: list[Projection] | None = None


class CsiVolume(_Part):
    driver: str = ""
    volume_attributes: dict[str, str] | None = None


class Volume(_Part):
    name: str
    config_map: ConfigMapVolume | None = None
    secret: SecretVolume | None = None
    projected: ProjectedVolume | None = None
    csi: CsiVolume | None = None


class PodSpec(_Part):
    containers: list[Container] | None = None
    init_containers: list[Container] | None = None
    volumes: list[Volume] | None = None


class TemplateMeta(_Part):
    annotations: dict[str, str] | None = None


class PodTemplate(_Part):
    metadata: TemplateMeta | None = None
    spec: PodSpec | None = None


def fingerprint(raw: msgspec.Raw, *, loose: bool) -> bytes:
    """Of what a template says. In a `loose` one, what is empty says nothing.

    The controllers of custom resources take empty fields out, or put them in, and that replaces no
    pod; the API server's own kinds come in one form.
    """
    said = bytes(raw)
    if loose:
        with suppress(*UNREADABLE):
            said = msgspec.json.encode(without_empty(msgspec.json.decode(raw)), order="sorted")
    return hashlib.blake2b(said, digest_size=16).digest()


def without_empty(value: Any) -> Any:
    """The value less the fields that hold nothing, however deep."""
    if isinstance(value, dict):
        left = ((key, without_empty(each)) for key, each in value.items())
        return {key: each for key, each in left if each not in ({}, [], None)}
    return [without_empty(each) for each in value] if isinstance(value, list) else value


def without_nulls(value: Any) -> Any:
    """The value less what is null, however deep: the API server reads null as absent."""
    if isinstance(value, dict):
        return {key: without_nulls(each) for key, each in value.items() if each is not None}
    if isinstance(value, list):
        return [without_nulls(each) for each in value if each is not None]
    return value
