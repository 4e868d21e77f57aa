"""Probes and metrics: who asks for metrics, however often, does not stand before the kubelet."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from tests.kube.fakes import StillClock
from tests.kube.servers import drop

from reroll.controller.exposition import Family, Registry
from reroll.controller.server import FRESH_SECONDS, MOST, Metrics, server
from reroll.http.server import BURST, Asked, Reply, Server

CROWD = 240
ASK = b"GET /metrics HTTP/1.1\r\n\r\n"


class Counting:
    """Counts how often the metrics are rendered."""

    def __init__(self) -> None:
        self.renders = 0

    def __call__(self) -> list[tuple[tuple[str, ...], float]]:
        self.renders += 1
        return [((), 42)]


class Doors:
    def __init__(self) -> None:
        self.clock, self.count = StillClock(), Counting()
        registry = Registry()
        registry.add(Family("answer", "gauge", "of a test")).read(self.count)
        self.served: list[str] = []
        metrics = Metrics(registry, self.clock)

        def healthy() -> None:
            self.served.append("/healthz")

        def counted(asked: Asked) -> Reply:
            self.served.append("/metrics")
            return metrics(asked)

        self.probes = server("127.0.0.1:0", None, healthy, healthy)
        self.metrics = server("127.0.0.1:0", counted, healthy, healthy)


@pytest.fixture
async def doors() -> AsyncIterator[Doors]:
    made = Doors()
    await made.probes.start()
    await made.metrics.start()
    yield made
    await made.probes.stop()
    await made.metrics.stop()


async def ask(at: Server, path: str = "/healthz") -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", at.port)
    writer.write(f"GET {path} HTTP/1.1\r\nConnection: close\r\n\r\n".encode())
    got = await asyncio.wait_for(reader.read(), 30)
    await drop(writer)
    return got


async def test_metrics_are_rendered_once_for_all_who_ask_within_a_second(doors: Doors) -> None:
    for _ in range(3):
        assert b"answer 42.0" in await ask(doors.metrics, "/metrics")
    assert doors.count.renders == 1

    doors.clock.move(FRESH_SECONDS)
    await ask(doors.metrics, "/metrics")
    await ask(doors.metrics, "/metrics")
    assert doors.count.renders == 2


async def test_the_port_of_the_probes_serves_no_metrics(doors: Doors) -> None:
    assert (await ask(doors.probes)).startswith(b"HTTP/1.1 200 ")
    assert (await ask(doors.probes, "/metrics")).startswith(b"HTTP/1.1 404 ")


async def test_a_crowd_that_asks_for_metrics_does_not_stand_before_the_kubelet(
    doors: Doors,
) -> None:
    """Each round, all of the crowd have asked before the probe does."""
    for _ in range(3):
        crowd = [
            await asyncio.open_connection("127.0.0.1", doors.metrics.port) for _ in range(CROWD)
        ]
        for _, writer in crowd:
            writer.write(ASK * (BURST - 1))
        doors.served.clear()

        assert (await ask(doors.probes)).startswith(b"HTTP/1.1 200 ")

        before = doors.served.index("/healthz")
        assert before <= MOST * BURST
        for _, writer in crowd:
            await drop(writer)
    assert doors.count.renders == 1


async def test_a_probe_at_the_port_of_the_metrics_is_answered_in_a_crowd_too(
    doors: Doors,
) -> None:
    crowd = [await asyncio.open_connection("127.0.0.1", doors.metrics.port) for _ in range(CROWD)]
    for _, writer in crowd:
        writer.write(ASK * (BURST - 1))

    assert (await ask(doors.metrics)).startswith(b"HTTP/1.1 200 ")

    assert doors.count.renders == 1
    for _, writer in crowd:
        await drop(writer)
