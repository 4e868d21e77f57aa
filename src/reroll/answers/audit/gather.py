"""Gathers the running pods of a cluster, and judges what they have of their sources.

Reads only. Of Secrets it reads the metadata; with certificates, also the certificates in them.
"""

from collections.abc import Collection, Iterable
from functools import partial
from typing import NamedTuple

import msgspec

from reroll.answers.audit.report import Audited, Certificates, with_certificates
from reroll.core.model.key import Key
from reroll.core.model.metadata import Metadata
from reroll.core.observe.provenance import Writes
from reroll.core.observe.staleness import Known
from reroll.engine.configs import every_write
from reroll.engine.owned_pods import owned_pods
from reroll.kube import resources
from reroll.kube.view import View
from reroll.x509 import Certificate, certificates


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
    learn = partial(_known, view)
    pods = await owned_pods(view, selector, learn, mounts_are_live=mounts_are_live)
    audited = [Audited(pod.key, pod.workload, pod.facts.findings, pod.facts.runs) for pod in pods]
    if not read_certificates:
        return Audit(audited, {})
    there = await _certificates(view, audited)
    return Audit([with_certificates(each, there) for each in audited], there)


async def _known(view: View, used_in: Collection[str]) -> Known:
    """The writes of every source there; of kinds that may not be listed nothing is known."""
    written = await every_write(view, used_in)

    def known(source: Key) -> Writes | None:
        if source.kind in written.blind:
            raise KeyError(source)
        return written.by.get(source)

    return known


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
