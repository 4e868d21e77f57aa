"""Our own small HTTP server: /metrics for Prometheus, /healthz and /readyz for the kubelet.

`/healthz` fails when a watch is silently dead, so that a restart heals it. `/readyz` fails until
everything there is has been seen once.
"""

from collections.abc import Awaitable, Callable

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

Check = Callable[[], str | None]
"""What is wrong, in a sentence; `None` if nothing is."""


class Server:
    def __init__(
        self, address: str, registry: CollectorRegistry, healthy: Check, ready: Check
    ) -> None:
        host, _, port = address.rpartition(":")
        self._host, self._port = host.strip("[]") or None, int(port)
        self._registry = registry
        app = web.Application()
        app.router.add_get("/metrics", self._metrics)
        app.router.add_get("/healthz", _probe(healthy))
        app.router.add_get("/readyz", _probe(ready))
        self._runner = web.AppRunner(app, access_log=None)
        self.port = self._port

    async def start(self) -> None:
        """Listen; raises `OSError` if the address is taken."""
        await self._runner.setup()
        site = web.TCPSite(self._runner, self._host, self._port)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        await self._runner.cleanup()

    async def _metrics(self, _: web.Request) -> web.Response:
        body = generate_latest(self._registry)
        return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE_LATEST})


def _probe(check: Check) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def answer(_: web.Request) -> web.Response:
        problem = check()
        return web.Response(text=f"{problem or 'ok'}\n", status=503 if problem else 200)

    return answer
