"""Our own small HTTP servers: /metrics for Prometheus, /healthz and /readyz for the kubelet.

`/healthz` fails when a watch is silently dead, so that a restart heals it. `/readyz` fails until
everything there is has been seen once.

Anyone who reaches a port may ask, so an answer has to cost nearly nothing: metrics are rendered
once in a while and served from memory, however many ask. Probes can have a server of their own, for
the kubelet alone.
"""

from collections.abc import Callable

from reroll.clock import Clock
from reroll.controller.exposition import CONTENT_TYPE, Registry
from reroll.http.server import Asked, Handler, Reply, Server, routes

Check = Callable[[], str | None]
"""What is wrong, in a sentence; `None` if nothing is."""
FRESH_SECONDS = 1.0
"""For so long, metrics are not rendered again."""
MOST = 64
"""Connections to each of the two servers: those who ask are few."""


class Metrics:
    """The answer to `GET /metrics`: at most so old as `FRESH_SECONDS`."""

    def __init__(self, registry: Registry, clock: Clock) -> None:
        self._registry, self._clock = registry, clock
        self._reply: Reply | None = None
        self._rendered = 0.0

    def __call__(self, _: Asked) -> Reply:
        now = self._clock.monotonic()
        if self._reply is None or now - self._rendered >= FRESH_SECONDS:
            self._reply = Reply(body=self._registry.render(), content_type=CONTENT_TYPE)
            self._rendered = self._clock.monotonic()
        return self._reply


def server(address: str, metrics: Metrics | None, healthy: Check, ready: Check) -> Server:
    """Probes, and metrics beside them if there are any."""
    table: dict[tuple[str, str], Handler] = {
        ("GET", "/healthz"): _probe(healthy),
        ("GET", "/readyz"): _probe(ready),
    }
    if metrics is not None:
        table["GET", "/metrics"] = metrics
    return Server(address, routes(table), most=MOST)


def _probe(check: Check) -> Handler:
    def answer(_: Asked) -> Reply:
        problem = check()
        return Reply(503 if problem else 200, f"{problem or 'ok'}\n".encode())

    return answer
