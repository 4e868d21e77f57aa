"""The controller itself: its Deployment, the versions that run, and its Lease.

Pure: objects of the cluster in, findings out.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from reroll.answers.controllers import Lease
from reroll.answers.doctor.findings import Check, Finding
from reroll.answers.doctor.installed_settings import (
    OurContainer,
    SettingsSource,
    Volume,
    settings_source,
)
from reroll.core.model.key import Key
from reroll.core.model.metadata import Manifest, number_at, pick, replicas
from reroll.core.model.podspec import given
from reroll.core.model.unreadable import UNREADABLE
from reroll.core.tables.kinds import Kind

DEPLOYMENT = Check("Deployment")
VERSION = Check("version")
LEASE = Check("Lease")
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


def deployments(found: Sequence[Installation]) -> Iterator[Finding]:
    for one in found:
        if one.replicas == 0:
            yield DEPLOYMENT.problem(
                f"{one.key} is scaled to 0: nothing rolls", "scale it to 1 or more"
            )
        elif one.ready == 0:
            yield DEPLOYMENT.problem(
                f"none of {one.replicas} replicas of {one.key} is ready",
                f"see `kubectl describe` of its pods, and their logs: -n {one.key.namespace}",
            )
        elif one.ready < one.replicas:
            yield DEPLOYMENT.warning(
                f"{one.ready} of {one.replicas} replicas of {one.key} are ready",
                f"see `kubectl describe` of its pods: -n {one.key.namespace}",
            )
        else:
            yield DEPLOYMENT.ok(f"{one.key}: {one.ready} of {one.replicas} replicas are ready")
    if len(found) > 1:
        yield DEPLOYMENT.note(
            f"there are {len(found)} installations",
            "each needs its own --lease and namespaces, so that no workload has two",
        )


def nowhere(*, held: bool) -> Finding:
    """There is no Deployment."""
    if held:
        return DEPLOYMENT.note("there is no Deployment of it, but somebody renews its Lease")
    return DEPLOYMENT.problem(
        "there is no controller here: no Deployment of it, and nobody renews its Lease",
        "install the chart, or say where it is with --controller-namespace",
    )


def versions(running: Iterable[tuple[str, str]], ours: str) -> Iterator[Finding]:
    """What runs, as (where, version), against each other and this command."""
    known = [(where, version.removeprefix("v")) for where, version in running if version]
    for where, version in known:
        if version == ours:
            yield VERSION.ok(f"{where} has version {version}, as this command does")
        else:
            yield VERSION.warning(
                f"{where} has version {version}, and this command {ours}",
                "use the same, so that `plan` and `explain` decide as the controller does",
            )
    found = sorted({version for _, version in known})
    if len(found) > 1:
        yield VERSION.warning(
            f"several versions run at once: {', '.join(found)}",
            "see whether a rollout of the controller is stuck",
        )


def lease(
    now: datetime, found: Lease | None, before: Lease | None, where: str, *, wanted: bool
) -> Finding:
    """Whether somebody leads. `before`: the same a while ago, if it looked old then.

    Only that it changes proves that it is renewed: clocks may differ.
    """
    if found is None or not found.spec.holder_identity:
        what = "does not exist" if found is None else "is held by nobody"
        if not wanted:
            return LEASE.note(f"{where} {what}")
        return LEASE.problem(
            f"{where} {what}: no replica leads, so nothing rolls",
            "see the log of the controller; --lease and --controller-namespace say which Lease",
        )
    holder = found.spec.holder_identity
    if found.is_held(now):
        return LEASE.ok(f"{where} is held by {holder}, and renewed")
    if before is not None and before.spec.renew_time != found.spec.renew_time:
        return LEASE.warning(
            f"{where} is renewed by {holder}, whose clock differs from that of this machine",
            "let both follow a time server: times in `explain` and `history` are wrong till then",
        )
    return LEASE.problem(
        f"{where} is held by {holder}, who has not renewed it since {found.spec.renew_time}",
        "see the log of that replica; another takes over when one is ready",
    )
