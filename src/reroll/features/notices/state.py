"""What was told to whom, and what is held since when: one ConfigMap of the controller's namespace.

A key for each notice, so that each is written on its own; bounded, because incidents are. It is
written before the first try of a message and after a receiver took it, and when an incident is
over: so problems are told at least once, and information at most once.
"""

import asyncio
from collections.abc import Collection, Iterable, Mapping

import msgspec

from reroll.controller.logs import Log
from reroll.core.model.unreadable import UNREADABLE
from reroll.core.revisions.copies import MANAGED_BY
from reroll.core.tables.annotations import NOTICES
from reroll.core.tables.news import BY_WORD
from reroll.features.notices.incidents import Delivery
from reroll.kube import api
from reroll.kube.client import Client
from reroll.kube.errors import ApiError, NotFound
from reroll.kube.objects import DataObject, Stub
from reroll.kube.resources import CONFIG_MAPS

log = Log("reroll")
_MOST = 400
"""Entries of one notice that are read."""


def written(entries: Iterable[Delivery]) -> str:
    return msgspec.json.encode(list(entries)).decode()


def read(text: str) -> list[Delivery]:
    """What cannot be read was not told."""
    try:
        found = msgspec.json.decode(text, type=list[Delivery])
    except UNREADABLE:
        return []
    return [one for one in found if one.news in BY_WORD and one.since.tzinfo][:_MOST]


class DeliveryState:
    """`lease`: that of the installation, which names the object."""

    def __init__(self, client: Client, namespace: str, lease: str) -> None:
        self._client, self._namespace, self._lease = client, namespace, lease
        self._name = f"{lease}-notices"
        self._turn = asyncio.Lock()
        self._waiting: dict[str, str | None] = {}
        self._is_told = False

    async def load(self, names: Collection[str]) -> Mapping[str, list[Delivery]]:
        """What the object says of these notices. Raises `ApiError`."""
        selector = f"{NOTICES}={self._lease}"
        pages = api.pages(
            self._client, CONFIG_MAPS, self._namespace, DataObject, label_selector=selector
        )
        data: dict[str, str] = {}
        async for page in pages:
            for one in page.items:
                if one.metadata.name == self._name:
                    data = one.data or {}
        self._waiting |= dict.fromkeys(data.keys() - set(names))
        return {name: read(data[name]) for name in names if name in data}

    async def save(self, name: str, entries: Iterable[Delivery]) -> bool:
        """Whether it is written; what several want written at once is one request."""
        self._waiting[name] = written(entries)
        async with self._turn:
            if not self._waiting:
                return True  # Another one's request took it along.
            data, self._waiting = self._waiting, {}
            try:
                await self._write(data)
            except ApiError as error:
                self._waiting = data | self._waiting
                self._failed(error)
                return False
        self._is_told = False
        return True

    async def _write(self, data: dict[str, str | None]) -> None:
        place = CONFIG_MAPS, self._namespace, self._name
        try:
            await api.merge(self._client, *place, {"data": data}, Stub)
        except NotFound:
            labels = {NOTICES: self._lease, MANAGED_BY: "reroll"}
            body = {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": self._name, "labels": labels},
                "data": {name: text for name, text in data.items() if text is not None},
            }
            await api.create(self._client, CONFIG_MAPS, self._namespace, body, Stub)

    def _failed(self, error: Exception) -> None:
        """Once, until it works again."""
        if not self._is_told:
            self._is_told = True
            log.warning(
                "notices not remembered",
                problem=f"{error}; until this works, problems may be sent again after a restart, "
                "and information is not sent; grant `list`, `create` and "
                f"`patch` on configmaps in namespace {self._namespace}",
            )
