"""What is written to Injections themselves: their status, and the finalizer that holds them.

What was written is in the registry at once, before a watch brings it.
"""

from contextlib import suppress
from typing import Any, Unpack

import msgspec

from reroll.core.model.injection import FINALIZER, Injection, Manifest, Status
from reroll.core.model.key import Key
from reroll.features.injection.registry import Registry
from reroll.kube import api, wire
from reroll.kube.client import Client
from reroll.kube.errors import NotFound
from reroll.kube.resources import INJECTIONS

_EMPTY: dict[str, Any] = dict.fromkeys(Status.__struct_encode_fields__)


class StatusWriter:
    def __init__(self, client: Client, registry: Registry) -> None:
        self._client, self._registry = client, registry
        self._unsaved: set[Key] = set()

    async def write(self, key: Key, status: Status) -> None:
        """Write a status that is new, or that could not be written before."""
        injection = self._registry.get(key)
        if injection is None or (injection.status == status and self.is_saved(key)):
            return
        self._unsaved.add(key)
        self._registry.set_status(key, status)
        body = {"status": _EMPTY | msgspec.to_builtins(status)}
        await self._send(_merge(key, body, subresource="status"))
        self._unsaved.discard(key)

    def is_saved(self, key: Key) -> bool:
        """Whether the last status was written, as far as is known."""
        return key not in self._unsaved

    async def set_finalizer(self, injection: Injection, *, hold: bool) -> None:
        """Have the deletion of an Injection wait for the controller, or no longer."""
        others = [name for name in injection.finalizers if name != FINALIZER]
        finalizers = [*others, FINALIZER] if hold else others
        body = {"metadata": {"resourceVersion": injection.version, "finalizers": finalizers}}
        if injection.deleting and not finalizers:
            # It goes with its last finalizer; the watch may have removed it already.
            with suppress(NotFound):
                await self._client.send(_merge(injection.key, body))
            self._registry.remove(injection.key, injection.uid)
        else:
            await self._send(_merge(injection.key, body))

    def forget(self, key: Key) -> None:
        self._unsaved.discard(key)

    async def _send(self, request: wire.Request) -> None:
        with suppress(NotFound):  # It was deleted, and its status with it.
            self._registry.add(await api.send(self._client, request, Manifest))


def _merge(key: Key, body: object, **how: Unpack[wire.Writing]) -> wire.Request:
    return wire.merge_patch(INJECTIONS, key.namespace, key.name, body, **how)
