"""Counts the bytes between one client and the API server: a plain TCP relay that opens no TLS.

It runs in a thread of its own, so that the load which the benchmark makes does not delay it.
"""

import asyncio
import threading
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

import yaml

CHUNK = 256 * 1024


class Relay:
    """`kubeconfig` is what the client takes; `sent` and `received` are from its point of view."""

    def __init__(self, kubeconfig: Path, folder: Path) -> None:
        self._document = yaml.safe_load(kubeconfig.read_text())
        self._cluster = self._document["clusters"][0]["cluster"]
        self._target = urlsplit(self._cluster["server"])
        self.kubeconfig = folder / f"relayed-{kubeconfig.name}"
        self.sent = self.received = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="relay", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        starting = asyncio.start_server(self._serve, "127.0.0.1", 0)
        self._server = asyncio.run_coroutine_threadsafe(starting, self._loop).result(10)
        port = self._server.sockets[0].getsockname()[1]
        self._cluster["server"] = f"https://127.0.0.1:{port}"
        self.kubeconfig.write_text(yaml.safe_dump(self._document))
        self.kubeconfig.chmod(0o600)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    async def _serve(self, down: asyncio.StreamReader, up: asyncio.StreamWriter) -> None:
        host, port = self._target.hostname, self._target.port
        try:
            reader, writer = await asyncio.open_connection(host, port, limit=CHUNK)
        except OSError:
            up.close()  # The server is gone, and that is to be felt.
            return
        async with asyncio.TaskGroup() as group:
            group.create_task(self._pump(down, writer, sends=True))
            group.create_task(self._pump(reader, up, sends=False))

    async def _pump(
        self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, *, sends: bool
    ) -> None:
        try:
            while chunk := await source.read(CHUNK):
                if sends:
                    self.sent += len(chunk)
                else:
                    self.received += len(chunk)
                sink.write(chunk)
                await sink.drain()
        except OSError:
            pass  # one side is gone, and so is the other
        finally:
            sink.close()
