"""Connections that are made for a burst of requests: a few at a time, and shared."""

import asyncio
from contextlib import suppress

import pytest
from tests.kube.servers import Server

from reroll.http import pool as pools
from reroll.http.dial import Address, dial
from reroll.http.errors import NoServer
from reroll.http.pool import AT_ONCE, Pool

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
MANY = 10 * AT_ONCE


class Answering(Server):
    async def serve(self, reader, writer):
        while await reader.readuntil(b"\r\n\r\n"):
            writer.write(OK)


class Dials:
    """Stands before `dial`: counts, and lets none through before it is told to."""

    def __init__(self, monkeypatch, *, held=False):
        self.begun = self.under_way = self.most = 0
        self.problem = None
        self.open = asyncio.Event()
        if not held:
            self.open.set()
        monkeypatch.setattr(pools, "dial", self.dial)

    async def dial(self, to, trust):
        self.begun += 1
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            await self.open.wait()
            if self.problem:
                raise self.problem
            return await dial(to, trust)
        finally:
            self.under_way -= 1


async def ask(pool, **how):
    answer = await pool.ask("GET", "/x", **how)
    assert await answer.body() == b"ok"
    pool.keep(answer, None)


async def begun():
    """Until nothing moves any more without the network."""
    for _ in range(20):
        await asyncio.sleep(0)


@pytest.fixture
async def pool():
    async with Answering() as server:
        pool = Pool(Address("127.0.0.1", server.port))
        yield pool
        pool.close()


async def test_a_burst_shares_connections_that_are_made_a_few_at_a_time(pool, monkeypatch):
    dials = Dials(monkeypatch)

    await asyncio.gather(*(ask(pool) for _ in range(MANY)))

    assert dials.most == AT_ONCE
    assert dials.begun < MANY


async def test_who_waits_takes_a_connection_that_comes_back(pool, monkeypatch):
    busy = await pool.ask("GET", "/x")
    assert await busy.body() == b"ok"
    dials = Dials(monkeypatch, held=True)
    asked = [asyncio.create_task(ask(pool)) for _ in range(AT_ONCE + 3)]
    await begun()

    pool.keep(busy, None)
    await asyncio.wait(asked[AT_ONCE:], timeout=5)

    assert all(task.done() for task in asked[AT_ONCE:])
    assert dials.begun == AT_ONCE
    dials.open.set()
    await asyncio.gather(*asked)


async def test_all_get_a_connection_where_none_comes_back(pool, monkeypatch):
    dials = Dials(monkeypatch)

    async with asyncio.timeout(5):
        streams = await asyncio.gather(*(pool.ask("GET", "/x") for _ in range(MANY)))

    assert dials.begun == len(set(streams)) == MANY
    for stream in streams:
        stream.drop()


async def test_one_that_comes_back_takes_nobodys_turn_to_make_one(pool, monkeypatch):
    spare = await pool.ask("GET", "/x")
    assert await spare.body() == b"ok"
    dials = Dials(monkeypatch, held=True)
    streams = [asyncio.create_task(pool.ask("GET", "/x")) for _ in range(AT_ONCE + 2)]
    await begun()

    pool.keep(spare, None)  # The first that waits takes it, and keeps it.
    dials.open.set()
    async with asyncio.timeout(5):
        taken = await asyncio.gather(*streams)

    assert len(set(taken)) == AT_ONCE + 2
    for stream in taken:
        stream.drop()


async def test_who_gives_up_passes_its_turn_on(pool, monkeypatch):
    dials = Dials(monkeypatch, held=True)
    asked = [asyncio.create_task(ask(pool)) for _ in range(AT_ONCE + 2)]
    await begun()
    first, second = asked[AT_ONCE:]

    asked[0].cancel()
    await asyncio.sleep(0)  # The turn is the first one's now, which has not run yet.
    first.cancel()
    await begun()

    assert dials.under_way == AT_ONCE
    dials.open.set()
    async with asyncio.timeout(5):
        await second
    with suppress(asyncio.CancelledError):
        await asyncio.gather(*asked)


async def test_nobody_waits_for_the_turn_of_others_where_no_server_answers(pool, monkeypatch):
    dials = Dials(monkeypatch, held=True)
    asked = [asyncio.create_task(ask(pool)) for _ in range(MANY)]
    await begun()
    assert dials.under_way == AT_ONCE

    dials.problem = NoServer("nobody is there")
    dials.open.set()
    dials.open.clear()  # For those that wait for it now, and no other.
    await begun()
    assert dials.under_way == MANY - AT_ONCE
    dials.open.set()
    answers = await asyncio.gather(*asked, return_exceptions=True)

    assert {type(one) for one in answers} == {NoServer}


async def test_an_urgent_request_waits_for_no_turn(pool, monkeypatch):
    dials = Dials(monkeypatch, held=True)
    asked = [asyncio.create_task(ask(pool)) for _ in range(AT_ONCE + 1)]
    await begun()

    asked.append(asyncio.create_task(ask(pool, urgent=True)))
    await begun()

    assert dials.under_way == AT_ONCE + 1
    dials.open.set()
    await asyncio.gather(*asked)
