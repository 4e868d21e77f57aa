"""What can go wrong between us and the API server; every class says whether a retry can help.

    ApiError                    a request did not do what it was sent for
    ├── NotFound                404: the object, or the whole API, is not there
    ├── AlreadyExists           409: someone made it first
    ├── Conflict                409: it changed since it was read
    ├── Gone                    410: the resource version or page token is too old
    ├── Invalid                 422: the object is wrong, or the `test` of a JSON Patch failed
    ├── Rejected                any other 3xx or 4xx: the request itself is wrong
    ├── Forbidden               403: RBAC or admission says no
    ├── Unauthorized            401: the credentials are not accepted, or could not be got
    ├── Throttled               429: too many requests, or a disruption budget holds an eviction
    ├── Unavailable             5xx, timeouts, refused and broken connections, TLS
    ├── TooLarge                the answer is larger than whoever asked has room for
    └── Malformed               the answer is not what we can read

    ConfigError                 the kubeconfig or the service account folder cannot be used
    └── AuthError               credentials could not be got: token file, exec plugin

No error holds a response body: only the `reason` and `message` of the server's Status, cut short,
because bodies may hold the data of Secrets.
"""

# ruff: noqa: N818  these are the words of the API; `errors.NotFound` says it already

from enum import Enum
from typing import ClassVar, TypedDict, Unpack

import msgspec

from reroll.core.model.unreadable import UNREADABLE

LONGEST_MESSAGE = 500
LONGEST_RETRY_AFTER = 300.0
SILENCE = "Silence"
"""The reason of an `Unavailable` stream that was open and said nothing for too long."""


class Retry(Enum):
    """What is worth doing after an error."""

    NEVER = "never"
    """The same request fails in the same way until someone changes something."""
    NOW = "now"
    """Our view was old: read and decide again."""
    LATER = "later"
    """The server cannot do it now: back off, honour `retry_after`."""
    SLOWLY = "slowly"
    """It takes a person to allow it: look again after a long pause."""


class Facts(TypedDict, total=False):
    """What a caller may ask of an error."""

    status: int | None
    reason: str
    method: str
    path: str
    retry_after: float | None
    causes: tuple[str, ...]


class ApiError(Exception):
    """A request that did not do what it was sent for."""

    retry: ClassVar[Retry] = Retry.NEVER

    def __init__(self, message: str, **facts: Unpack[Facts]) -> None:
        self.message = shorten(message)
        self.status = facts.get("status")
        self.reason = facts.get("reason", "")
        self.method = facts.get("method", "")
        self.path = facts.get("path", "")
        self.retry_after = facts.get("retry_after")
        self.causes = facts.get("causes", ())
        """The machine-readable causes, such as `DisruptionBudget` or `ResourceVersionTooLarge`."""
        super().__init__(self.message)

    def __str__(self) -> str:
        where = f"{self.method} {self.path}: " if self.path else ""
        status = f" ({self.status} {self.reason})".replace(" )", ")") if self.status else ""
        return f"{where}{self.message}{status}"


class NotFound(ApiError):
    retry = Retry.NEVER


class AlreadyExists(ApiError):
    retry = Retry.NOW


class Conflict(ApiError):
    retry = Retry.NOW


class Gone(ApiError):
    retry = Retry.NOW


class Invalid(ApiError):
    retry = Retry.NEVER


class Rejected(ApiError):
    retry = Retry.NEVER


class Forbidden(ApiError):
    retry = Retry.SLOWLY


class Unauthorized(ApiError):
    retry = Retry.SLOWLY


class Throttled(ApiError):
    retry = Retry.LATER


class Unavailable(ApiError):
    retry = Retry.LATER


class TooLarge(ApiError):
    retry = Retry.NEVER


class Malformed(ApiError):
    """What we cannot read: raised for a whole answer.

    For one object of a stream or list it is not raised but handed on as a value, with what could
    be read of the object's identity, so that one odd object never ends a watch.
    """

    retry = Retry.LATER

    def __init__(
        self, message: str, *, kind: str = "", namespace: str = "", name: str = "", path: str = ""
    ) -> None:
        super().__init__(message, reason="Malformed", path=path)
        self.kind = kind
        self.namespace = namespace
        self.name = name


class ConfigError(Exception):
    """The way to the API server cannot be set up: a sentence with what, where and what to do."""


class AuthError(ConfigError):
    """Credentials could not be got."""


class Cause(msgspec.Struct, frozen=True):
    reason: str = ""


class Details(msgspec.Struct, frozen=True, rename="camel"):
    retry_after_seconds: float = 0
    causes: list[Cause] | None = None


class Status(msgspec.Struct, frozen=True):
    """The API server's `Status`: the body of every error, and of a watch's ERROR event."""

    code: int = 0
    reason: str = ""
    message: str = ""
    details: Details | None = None


_BY_STATUS: dict[int, type[ApiError]] = {
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    422: Invalid,
    429: Throttled,
}
_STATUS = msgspec.json.Decoder(Status)


def from_status(
    status: Status, *, method: str = "", path: str = "", retry_after: float | None = None
) -> ApiError:
    """The error that a Status stands for."""
    details = status.details or Details()
    after = retry_after if retry_after is not None else (details.retry_after_seconds or None)
    return _class_of(status)(
        status.message or f"the API server answered {status.code} without a message",
        status=status.code,
        reason=status.reason,
        method=method,
        path=path,
        retry_after=None if after is None else min(max(after, 0.0), LONGEST_RETRY_AFTER),
        causes=tuple(cause.reason for cause in details.causes or ()),
    )


def from_answer(
    code: int, body: bytes, *, method: str, path: str, retry_after: str | None = None
) -> ApiError:
    """The error that an HTTP answer stands for; `retry_after` is the header as it came."""
    try:
        told = _STATUS.decode(body)
    except UNREADABLE:
        # Not from the API server but from something before it: its text could be anything.
        told = Status()
    status = Status(code, told.reason, told.message, told.details)
    after = float(retry_after) if retry_after and retry_after.strip().isdecimal() else None
    return from_status(status, method=method, path=path, retry_after=after)


def shorten(text: str) -> str:
    return text if len(text) <= LONGEST_MESSAGE else text[: LONGEST_MESSAGE - 1] + "…"


def _class_of(status: Status) -> type[ApiError]:
    if status.reason == "AlreadyExists":
        return AlreadyExists
    if status.code >= 500 or status.code == 408:
        return Unavailable
    return _BY_STATUS.get(status.code, Rejected)
