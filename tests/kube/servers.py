"""Small servers of the tests' own: they end with all their connections."""

import asyncio
import contextlib
import ssl
from tempfile import NamedTemporaryFile

from reroll_dev import pki


class Server:
    """Listens on a free port while it is entered; `serve` handles one connection."""

    tls: ssl.SSLContext | None = None

    async def __aenter__(self):
        self._open = set()
        self._server = await asyncio.start_server(self._run, "127.0.0.1", 0, ssl=self.tls)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_):
        self._server.close()
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _run(self, reader, writer):
        task = asyncio.current_task()
        self._open.add(task)
        try:
            await self.serve(reader, writer)
        except (asyncio.IncompleteReadError, asyncio.CancelledError, OSError):
            pass
        finally:
            await drop(writer)
            self._open.discard(task)

    @property
    def url(self):
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    async def serve(self, reader, writer):
        raise NotImplementedError


async def drop(writer):
    writer.transport.abort()
    with contextlib.suppress(OSError):
        await writer.wait_closed()


def server_tls():
    pair = pki.server_certificate(pki.new_authority())
    with NamedTemporaryFile() as file:
        file.write(pair.certificate + pair.key)
        file.flush()
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        made.load_cert_chain(file.name)
    return made
