"""The Secret with the webhook's certificates: made on the first start, and kept fresh.

Every replica looks after it; a write is guarded, so that of several who renew at once one wins and
the others take what it wrote. Keys are made in a process of their own, because the library for it
takes half as much memory as all the rest.
"""

import asyncio
import json
import sys
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import msgspec

from reroll.clock import Clock
from reroll.core.model.metadata import Metadata
from reroll.core.tables.annotations import DOMAIN
from reroll.features.admission import certificates
from reroll.features.admission.certificates import (
    AUTHORITY_LIFETIME,
    LIFETIME,
    Kept,
    Pem,
    Todo,
    signer,
    todo,
)
from reroll.kube import wire
from reroll.kube.client import Client
from reroll.kube.errors import AlreadyExists, ConfigError, Conflict, NotFound

HOSTS = DOMAIN + "hosts"
SECRETS = wire.Resource("", "v1", "secrets", "Secret")
SKEW = timedelta(hours=1)
"""A clock that is stepped back a little must not meet a certificate of the future."""
SIGNING = "reroll.pki"


class _Secret(msgspec.Struct):
    metadata: Metadata
    data: dict[str, str] | None = None


class Keeper:
    def __init__(
        self, client: Client, clock: Clock, namespace: str, name: str, hosts: Sequence[str]
    ) -> None:
        self._client, self._clock = client, clock
        self._namespace, self._name = namespace, name
        self._hosts = tuple(hosts)

    async def current(self) -> Kept:
        """What the webhook shows and the API server has to trust; renewed if it is time."""
        while True:
            secret = await self._read()
            annotations = (secret.metadata.annotations if secret else None) or {}
            data = (secret.data if secret else None) or {}
            kept = certificates.read(data, annotations.get(HOSTS, ""))
            needed = todo(kept, ",".join(self._hosts), self._clock.now())
            if needed.is_nothing:
                return kept
            fresh = await self._renewed(kept, needed)
            try:
                await self._client.send(self._write(secret, fresh))
            except (AlreadyExists, Conflict, NotFound):
                continue  # another replica was first, or somebody deleted it: look again
            return fresh

    async def _read(self) -> _Secret | None:
        try:
            raw = await self._client.send(wire.get(SECRETS, self._namespace, self._name))
        except NotFound:
            return None
        return msgspec.json.decode(raw, type=_Secret)

    async def _renewed(self, kept: Kept, needed: Todo) -> Kept:
        now = self._clock.now()
        authorities = needed.kept
        if needed.authority:
            authorities = (*authorities, await self._made("reroll webhook", AUTHORITY_LIFETIME))
        own = kept.own
        if needed.certificate:
            own = await self._made(self._hosts[0], LIFETIME, signer(authorities, now))
        return Kept(authorities, own, ",".join(self._hosts))

    async def _made(self, name: str, lifetime: timedelta, authority: Pem | None = None) -> Pem:
        now = self._clock.now()
        order = {
            "name": name[:64],  # as long as a common name may be; nobody reads it
            "begins": (now - SKEW).isoformat(),
            "ends": (now + lifetime).isoformat(),
            "authority": authority,
            "hosts": self._hosts,
        }
        return await _sign(order)

    def _write(self, secret: _Secret | None, fresh: Kept) -> wire.Request:
        body: dict[str, Any] = {
            "metadata": {"annotations": {HOSTS: fresh.hosts}},
            "data": certificates.write(fresh),
        }
        if secret is not None:
            body["metadata"]["resourceVersion"] = secret.metadata.resource_version
            return wire.merge_patch(SECRETS, self._namespace, self._name, body)
        body["metadata"] |= {
            "name": self._name,
            "labels": {"app.kubernetes.io/managed-by": "reroll"},
        }
        whole = {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", **body}
        return wire.create(SECRETS, self._namespace, whole)


async def _sign(order: dict[str, Any]) -> Pem:
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", SIGNING),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,  # a traceback could hold a key
    )
    out, _ = await child.communicate(json.dumps(order).encode())
    if child.returncode:
        raise ConfigError(
            "the webhook's certificate could not be made; its package is installed with "
            "`pip install 'reroll[webhook]'`"
        )
    return Pem(*json.loads(out))
