"""Rows of a config file against what the API server serves: looked at when their watch begins.

A row that does not fit is no reason to end: its kind may be there tomorrow, in another shape. It is
told, once for each thing that is wrong with it.
"""

import asyncio
from collections.abc import Mapping

import msgspec

from reroll.controller.logs import Log
from reroll.core.tables.kinds import Kind, SourceKind
from reroll.engine import schemas
from reroll.kube import discovery, wire
from reroll.kube.client import Client
from reroll.kube.errors import ApiError, NotFound

Row = Kind | SourceKind


class Shapes:
    """`rows` are those of the file, by name."""

    def __init__(self, client: Client, rows: Mapping[str, Row], log: Log) -> None:
        self._client, self._rows, self._log = client, rows, log
        self._waiting: asyncio.Queue[Row] = asyncio.Queue()
        self._told: set[tuple[str, str]] = set()

    def watched(self, name: str, state: str) -> None:
        """The watch of a kind came to be in a state: its row is in use, or cannot be used."""
        row = self._rows.get(name)
        if row is None or state not in {"watching", "absent"}:
            return
        if state == "absent":
            self._log.info("kind", row=name, problem="it is not served; waiting for its CRD")
        self._waiting.put_nowait(row)

    async def run(self) -> None:
        while True:
            row = await self._waiting.get()
            try:
                found = await problems(self._client, row)
            except ApiError:
                continue  # Its watch tells people about that.
            for problem in found:
                if (row.name, problem) not in self._told:
                    self._told.add((row.name, problem))
                    self._log.warning("kind", row=row.name, problem=problem)


async def problems(client: Client, row: Row) -> list[str]:
    """What is wrong with a row, as far as the API server tells; nothing of what is not served."""
    served = await discovery.resources(client, row.group, row.version)
    if served is None:
        versions = await discovery.versions(client, row.group)
        if not versions:
            return []
        return [f"version: {row.group} has no {row.version}; it has {', '.join(versions)}"]
    named = [one for one in served if one.kind == row.kind and "/" not in one.name]
    if not named:
        return []
    if row.plural not in {one.name for one in named}:
        return [f"resource: {row.kind} is not {row.plural}; it is {named[0].name}"]
    if not named[0].namespaced:
        return [f"kind: {row.kind} is in no namespace, and what rolls has to be in one"]
    document = await _document(client, row)
    return schemas.problems(row, document) if document else []


async def _document(client: Client, row: Row) -> schemas.Document | None:
    path = f"/openapi/v3{discovery.root(row.group, row.version)}"
    try:
        raw = await client.send(wire.Request("GET", path, verb="get"))
    except NotFound:
        return None
    return msgspec.json.decode(raw, type=schemas.Document)
