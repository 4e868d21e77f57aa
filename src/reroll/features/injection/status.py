"""What is written to Injections themselves: their status, and the finalizer that holds them."""

from contextlib import suppress
from typing import Any

import msgspec

from reroll.core.model.injection import (
    FINALIZER,
    GROUP,
    KIND,
    PLURAL,
    VERSION,
    Injection,
    Manifest,
    Status,
)
from reroll.core.model.key import Key
from reroll.features.injection.registry import Book
from reroll.kube import wire
from reroll.kube.client import Client
from reroll.kube.errors import NotFound

INJECTIONS = wire.Resource(GROUP, VERSION, PLURAL, KIND)
_manifest = msgspec.json.Decoder(Manifest)
_NOTHING: dict[str, Any] = dict.fromkeys(Status.__struct_encode_fields__)


class Objects:
    """The book has what was written at once, before any watch tells."""

    def __init__(self, client: Client, book: Book) -> None:
        self._client, self._book = client, book
        self._unsaved: set[Key] = set()

    async def show(self, one: Injection, status: Status) -> None:
        """Write a status, if it is news or could not be written before."""
        now = self._book.get(one.key)
        if now is None or (now.status == status and one.key not in self._unsaved):
            return
        self._unsaved.add(one.key)
        self._book.told(one.key, status)
        body = {"status": _NOTHING | msgspec.to_builtins(status)}
        key = one.key
        request = wire.merge_patch(INJECTIONS, key.namespace, key.name, body, subresource="status")
        await self._send(request)
        self._unsaved.discard(key)

    def is_shown(self, key: Key) -> bool:
        """Whether its status is what it should be, as far as we know."""
        return key not in self._unsaved

    async def finalize(self, one: Injection, *, hold: bool) -> None:
        """Have an Injection that is deleted wait for us, or not any longer."""
        others = [name for name in one.finalizers if name != FINALIZER]
        finalizers = [*others, FINALIZER] if hold else others
        body = {"metadata": {"resourceVersion": one.version, "finalizers": finalizers}}
        request = wire.merge_patch(INJECTIONS, one.key.namespace, one.key.name, body)
        if not (one.deleting and not finalizers):
            await self._send(request)
            return
        with suppress(NotFound):
            await self._client.send(request)
        # It went with its last finalizer; the watch may have told so already.
        self._book.gone(one.key, one.uid)

    def forget(self, key: Key) -> None:
        self._unsaved.discard(key)

    async def _send(self, request: wire.Request) -> None:
        try:
            self._book.seen(_manifest.decode(await self._client.send(request)))
        except NotFound:
            return  # It is gone, and so is what was to tell.
