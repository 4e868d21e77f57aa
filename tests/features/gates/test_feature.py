"""Who is asked when: each gate in its own time, while somebody waits, and nobody else."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from tests.engine.test_gates import WEB, Gated
from tests.features.gates.test_questions import FINE, Saying, Slow

from reroll.clock import SystemClock
from reroll.core.model.gates import Answer, Gate, Query, Server
from reroll.core.model.key import Key
from reroll.core.tables.reasons import Reason
from reroll.engine.gates import GateBoard
from reroll.features.gates.analyses import Analyses
from reroll.features.gates.feature import Gates

OFTEN = timedelta(milliseconds=5)
BAD = FINE.replace(b'"0"', b'"7"')


def gate(name: str, server: Saying | Slow, **more: object) -> Gate:
    found = Gate(name, Query(Server(server.url), "x", most=1), OFTEN, timedelta(seconds=30), 2)
    return msgspec.structs.replace(found, **more)


@asynccontextmanager
async def asked(board: GateBoard) -> AsyncIterator[None]:
    none: Any = None  # No gate of these is an AnalysisRun: nobody is asked for one.
    analyses = Analyses(none, SystemClock(), none)
    task = asyncio.create_task(Gates(SystemClock(), board, {}, analyses).act())
    try:
        yield
    finally:
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.005)


class Behind(Gated):
    """Of two Deployments each has a gate of its own."""

    def __init__(self, first: Gate, second: Gate) -> None:
        super().__init__("web", "other", gates="")
        self.rolled.clear()
        for each in (first, second):
            self.board.rows[each.name] = each
        self.annotate(WEB, gates=first.name)
        self.annotate(Key("Deployment", "shop", "other"), gates=second.name)
        self.configmap("third")
        self.run()

    def has_rolled(self, name: str) -> bool:
        self.run()
        return Key("Deployment", "shop", name) in self.rolled


async def test_a_dead_gate_delays_nobody_else() -> None:
    async with Slow() as dead, Saying("200 OK", FINE) as fine:
        one = Behind(gate("dead", dead), gate("fine", fine))
        async with asked(one.board):
            await until(lambda: one.has_rolled("other"))
            assert not one.has_rolled("web")
            assert one.reasons[WEB] is Reason.GATE_ASKED


async def test_a_gate_is_asked_again_and_again_until_it_opens_and_then_no_more() -> None:
    async with Saying("200 OK", BAD) as server, Saying("200 OK", FINE) as fine:
        one = Behind(gate("errors", server), gate("fine", fine))
        async with asked(one.board):
            await until(lambda: len(server.heads) > 3)
            assert not one.has_rolled("web")
            assert one.reasons[WEB] is Reason.GATE_CLOSED
            server.answer = fine.answer
            await until(lambda: one.has_rolled("web"))
            assert list(one.board.awaited()) == []


async def test_who_waited_before_it_began_to_ask_is_asked_for_and_forgotten_at_its_end() -> None:
    async with Saying("200 OK", BAD) as server, Saying("200 OK", FINE) as fine:
        one = Behind(gate("errors", server), gate("fine", fine))
        async with asked(one.board):
            await until(lambda: one.board.readings(WEB, ["errors"])[0].answer is Answer.CLOSED)
        assert one.board.readings(WEB, ["errors"])[0].answer is None
