"""What can go wrong between two sockets, beside `OSError` and `TimeoutError`."""

# ruff: noqa: N818  `errors.Closed` says it already


class HttpError(ConnectionError):
    """Base of these; the text is a sentence without anything of an answer's body."""


class Closed(HttpError):
    """The other side closed the connection before its answer was complete."""


class Garbled(HttpError):
    """What came is not HTTP."""


class ProxyRefused(HttpError):
    """A proxy did not connect us."""

    def __init__(self, status: int) -> None:
        super().__init__(f"the proxy refused with status {status}")


class NoProxy(HttpError):
    """A proxy cannot be reached."""


class NoServer(HttpError):
    """A server cannot be reached; `__cause__` is the `OSError`."""


class Forbidden(HttpError):
    """Where no request of ours may go."""

    def __init__(self, where: str) -> None:
        super().__init__(
            f"{where} leads to a link-local address or to the metadata of a cloud, "
            "where reroll sends nothing; name another address"
        )


class BadRoute(HttpError):
    """What is configured for a request cannot be used; asking again does not help."""


class NoAnswer(HttpError):
    """No whole answer came, or none in time."""


class Untrusted(HttpError):
    """The certificate that somebody showed is not one that we trust."""

    def __init__(self, where: str, why: str) -> None:
        super().__init__(f"the certificate of {where} is not trusted: {why}")
