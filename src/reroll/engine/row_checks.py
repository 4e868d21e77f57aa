"""Checks the rows of a config file against what the API server serves, when their watch begins.

A row that does not fit is no reason to end: its kind may be served tomorrow, in another shape. Each
problem is reported once.
"""

from collections.abc import Mapping

from reroll.clock import Clock
from reroll.controller.logs import Log
from reroll.controller.pace import Backoff
from reroll.controller.queue import Queue
from reroll.controller.worker import Worker
from reroll.core.tables.kinds import Kind
from reroll.core.tables.source_kinds import SourceKind
from reroll.engine import schemas
from reroll.kube import discovery, wire
from reroll.kube.client import Client
from reroll.kube.decode import decoded
from reroll.kube.errors import ApiError, Malformed, NotFound

Row = Kind | SourceKind


log = Log("reroll")
AGAIN = 10.0
"""Seconds until it is looked again for a schema that is not published yet."""
TRIES = 6
"""Some kinds never have one."""


class RowChecks:
    """`rows` are those of the config file, by name. A problem is reported once."""

    def __init__(self, client: Client, clock: Clock, rows: Mapping[str, Row]) -> None:
        self._client, self._rows = client, rows
        self._reported: set[tuple[str, str]] = set()
        self._tries: dict[str, int] = {}
        self._queue: Queue[str] = Queue(clock)
        self._worker = Worker(self._queue, self._check, Backoff(clock), noun="row")

    def watched(self, name: str, state: str) -> None:
        """The watch of a kind changed its state: its row is in use, or cannot be used."""
        if name not in self._rows or state not in {"watching", "absent"}:
            return
        if state == "absent":
            log.info("kind", row=name, problem="it is not served; waiting for its CRD")
        self._tries.pop(name, None)
        self._queue.add(name)

    async def run(self) -> None:
        await self._worker.run()

    async def _check(self, name: str) -> float | None:
        try:
            problems = await problems_of(self._client, self._rows[name])
        except ApiError:
            return None  # Its watch reports that.
        if problems is None:
            tries = self._tries[name] = self._tries.get(name, 0) + 1
            return AGAIN if tries < TRIES else None
        for problem in problems:
            if (name, problem) not in self._reported:
                self._reported.add((name, problem))
                log.warning("kind", row=name, problem=problem)
        return None


async def problems_of(client: Client, row: Row) -> list[str] | None:
    """What is wrong with a row, as far as the API server tells; nothing of what is not served.

    `None`: the server tells nothing of the kind, or publishes no schema of it. Of a new CRD it does
    so a moment after it serves the kind.
    """
    served = await discovery.resources(client, row.group, row.version)
    if served is None:
        versions = await discovery.versions(client, row.group)
        if not versions:
            return []
        return [f"version: {row.group} has no {row.version}; it has {', '.join(versions)}"]
    named = [one for one in served if one.kind == row.kind and "/" not in one.name]
    if not named:
        return None
    if row.plural not in {one.name for one in named}:
        return [f"resource: {row.kind} is not {row.plural}; it is {named[0].name}"]
    if not named[0].namespaced:
        return [f"kind: {row.kind} is in no namespace, and what rolls has to be in one"]
    document = await _document(client, row)
    if document is None or not schemas.tells_of(row, document):
        return None
    return schemas.problems(row, document)


async def _document(client: Client, row: Row) -> schemas.Document | None:
    path = f"/openapi/v3{discovery.root(row.group, row.version)}"
    try:
        raw = await client.send(wire.Request("GET", path, verb="get"))
    except NotFound:
        return None
    try:
        return decoded(raw, schemas.Document)
    except Malformed:
        return None  # What cannot be read says nothing about the row.
