"""The rows of a config file against what the API server tells of their kinds, and when."""

import asyncio
from typing import Any

import msgspec
import pytest
from tests.kube.fakes import StillClock

from reroll.core.tables.custom import tables
from reroll.engine import row_checks
from reroll.engine.row_checks import AGAIN, TRIES, RowChecks
from reroll.kube import wire
from reroll.kube.errors import NotFound

(ROW,) = tables(
    [
        {
            "group": "example.com",
            "version": "v1",
            "kind": "Machine",
            "resource": "machines",
            "template": "spec.tmplate",
        }
    ],
    None,
)[0].custom.values()
DISCOVERED, PUBLISHED = "/apis/example.com/v1", "/openapi/v3/apis/example.com/v1"
MACHINE = {
    "type": "object",
    "properties": {"spec": {"type": "object", "properties": {"template": {"type": "object"}}}},
    "x-kubernetes-group-version-kind": [
        {"group": "example.com", "version": "v1", "kind": "Machine"}
    ],
}
OTHER = {"type": "object"}


class Server:
    """Answers what it has at a path."""

    def __init__(self) -> None:
        self.has: dict[str, Any] = {
            DISCOVERED: {"resources": [{"name": "machines", "kind": "Machine"}]}
        }

    async def send(self, request: wire.Request) -> bytes:
        if request.path not in self.has:
            raise NotFound("it is not there")
        return msgspec.json.encode(self.has[request.path])

    def publishes(self, **schemas: Any) -> None:
        self.has[PUBLISHED] = {"components": {"schemas": schemas}}


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    found: list[str] = []
    monkeypatch.setattr(row_checks.log, "warning", lambda _, **said: found.append(said["problem"]))
    return found


def checks(server: Any) -> RowChecks:
    return RowChecks(server, StillClock(), {ROW.name: ROW})


@pytest.mark.parametrize("lacking", ["kind", "document", "schema"])
def test_what_is_published_after_the_kind_is_served_is_checked_then(
    told: list[str], lacking: str
) -> None:
    """Of a new CRD the API server serves the kind first."""
    server = Server()
    discovered = server.has[DISCOVERED]
    if lacking == "kind":
        server.has[DISCOVERED] = {"resources": []}
    if lacking == "schema":
        server.publishes(other=OTHER)
    one = checks(server)

    assert asyncio.run(one._check(ROW.name)) == AGAIN
    assert told == []
    server.has[DISCOVERED] = discovered
    server.publishes(other=OTHER, machine=MACHINE)

    assert asyncio.run(one._check(ROW.name)) is None
    assert told == ["template: spec has no tmplate; it has template"]


def test_a_kind_without_a_schema_is_not_asked_for_for_ever(told: list[str]) -> None:
    one = checks(Server())

    delays = [asyncio.run(one._check(ROW.name)) for _ in range(TRIES)]

    assert delays == [AGAIN] * (TRIES - 1) + [None]
    one.watched(ROW.name, "watching")  # As after its CRD was made anew.
    assert asyncio.run(one._check(ROW.name)) == AGAIN
    assert told == []
