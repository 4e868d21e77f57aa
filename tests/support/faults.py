"""What the fault proxy can do to a request, as values: faults, whom they strike, what was done.

Pure: no sockets. `docs/guides/develop.md` shows how tests use them.
"""

import json
import re
from dataclasses import dataclass
from typing import Literal, NamedTuple, Self
from urllib.parse import parse_qs

How = Literal["rst", "fin"]

# Status code -> the reason a Kubernetes API server gives with it.
REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    409: "Conflict",
    410: "Expired",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    path: str
    query: str = ""
    accept: str = ""
    """The form in which the client wants the answer."""

    @classmethod
    def parse(cls, line: str, accept: str = "") -> Self:
        """From the first line of its head."""
        method, target, _ = line.split(" ")
        path, _, query = target.partition("?")
        return cls(method, path, query, accept)

    @property
    def target(self) -> str:
        return f"{self.path}?{self.query}" if self.query else self.path

    @property
    def is_watch(self) -> bool:
        return parse_qs(self.query).get("watch", ["false"])[-1] in {"1", "true"}


@dataclass(frozen=True, slots=True)
class Match:
    """Which requests: by method, by regular expressions for path and query, by being a watch."""

    method: str | None = None
    path: str = ""
    watch: bool | None = None
    query: str = ""

    def __call__(self, request: Request) -> bool:
        return (
            self.method in {None, request.method}
            and re.search(self.path, request.path) is not None
            and re.search(self.query, request.query) is not None
            and self.watch in {None, request.is_watch}
        )


ALL_OF_THEM = r"^(?!.*fieldSelector)"
"""The query of who asks for all objects of a kind, and not for one of them by name."""


@dataclass(frozen=True, slots=True)
class Cut:
    """End the connection after so many bytes of the body, or in the middle of the n-th watch event.

    Both count from when the fault was injected into a running stream. An answer that is shorter
    comes whole.
    """

    after_bytes: int | None = None
    in_event: int | None = None
    how: How = "rst"

    def __post_init__(self) -> None:
        if (self.after_bytes is None) == (self.in_event is None):
            raise ValueError("a Cut needs either after_bytes or in_event")


@dataclass(frozen=True, slots=True)
class Delay:
    """Hold up the server's answer, or each piece of it: of a watch, each event."""

    seconds: float
    each_chunk: bool = False


@dataclass(frozen=True, slots=True)
class Late:
    """Hold up the request: the server hears of it so many seconds later, whoever still waits."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer with a Status object in the server's place; the server never sees the request."""

    status: int
    retry_after: int | None = None


@dataclass(frozen=True, slots=True)
class WatchError:
    """Send an ERROR event in a watch and end it, as the server does when a version is too old."""

    status: int = 410
    after_events: int = 0


@dataclass(frozen=True, slots=True)
class Silence:
    """Leave the connection open and let nothing more through.

    The head of a watch's answer still comes; of any other answer nothing does. What the server
    sends is swallowed, and then the stream stays silent for good; or it is held until `clear()`.
    """

    hold: bool = False
    after_events: int = 0


@dataclass(frozen=True, slots=True)
class DropResponse:
    """Let the server do what was asked, read its whole answer, and lose it with the connection."""

    how: How = "rst"


Fault = Cut | Delay | Late | Answer | WatchError | Silence | DropResponse


def strikes_streams(fault: Fault) -> bool:
    """Whether it can also strike an answer that is under way already."""
    match fault:
        case Cut() | Silence() | WatchError() | Delay(each_chunk=True):
            return True
    return False


def suits(fault: Fault, request: Request) -> bool:
    """Some faults make sense for watches alone, and one waits for an end that a watch has not."""
    match fault:
        case WatchError() | Cut(in_event=int()):
            return request.is_watch
        case DropResponse():
            return not request.is_watch
    return True


@dataclass(slots=True)
class Injection:
    """A fault, whom it may strike, and how often yet (None: until cleared)."""

    fault: Fault
    match: Match
    left: int | None

    def take(self, request: Request) -> bool:
        """Whether this one is for `request`; uses up one of the times if so."""
        if self.left == 0 or not suits(self.fault, request) or not self.match(request):
            return False
        if self.left is not None:
            self.left -= 1
        return True


class Entry(NamedTuple):
    """One thing done: `passed` when the server answered, or the name of the fault that struck."""

    method: str
    path: str
    """With its query."""
    done: str
    accept: str = ""

    @property
    def request(self) -> Request:
        path, _, query = self.path.partition("?")
        return Request(self.method, path, query, self.accept)


def status_object(code: int, retry_after: int | None = None) -> dict[str, object]:
    """What the API server sends as the body of an error, or as the object of an ERROR event."""
    status: dict[str, object] = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": f"the fault proxy was told to answer {code}",
        "reason": REASONS.get(code, "Unknown"),
        "code": code,
    }
    if retry_after is not None:
        status["details"] = {"retryAfterSeconds": retry_after}
    return status


def error_event(code: int) -> bytes:
    return json.dumps({"type": "ERROR", "object": status_object(code)}).encode() + b"\n"
