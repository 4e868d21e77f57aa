"""Put the rewriting of pods into a cluster, and take it out again.

Everything is applied server-side, so doing it twice changes nothing.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from reroll.core.model.metadata import Metadata
from reroll.engine.admission_objects import (
    VERSIONS,
    Manifest,
    Mode,
    Service,
    bindings,
    policies,
    webhooks,
)
from reroll.features.admission.modes import Seen
from reroll.kube import discovery, wire
from reroll.kube.client import Client
from reroll.kube.errors import Forbidden, NotFound

SERVICES = wire.Resource("", "v1", "services", "Service")
SECRETS = wire.Resource("", "v1", "secrets", "Secret")
CERTIFICATES = "reroll-webhook"
"""The Secret with the webhook's certificates, unless the controller's Lease has another name."""


class Done(NamedTuple):
    """What became of one object."""

    kind: str
    name: str
    what: str


class _Named(msgspec.Struct):
    metadata: Metadata


class _Certificates(msgspec.Struct):
    data: dict[str, str] | None = None


async def see(client: Client, namespace: str, url: str = "") -> Seen:
    """What the cluster serves; `namespace` is the controller's, where the webhook would be."""
    served = [
        version
        for version in VERSIONS
        if await discovery.serves(client, policies(version), bindings(version))
    ]
    return Seen(frozenset(served), url or await _service(client, Service(namespace)))


async def _service(client: Client, service: Service) -> Service | str:
    try:
        await client.send(wire.get(SERVICES, service.namespace, service.name, metadata_only=True))
    except (NotFound, Forbidden):
        return ""
    return service


async def authorities(client: Client, namespace: str, secret: str) -> str:
    """Whom the API server has to trust, in base64; empty if that is not known yet, or not to us."""
    try:
        raw = await client.send(wire.get(SECRETS, namespace, secret))
    except (NotFound, Forbidden):
        return ""
    return (msgspec.json.decode(raw, type=_Certificates).data or {}).get("ca.crt", "")


async def apply(client: Client, manifests: Iterable[Manifest]) -> list[Done]:
    """Apply them in order; says of each whether it was there, and whether it changed."""
    return [await _apply(client, manifest) for manifest in manifests]


async def _apply(client: Client, manifest: Manifest) -> Done:
    resource, name = _resource(manifest), manifest["metadata"]["name"]
    before = await _version(client, resource, name)
    raw = await client.send(wire.apply(resource, None, name, manifest, force=True))
    after = msgspec.json.decode(raw, type=_Named).metadata.resource_version
    what = "unchanged" if before == after else "changed" if before else "created"
    return Done(resource.kind, name, what)


async def remove(client: Client, name: str, modes: Iterable[Mode] = tuple(Mode)) -> list[Done]:
    """Take what is of that name away; the binding first, so that nothing is half in force."""
    done = []
    for resource in (row for mode in modes for row in _OBJECTS[mode]):
        try:
            await client.send(wire.delete(resource, None, name))
        except NotFound:
            continue
        done.append(Done(resource.kind, name, "deleted"))
    return done


_OBJECTS: Mapping[Mode, tuple[wire.Resource, ...]] = {
    Mode.POLICY: tuple(row for v in VERSIONS for row in (bindings(v), policies(v))),
    Mode.WEBHOOK: (webhooks(),),
    Mode.TEMPLATE: (),
}


async def _version(client: Client, resource: wire.Resource, name: str) -> str:
    try:
        raw = await client.send(wire.get(resource, None, name, metadata_only=True))
    except NotFound:
        return ""
    return msgspec.json.decode(raw, type=_Named).metadata.resource_version


def _resource(manifest: Mapping[str, Any]) -> wire.Resource:
    group, _, version = manifest["apiVersion"].rpartition("/")
    rows = (policies(version), bindings(version), webhooks())
    return next(row for row in rows if (row.kind, row.group) == (manifest["kind"], group))
