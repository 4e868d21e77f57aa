"""What the API server serves: which resource a kind is, and in which versions.

Everybody who is logged in may ask.
"""

import msgspec

from reroll.kube import wire
from reroll.kube.client import Client
from reroll.kube.errors import NotFound


class _Served(msgspec.Struct):
    class Resource(msgspec.Struct):
        name: str
        kind: str = ""
        namespaced: bool = True

    resources: list[Resource]


class _Group(msgspec.Struct):
    class Version(msgspec.Struct):
        version: str

    versions: list[Version]


_served = msgspec.json.Decoder(_Served)
_group = msgspec.json.Decoder(_Group)


async def find(client: Client, api_version: str, kind: str) -> wire.Resource | None:
    """The resource of a kind in one version of its API; `None` if it is not served."""
    group, _, version = api_version.rpartition("/")
    path = f"/apis/{group}/{version}" if group else f"/api/{version}"
    try:
        raw = await client.send(wire.Request("GET", path, verb="get"))
    except NotFound:
        return None
    for one in _served.decode(raw).resources:
        if one.kind == kind and "/" not in one.name:
            return wire.Resource(group, version, one.name, kind, one.namespaced)
    return None


async def versions(client: Client, group: str) -> list[str]:
    """The versions of a group that are served, the preferred one first."""
    if not group:
        return ["v1"]
    try:
        raw = await client.send(wire.Request("GET", f"/apis/{group}", verb="get"))
    except NotFound:
        return []
    return [one.version for one in _group.decode(raw).versions]
