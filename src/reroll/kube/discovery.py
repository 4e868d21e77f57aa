"""What the API server serves: which resource a kind is, and in which versions.

Every authenticated user may ask.
"""

import re
from typing import TypeVar

import msgspec

from reroll.kube import wire
from reroll.kube.client import Client
from reroll.kube.decode import decoded
from reroll.kube.errors import NotFound


class Served(msgspec.Struct):
    """One resource of a version of a group; those with a slash are parts of others."""

    name: str
    kind: str = ""
    namespaced: bool = True


class _Resources(msgspec.Struct):
    resources: list[Served] = []


class _Group(msgspec.Struct):
    class Version(msgspec.Struct):
        version: str

    versions: list[Version] = []


class Version(msgspec.Struct, rename="camel"):
    """Of Kubernetes, as the API server says it."""

    git_version: str = ""

    @property
    def minor(self) -> int | None:
        """`None` where it does not look like one."""
        found = re.match(r"v1\.(\d{1,4})(?!\d)", self.git_version)
        return int(found[1]) if found else None


T = TypeVar("T")


async def version(client: Client) -> Version:
    return await _ask(client, "/version", Version) or Version()


def root(group: str, version: str) -> str:
    """The path of one version of a group."""
    return f"/apis/{group}/{version}" if group else f"/api/{version}"


async def resources(client: Client, group: str, version: str) -> list[Served] | None:
    """What one version of a group has; `None` if it is not served."""
    answer = await _ask(client, root(group, version), _Resources)
    return answer.resources if answer else None


async def serves(client: Client, *wanted: wire.Resource) -> bool:
    """Whether all of these are there; they are of one version of a group."""
    served = await resources(client, wanted[0].group, wanted[0].version)
    names = {one.name for one in served or ()}
    return all(one.plural in names for one in wanted)


async def find(client: Client, api_version: str, kind: str) -> wire.Resource | None:
    """The resource of a kind in one version of its API; `None` if it is not served."""
    group, _, version = api_version.rpartition("/")
    for one in await resources(client, group, version) or ():
        if one.kind == kind and "/" not in one.name:
            return wire.Resource(group, version, one.name, kind, one.namespaced)
    return None


async def versions(client: Client, group: str) -> list[str]:
    """The versions of a group that are served, the preferred one first."""
    if not group:
        return ["v1"]
    answer = await _ask(client, f"/apis/{group}", _Group)
    return [one.version for one in answer.versions] if answer else []


async def _ask(client: Client, path: str, model: type[T]) -> T | None:
    try:
        raw = await client.send(wire.Request("GET", path, verb="get"))
    except NotFound:
        return None
    return decoded(raw, model, path)
