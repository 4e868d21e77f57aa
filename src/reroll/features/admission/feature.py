"""The webhook in the controller: every replica serves it, the leader writes its CA bundle."""

import asyncio
import base64

import msgspec

from reroll.clock import Clock
from reroll.controller.feature import Feature
from reroll.controller.logs import Log
from reroll.core.model.metadata import Metadata
from reroll.core.write.patches import pointer
from reroll.engine.admission_objects import Service
from reroll.features.admission.store import CertificateStore
from reroll.features.admission.webhook import Server
from reroll.kube import api
from reroll.kube.client import Client
from reroll.kube.errors import ApiError, ConfigError
from reroll.kube.objects import Stub
from reroll.kube.resources import WEBHOOKS
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
    """The Secret with its certificates; each installation has its own."""
    return f"{settings.lease}-webhook"


class Webhook(Feature):
    """It answers until the end: pods are created while the controller stops, too."""

    def __init__(self, client: Client, clock: Clock, settings: Settings, namespace: str) -> None:
        service = Service(namespace)
        usual = f"{service.name}.{namespace}.svc"
        hosts = settings.webhook_names or (usual,)
        self._client = client
        self._store = CertificateStore(client, clock, namespace, secret_name(settings), hosts)
        self._configuration = settings.webhook_configuration
        self._server = Server(settings.webhook, settings.webhook_client_ca)
        self._serving = False
        self._bundle = ""

    async def prepare(self) -> None:
        await self._renew()
        try:
            await self._serve()
        except OSError as error:
            raise ConfigError(f"{error}; choose another address with --webhook") from None

    async def read(self) -> None:
        """Answer, and renew the certificate; on every replica."""
        try:
            await self._serve()
            while True:
                await asyncio.sleep(RENEW_SECONDS)
                try:
                    await self._renew()
                except (ApiError, ConfigError) as error:
                    log.warning("webhook certificate not checked", problem=str(error))
        finally:
            self._serving = False
            await self._server.stop()

    async def _serve(self) -> None:
        if not self._serving:
            await self._server.start()
            self._serving = True

    async def act(self) -> None:
        """Keep the CA bundle of the configuration current; by the leader alone."""
        while True:
            try:
                await self._trust()
            except ApiError as error:
                log.warning("webhook configuration not updated", problem=str(error))
            await asyncio.sleep(TRUST_SECONDS)

    async def _renew(self) -> None:
        held = await self._store.current()
        self._bundle = base64.b64encode(held.bundle.encode()).decode()
        if held.own is not None and self._server.show(held.own):
            count = len(held.authorities)
            log.info("webhook certificate", ends=str(held.own.ends), authorities=count)

    async def _trust(self) -> None:
        name = self._configuration
        configuration = await api.find(self._client, WEBHOOKS, None, name, _Configuration)
        if configuration is None:
            return  # not installed, or installed as a policy
        hooks = configuration.webhooks or []
        if all(hook.client_config.ca_bundle == self._bundle for hook in hooks):
            return
        version, bundle = configuration.metadata.resource_version, self._bundle
        paths = [pointer("webhooks", i, "clientConfig", "caBundle") for i in range(len(hooks))]
        operations = [
            {"op": "test", "path": pointer("metadata", "resourceVersion"), "value": version},
            *({"op": "add", "path": path, "value": bundle} for path in paths),
        ]
        await api.patch(self._client, WEBHOOKS, None, name, operations, Stub)
        log.info("webhook trusted", configuration=name)
