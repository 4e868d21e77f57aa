"""What listens at the address of pods whose annotation `dev.reroll.dev/address` names it."""

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from reroll_dev.address import own_address

ADDRESS = own_address()


class Listener:
    """A pod's HTTP server: says what it is told to say, and remembers what it was asked."""

    def __init__(self) -> None:
        self.says: list[int] = []
        """The first answers, as status codes; then it is 204."""
        self.asked: list[tuple[str, str]] = []
        self.answered: list[int] = []
        listener = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                status = listener.says.pop(0) if listener.says else 204
                listener.asked.append(("POST", self.path))
                listener.answered.append(status)
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                """Not on the terminal."""

        self.server = ThreadingHTTPServer((ADDRESS, 0), Handler)
        self.port = self.server.server_address[1]
