"""A visitor of the demo's page: what `curl` would show, and whether every request is answered."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException

from reroll.cli.errors import CommandError

PAUSE = 0.05
PATIENCE = 60.0


class Visitor:
    def __init__(self, host: str) -> None:
        self._host = host
        self.url = f"http://{host}/"
        self._answered, self._failed = 0, 0

    def page(self) -> str:
        """The page as it is now; waits for a server that has just been made."""
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                return self._ask()
            except (OSError, HTTPException) as error:
                if time.monotonic() > deadline:
                    raise CommandError(f"{self.url} does not answer: {error}") from error
            time.sleep(PAUSE)

    @contextmanager
    def visiting(self) -> Iterator[None]:
        """Ask all the time, each time with a new connection."""
        ended = threading.Event()
        self._answered = self._failed = 0
        thread = threading.Thread(target=self._go_on, args=[ended])
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    @property
    def summary(self) -> str:
        """Of the last visit."""
        failed = f"{self._failed} failed" if self._failed else "none failed"
        return f"{self._answered + self._failed} requests were made during the roll: {failed}"

    def _go_on(self, ended: threading.Event) -> None:
        while not ended.wait(PAUSE):
            try:
                self._ask()
                self._answered += 1
            except (OSError, HTTPException):
                self._failed += 1

    def _ask(self) -> str:
        # By itself: a proxy that the environment names knows nothing of the node.
        connection = HTTPConnection(self._host, timeout=10)
        try:
            connection.request("GET", "/")
            answer = connection.getresponse()
            if answer.status != HTTPStatus.OK:
                raise HTTPException(f"{answer.status} {answer.reason}")
            return answer.read().decode()
        finally:
            connection.close()
