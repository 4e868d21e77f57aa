"""Installs and removes what makes the API server rewrite pods.

Everything is applied server-side, so doing it twice changes nothing.
"""

from collections.abc import Iterable
from typing import NamedTuple

from reroll.clock import Clock
from reroll.core.model.key import Key
from reroll.core.revisions.templates import template_pins
from reroll.engine.admission_objects import OLDEST_MINOR, VERSIONS, Manifest, Mode, Service
from reroll.engine.rewriters import Installed
from reroll.features.admission import probe
from reroll.features.admission.modes import Capabilities, Choice
from reroll.features.admission.probe import Probe
from reroll.kube import api, discovery
from reroll.kube.client import Client
from reroll.kube.errors import Forbidden
from reroll.kube.objects import DataObject, Stub
from reroll.kube.resources import (
    NAMESPACES,
    SECRETS,
    SERVICES,
    WEBHOOKS,
    admission_policies,
    admission_policy_bindings,
)
from reroll.kube.view import View

CERTIFICATES = "reroll-webhook"
"""The Secret with the webhook's certificates, unless the controller's Lease has another name."""
_OBJECTS = {
    Mode.POLICY: tuple(
        row
        for version in VERSIONS
        for row in (admission_policy_bindings(version), admission_policies(version))
    ),
    Mode.WEBHOOK: (WEBHOOKS,),
    Mode.TEMPLATE: (),
}
"""In the order in which they are deleted: a policy without its binding does nothing."""


class Done(NamedTuple):
    """What became of one object."""

    kind: str
    name: str
    what: str


async def capabilities(client: Client, namespace: str, url: str = "") -> Capabilities:
    """What the cluster offers; `namespace` is the controller's, where the webhook would be."""
    minor = (await discovery.version(client)).minor
    is_able = minor is None or minor >= OLDEST_MINOR
    served = [
        version
        for version in VERSIONS
        if is_able
        and await discovery.serves(
            client, admission_policies(version), admission_policy_bindings(version)
        )
    ]
    return Capabilities(frozenset(served), url or await _service(client, Service(namespace)))


async def _service(client: Client, service: Service) -> Service | str:
    try:
        stub = await api.find(client, SERVICES, service.namespace, service.name, Stub)
    except Forbidden:
        return ""
    return service if stub else ""


async def authorities(client: Client, namespace: str, secret: str) -> str:
    """The CA bundle of the webhook in base64; empty if it is not there, or may not be read."""
    try:
        held = await api.find(client, SECRETS, namespace, secret, DataObject)
    except Forbidden:
        return ""
    return (held.data or {}).get("ca.crt", "") if held else ""


async def install(
    view: View, clock: Clock, choice: Choice, manifests: Iterable[Manifest]
) -> tuple[list[Done], Probe]:
    """Apply the manifests in order, and test whether they are in force.

    A policy that the API server accepts and ignores is removed again.
    """
    manifests = list(manifests)
    done = [await _apply(view.client, manifest) for manifest in manifests]
    result = await probe.confirm(view, clock) if manifests else Probe("")
    if choice.mode is Mode.POLICY and result.rewritten is False and not result.problem:
        await remove(view.client, done[0].name, [Mode.POLICY])
    return done, result


async def _apply(client: Client, manifest: Manifest) -> Done:
    kind, name = manifest["kind"], manifest["metadata"]["name"]
    rows = (row for rows in _OBJECTS.values() for row in rows)
    wanted = (kind, manifest["apiVersion"])
    resource = next(row for row in rows if (row.kind, row.api_version) == wanted)
    before = await api.find(client, resource, None, name, Stub)
    after = await api.apply(client, resource, None, name, manifest, Stub)
    if before is None:
        return Done(kind, name, "created")
    same = before.metadata.resource_version == after.metadata.resource_version
    return Done(kind, name, "unchanged" if same else "changed")


async def remove(
    client: Client, name: str, modes: Iterable[Mode] = tuple(Mode), *, dry_run: bool = False
) -> list[Done]:
    """Delete the objects of that name; the binding first, so that nothing is half in force."""
    every = [resource for mode in modes for resource in _OBJECTS[mode]]
    if dry_run:
        there = [one for one in every if await api.find(client, one, None, name, Stub)]
        return [Done(one.kind, name, "would be deleted") for one in there]
    return [
        Done(one.kind, name, "deleted")
        for one in every
        if await api.delete(client, one, None, name)
    ]


async def dependents(view: View, clock: Clock) -> list[Key]:
    """The workloads of all namespaces whose pods would have to be rewritten, and are not."""
    everywhere = View(view.client, None, view.home)
    installed = Installed(view.client, clock)
    await installed.refresh()
    stubs = await everywhere.every(NAMESPACES, Stub)
    labels = {stub.metadata.name: stub.metadata.labels for stub in stubs}
    keys = [
        one.workload.key
        for one in await everywhere.workloads()
        if (pins := template_pins(one.kind, one.manifest)) and not pins.in_template
    ]
    view.gaps += everywhere.gaps
    return [key for key in keys if not installed.covers(key.namespace, labels.get(key.namespace))]
