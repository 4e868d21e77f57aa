"""A receiver of notices on loopback: takes what it is sent, and answers as it is told to."""

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from reroll.core.tables.news import News


class Got(NamedTuple):
    """One message that was taken."""

    path: str
    headers: dict[str, str]
    body: Any

    @property
    def said(self) -> dict[str, Any]:
        """What it says, for receivers that get it as a document."""
        found: dict[str, Any] = self.body.get("data", self.body)
        return found

    @property
    def news(self) -> tuple[str, str]:
        if "blocks" in self.body:  # For people: only its title tells.
            return _of_title(self.body["text"])
        return self.said["news"], self.said["state"]


def _of_title(title: str) -> tuple[str, str]:
    begun = {one.title: one.word for one in News}
    word = begun.get(title.partition(":")[0])
    return (word, "open") if word else ("", "over")


class Receiving:
    """`before_answer(got)`: something happens after a message came, and before its answer."""

    def __init__(self) -> None:
        self.got: list[Got] = []
        self.status = 200
        self.before_answer: Callable[[Got], None] = lambda _: None
        receiving = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers["Content-Length"])
                headers = {name.lower(): text for name, text in self.headers.items()}
                got = Got(self.path, headers, json.loads(self.rfile.read(length)))
                if receiving.status < 300:
                    receiving.got.append(got)
                receiving.before_answer(got)
                said = json.dumps({"ok": True, "channel": "C01", "ts": f"{len(receiving.got)}.1"})
                self.send_response(receiving.status)
                self.send_header("Content-Length", str(len(said)))
                self.end_headers()
                self.wfile.write(said.encode())

            def log_message(self, *_: Any) -> None:
                """Not on the terminal."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def end(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def at(self, path: str) -> list[Got]:
        return [one for one in tuple(self.got) if one.path.startswith(path)]
