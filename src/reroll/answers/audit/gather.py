"""Gathers the running pods of a cluster, and judges what they have of their sources.

Reads only. Of Secrets it reads the metadata; with certificates, also the certificates in them.
"""

import asyncio
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from reroll.answers.audit.judge import AuditedPod, judge
from reroll.answers.audit.report import (
    Audited,
    Certificates,
    controller_of,
    owner,
    with_certificates,
)
from reroll.answers.configs import every_config
from reroll.core.model.key import Key
from reroll.core.model.metadata import Metadata
from reroll.core.observe.provenance import Writes, writes
from reroll.core.observe.staleness import Known
from reroll.kube import resources
from reroll.kube.objects import Stub
from reroll.kube.view import View
from reroll.x509 import Certificate, certificates

MAKERS = (resources.REPLICA_SETS, resources.JOBS)
"""What stands between a pod and its workload."""


class _Public(msgspec.Struct, gc=False):
    """Of the data of a Secret, what is no secret; the rest is not even decoded."""

    tls: str = msgspec.field(default="", name="tls.crt")
    ca: str = msgspec.field(default="", name="ca.crt")


class _Secret(msgspec.Struct, gc=False):
    metadata: Metadata
    data: _Public | None = None


class Audit(NamedTuple):
    pods: list[Audited]
    certificates: Certificates


async def audit(
    view: View, selector: str | None, *, mounts_are_live: bool, read_certificates: bool
) -> Audit:
    """The pods that run and have the labels of `selector`."""
    known = await _known(view)
    audited = await judged(view, selector, known, mounts_are_live=mounts_are_live)
    if not read_certificates:
        return Audit(audited, {})
    there = await _certificates(view, audited)
    return Audit([with_certificates(each, there) for each in audited], there)


async def judged(
    view: View, selector: str | None, known: Known, *, mounts_are_live: bool = True
) -> list[Audited]:
    """What the pods that run have of the sources that are known."""
    pods, makers = await asyncio.gather(
        view.every(resources.PODS, AuditedPod, label_selector=selector), _makers(view)
    )
    return [
        Audited(
            key := Key("Pod", pod.metadata.namespace, pod.metadata.name),
            owner(pod.metadata, key, makers),
            tuple(judge(pod, known, mounts_are_live=mounts_are_live)),
        )
        for pod in pods
        if pod.runs
    ]


async def _known(view: View) -> Known:
    """The writes of every source; of kinds that may not be listed nothing is known."""
    configs = await every_config(view)
    written = {key: writes(metadata) for key, metadata in configs.there.items()}

    def known(source: Key) -> Writes | None:
        if source.kind in configs.blind:
            raise KeyError(source)
        return written.get(source)

    return known


async def _makers(view: View) -> dict[Key, Key]:
    """The controllers of what makes pods."""
    lists = await asyncio.gather(*(view.every(maker, Stub) for maker in MAKERS))
    return {
        Key(maker.kind, stub.metadata.namespace, stub.metadata.name): above
        for maker, stubs in zip(MAKERS, lists, strict=True)
        for stub in stubs
        if (above := controller_of(stub.metadata))
    }


async def _certificates(view: View, audited: Iterable[Audited]) -> Certificates:
    """Of the Secrets that pods use; what may not be read is a gap."""
    there: dict[Key, tuple[Certificate, ...]] = {}
    used = {finding.source for each in audited for finding in each.findings}
    for key in sorted(key for key in used if key.kind == "Secret"):
        secret = await view.get(resources.SECRETS, key.namespace, key.name, _Secret)
        if secret and secret.data:
            public = {"tls.crt": secret.data.tls, "ca.crt": secret.data.ca}
            there[key] = tuple(certificates(public))
    return there
