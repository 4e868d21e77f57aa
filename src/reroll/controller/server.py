"""Our own small HTTP server: /metrics for Prometheus, /healthz and /readyz for the kubelet.

`/healthz` fails when a watch is silently dead, so that a restart heals it. `/readyz` fails until
everything there is has been seen once.
"""

from collections.abc import Callable

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

from reroll.http.server import Asked, Handler, Reply, Server, routes

Check = Callable[[], str | None]
"""What is wrong, in a sentence; `None` if nothing is."""


def server(address: str, registry: CollectorRegistry, healthy: Check, ready: Check) -> Server:
    def metrics(_: Asked) -> Reply:
        return Reply(body=generate_latest(registry), content_type=CONTENT_TYPE_LATEST)

    table = {
        ("GET", "/metrics"): metrics,
        ("GET", "/healthz"): _probe(healthy),
        ("GET", "/readyz"): _probe(ready),
    }
    return Server(address, routes(table))


def _probe(check: Check) -> Handler:
    def answer(_: Asked) -> Reply:
        problem = check()
        return Reply(503 if problem else 200, f"{problem or 'ok'}\n".encode())

    return answer
