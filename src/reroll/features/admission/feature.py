"""The webhook as a part of the controller: every replica serves, the leader tells whom to trust."""

import asyncio
import base64
from collections.abc import Iterator
from typing import Any

import msgspec

from reroll.clock import Clock
from reroll.controller.logs import Log
from reroll.core.model.metadata import Metadata
from reroll.engine.admission_objects import Service, webhooks
from reroll.features.admission.keeper import Keeper
from reroll.features.admission.webhook import Server
from reroll.kube import wire
from reroll.kube.client import Client
from reroll.kube.errors import ApiError, ConfigError, NotFound
from reroll.kube.watch import Watch
from reroll.settings.table import Settings

RENEW_SECONDS = 3600.0
TRUST_SECONDS = 15.0
log = Log("reroll")


class _Client(msgspec.Struct, rename="camel"):
    ca_bundle: str = ""


class _Hook(msgspec.Struct, rename="camel"):
    name: str
    client_config: _Client


class _Configuration(msgspec.Struct):
    metadata: Metadata
    webhooks: list[_Hook] | None = None


def secret_name(settings: Settings) -> str:
    """Where its certificates are; each installation has its own."""
    return f"{settings.lease}-webhook"


class Webhook:
    """A feature of the supervisor."""

    def __init__(self, client: Client, clock: Clock, settings: Settings, namespace: str) -> None:
        service = Service(namespace)
        usual = f"{service.name}.{namespace}.svc"
        hosts = settings.webhook_names or (usual,)
        self._client = client
        self._keeper = Keeper(client, clock, namespace, secret_name(settings), hosts)
        self._configuration = settings.webhook_configuration
        self._server = Server(settings.webhook)
        self._serving = False
        self._bundle = ""

    async def prepare(self) -> None:
        await self._renew()
        if not self._serving:
            try:
                await self._server.start()
            except OSError as error:
                raise ConfigError(f"{error}; choose another address with --webhook") from None
            self._serving = True

    def stages(self) -> Iterator[list[Watch[Any]]]:
        return iter(())

    async def read(self) -> None:
        """Keep the certificate fresh; on every replica."""
        try:
            while True:
                await asyncio.sleep(RENEW_SECONDS)
                try:
                    await self._renew()
                except ApiError as error:
                    log.warning("certificate not looked at", problem=str(error))
        finally:
            await self._server.stop()

    async def act(self) -> None:
        """Keep the API server told whom to trust; by the leader alone."""
        while True:
            try:
                await self._trust()
            except ApiError as error:
                log.warning("webhook not kept current", problem=str(error))
            await asyncio.sleep(TRUST_SECONDS)

    async def rest(self) -> None:
        """It answers until the end: pods are made while we stop, too."""

    async def _renew(self) -> None:
        kept = await self._keeper.current()
        self._bundle = base64.b64encode(kept.bundle.encode()).decode()
        if kept.own is not None and self._server.show(kept.own):
            log.info(
                "webhook certificate", ends=str(kept.own.ends), authorities=len(kept.authorities)
            )

    async def _trust(self) -> None:
        name = self._configuration
        try:
            raw = await self._client.send(wire.get(webhooks(), None, name))
        except NotFound:
            return  # not installed, or installed as a policy
        found = msgspec.json.decode(raw, type=_Configuration)
        hooks = found.webhooks or []
        if all(hook.client_config.ca_bundle == self._bundle for hook in hooks):
            return
        operations = [
            {
                "op": "test",
                "path": "/metadata/resourceVersion",
                "value": found.metadata.resource_version,
            },
            *(
                {
                    "op": "add",
                    "path": f"/webhooks/{place}/clientConfig/caBundle",
                    "value": self._bundle,
                }
                for place in range(len(hooks))
            ),
        ]
        await self._client.send(wire.json_patch(webhooks(), None, name, operations))
        log.info("webhook trusted", configuration=name)
