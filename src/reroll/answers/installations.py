"""The installations of Reroll in a cluster, by their Deployments. Pure."""

import re
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from reroll.answers.installed_settings import OurContainer, SettingsSource, Volume, settings_source
from reroll.core.model.key import Key
from reroll.core.model.metadata import Manifest, number_at, pick, replicas
from reroll.core.model.podspec import given
from reroll.core.model.unreadable import UNREADABLE
from reroll.core.tables.kinds import Kind

VERSION_LABEL = "app.kubernetes.io/version"
_VERSION = re.compile(r"v?\d+\.\d+")


class _PodSpec(msgspec.Struct, gc=False, rename="camel"):
    containers: list[OurContainer] | None = None
    service_account_name: str | None = None
    volumes: list[Volume] | None = None


class _Template(msgspec.Struct, gc=False):
    spec: _PodSpec = msgspec.field(default_factory=_PodSpec)


class _Selector(msgspec.Struct, gc=False, rename="camel"):
    match_labels: dict[str, str] | None = None


class Installation(NamedTuple):
    """One Deployment of the controller."""

    key: Key
    replicas: int
    ready: int
    version: str
    """What its label says, else the tag of its image; empty if neither names one."""
    account: str
    selector: str
    """Of its pods, as a label selector."""
    settings: SettingsSource


def installations(found: Iterable[tuple[Kind, Manifest]]) -> list[Installation]:
    listed = (_installation(kind, manifest) for kind, manifest in found)
    return sorted((one for one in listed if one is not None), key=lambda one: one.key)


def _installation(kind: Kind, manifest: Manifest) -> Installation | None:
    try:
        raw = pick(manifest, kind.template)
        template = msgspec.json.decode(raw, type=_Template) if raw else _Template()
        raw = pick(manifest, ("spec", "selector"))
        selector = msgspec.json.decode(raw, type=_Selector) if raw else _Selector()
    except UNREADABLE:
        return None
    ours = next((one for one in given(template.spec.containers) if one.is_ours), None)
    if ours is None:
        return None
    metadata = manifest.metadata
    labels = (selector.match_labels or {}).items()
    return Installation(
        Key(kind.name, metadata.namespace, metadata.name),
        replicas(kind, manifest),
        number_at(manifest, ("status", "readyReplicas")),
        (metadata.labels or {}).get(VERSION_LABEL) or tagged_version(ours.image),
        template.spec.service_account_name or "default",
        ",".join(f"{name}={value}" for name, value in sorted(labels)),
        settings_source(ours, given(template.spec.volumes)),
    )


def tagged_version(image: str) -> str:
    """The version that the tag of an image names; empty where it names none, as `latest` does."""
    tag = image.partition("@")[0].rpartition("/")[2].partition(":")[2]
    return tag if _VERSION.match(tag) else ""
