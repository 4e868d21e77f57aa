"""A proxy between a client and the real API server that misbehaves on request.

It terminates TLS on both sides and speaks HTTP/1.1, in a thread with an event loop of its own, so
that synchronous and asynchronous tests can use it. Every public method may be called from any
thread. What it did stands in `log`, in the order in which it was done.

A client with a token is known to the server by it. A client with a certificate is known because
the proxy has that certificate too: it must come from `kubeconfig()`.
"""

import asyncio
import base64
import ssl
import threading
from collections.abc import Callable, Coroutine
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self
from urllib.parse import urlsplit

import yaml
from tests.support.faults import Entry, Fault, Injection, Match, Request
from tests.support.gateway import Gateway, bound

from reroll_dev.cluster import DevCluster

EVERYTHING = Match()


class FaultProxy:
    def __init__(self, cluster: DevCluster) -> None:
        self._cluster = cluster
        self._pki = cluster.layout.pki
        self._folder = TemporaryDirectory(prefix="reroll-fault-proxy-")
        self._log: list[Entry] = []
        self._changed = threading.Condition()
        # Bound and never listening: it keeps the port ours while connections are refused.
        self._port_holder = bound(0)
        self._gateway = Gateway(
            server=self._server(),
            port=self._port_holder.getsockname()[1],
            tls=self._meeting(),
            logins={None: self._login()},
            note=self._note,
        )
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="fault proxy")

    def __enter__(self) -> Self:
        self._thread.start()
        self.accept()
        return self

    def __exit__(self, *_: object) -> None:
        self.refuse()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.run_until_complete(self._end())
        self._loop.close()
        self._port_holder.close()
        self._folder.cleanup()

    async def _end(self) -> None:
        """Nothing may be left half done, such as the handshake of a client that came last."""
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        # A task that never began closes nothing, and who says good-bye in TLS waits for an answer.
        for transport in list(self._loop._transports.values()):  # type: ignore[attr-defined]
            transport.abort()
        # What a cancelled handshake closes, and one whose client was killed, closes some turns of
        # the loop later: on a busy machine there may be no more than one in a while.
        for _ in range(20):
            await asyncio.sleep(0.002)
        await self._loop.shutdown_asyncgens()

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self._gateway.port}"

    @property
    def log(self) -> list[Entry]:
        """What was done until now."""
        with self._changed:
            return list(self._log)

    def kubeconfig(self, identity: str | Path = "admin") -> Path:
        """The kubeconfig of an identity, or a copy of one, with the proxy in the server's place."""
        given = identity if isinstance(identity, Path) else self._cluster.kubeconfig(identity)
        content = yaml.safe_load(given.read_text())
        content["clusters"][0]["cluster"]["server"] = self.url
        user = content["users"][0]["user"]
        if "client-key-data" in user:
            self._know(user)
        path = Path(self._folder.name) / given.name
        path.write_text(yaml.safe_dump(content))
        return path

    def inject(self, fault: Fault, match: Match = EVERYTHING, *, times: int | None = 1) -> None:
        """Let a fault strike what matches, so many times or (None) until cleared.

        Streams that are under way and can be struck are struck first, at once; then the next
        requests. Of several faults for one request, the one injected first strikes.
        """
        self._do(self._gateway.inject(Injection(fault, match, times)))

    def inject_in_turn(self, match: Match, *faults: Fault) -> None:
        """Let each strike once, in this order; nothing happens between two of them."""

        async def inject() -> None:
            for fault in faults:
                await self._gateway.inject(Injection(fault, match, 1))

        self._do(inject())

    def clear(self) -> None:
        """Forget all faults; streams that were held send what they held and go on."""
        self._do(self._gateway.clear())

    def refuse(self) -> None:
        """Close the port and reset every connection, as if the server had died."""
        self._do(self._gateway.refuse())

    def accept(self) -> None:
        """Listen again, on the same port."""
        self._do(self._gateway.accept())

    def wait_until(self, condition: Callable[[list[Entry]], bool], timeout: float = 30) -> None:
        """Block until the condition holds of the log. In a coroutine, use `asyncio.to_thread`."""
        with self._changed:
            if not self._changed.wait_for(lambda: condition(self._log), timeout):
                done = "".join(f"\n  {entry}" for entry in self._log[-20:])
                raise TimeoutError(f"the fault proxy waited {timeout:g} s in vain; its log:{done}")

    def wait_for(self, done: str, match: Match = EVERYTHING, times: int = 1) -> None:
        """Block until the log says so often that this was done to a request that matches."""
        self.wait_until(lambda log: sum(e.done == done and match(e.request) for e in log) >= times)

    def _note(self, request: Request, done: Fault | str) -> None:
        name = done if isinstance(done, str) else type(done).__name__
        with self._changed:
            self._log.append(Entry(request.method, request.target, name, request.accept))
            self._changed.notify_all()

    def _do(self, coroutine: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(timeout=30)

    def _server(self) -> tuple[str, int]:
        content = yaml.safe_load(self._cluster.kubeconfig("admin").read_text())
        parts = urlsplit(content["clusters"][0]["cluster"]["server"])
        assert parts.hostname
        assert parts.port
        return parts.hostname, parts.port

    def _meeting(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self._pki / "apiserver.crt", self._pki / "apiserver.key")
        context.load_verify_locations(self._pki / "ca.crt")
        context.verify_mode = ssl.CERT_OPTIONAL
        context.set_alpn_protocols(["http/1.1"])
        return context

    def _login(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self._pki / "ca.crt")

    def _know(self, user: dict[str, str]) -> None:
        """Be able to call the server as a client that logs in with a certificate."""
        parts = [base64.b64decode(user[f"client-{part}-data"]) for part in ("certificate", "key")]
        pair = Path(self._folder.name) / "client.pem"
        pair.write_bytes(b"".join(parts))
        login = self._login()
        login.load_cert_chain(pair)
        self._gateway.logins[ssl.PEM_cert_to_DER_cert(parts[0].decode())] = login
