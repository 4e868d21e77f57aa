"""HTTP for people who may mean harm: a request has a size, and a time in which it has to come."""

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

LONGEST_HEAD = 32 * 1024
"""Bytes of a request before its body; a token of a program is among them."""
HEAD_WITHIN = 10.0
"""Seconds after which a connection that has sent no whole request is closed."""


class Patient(H11Protocol):
    """Not for ever: who opens connections and says nothing takes the place of nobody for long."""

    within = HEAD_WITHIN
    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._calm()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def _watch(self) -> None:
        """While it is the other side's turn to begin a request, time runs."""
        if self.conn.their_state is not h11.IDLE:
            self._calm()
        elif self._late is None:
            self._late = self.loop.call_later(self.within, self.transport.close)

    def _calm(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None
