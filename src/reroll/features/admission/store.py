"""The Secret with the webhook's certificates: created on the first start, renewed in time.

Every replica does both; writes are guarded, so of several that renew at once one wins and the
others take what it wrote. Keys are made in a process of their own, because the library for it takes
half as much memory as all the rest.
"""

import asyncio
import json
import sys
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from reroll.clock import Clock
from reroll.core.tables.annotations import DOMAIN
from reroll.features.admission import certificates
from reroll.features.admission.certificates import (
    AUTHORITY_LIFETIME,
    LIFETIME,
    Certificates,
    Due,
    Pem,
    due,
    signer,
)
from reroll.kube import api
from reroll.kube.client import Client
from reroll.kube.errors import AlreadyExists, ConfigError, Conflict, NotFound
from reroll.kube.objects import DataObject, Stub
from reroll.kube.resources import SECRETS

HOSTS = DOMAIN + "hosts"
SKEW = timedelta(hours=1)
"""A clock that runs a little late must accept a new certificate, too."""
SIGNING = "reroll.pki"


class CertificateStore:
    """The certificates for `hosts` in the Secret `name`."""

    def __init__(
        self, client: Client, clock: Clock, namespace: str, name: str, hosts: Sequence[str]
    ) -> None:
        self._client, self._clock = client, clock
        self._namespace, self._name = namespace, name
        self._hosts = tuple(hosts)

    async def current(self) -> Certificates:
        """What the webhook shows and the API server has to trust; renewed if that is due."""
        while True:
            secret = await api.find(self._client, SECRETS, self._namespace, self._name, DataObject)
            annotations = (secret.metadata.annotations if secret else None) or {}
            data = (secret.data if secret else None) or {}
            held = certificates.read(data, annotations.get(HOSTS, ""))
            needed = due(held, ",".join(self._hosts), self._clock.now())
            if needed.is_nothing:
                return held
            fresh = await self._renewed(held, needed)
            try:
                await self._write(secret, fresh)
            except (AlreadyExists, Conflict, NotFound):
                continue  # Another replica was first, or the Secret was deleted: read it again.
            return fresh

    async def _renewed(self, held: Certificates, needed: Due) -> Certificates:
        now = self._clock.now()
        authorities = needed.authorities
        if needed.authority:
            authorities = (*authorities, await self._made("reroll webhook", AUTHORITY_LIFETIME))
        own = held.own
        if needed.certificate:
            own = await self._made(self._hosts[0], LIFETIME, signer(authorities, now))
        return Certificates(authorities, own, ",".join(self._hosts))

    async def _made(self, name: str, lifetime: timedelta, authority: Pem | None = None) -> Pem:
        now = self._clock.now()
        order = {
            "name": name[:64],  # as long as a common name may be; it is never read
            "begins": (now - SKEW).isoformat(),
            "ends": (now + lifetime).isoformat(),
            "authority": authority,
            "hosts": self._hosts,
        }
        return await _sign(order)

    async def _write(self, secret: DataObject | None, fresh: Certificates) -> None:
        metadata: dict[str, Any] = {"annotations": {HOSTS: fresh.hosts}}
        body = {"metadata": metadata, "data": certificates.write(fresh)}
        if secret is not None:
            metadata["resourceVersion"] = secret.metadata.resource_version
            await api.merge(self._client, SECRETS, self._namespace, self._name, body, Stub)
            return
        metadata |= {"name": self._name, "labels": {"app.kubernetes.io/managed-by": "reroll"}}
        whole = {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", **body}
        await api.create(self._client, SECRETS, self._namespace, whole, Stub)


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
            "the webhook's certificate could not be created; install the package for it with "
            "`pip install 'reroll[webhook]'`"
        )
    return Pem(*json.loads(out))
