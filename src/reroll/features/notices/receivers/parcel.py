"""What an encoder makes of a message: a request without its address and its secrets."""

import msgspec


class Parcel(msgspec.Struct, frozen=True):
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()
    path: str = ""
    """Behind the address of the receiver."""
    method: str = "POST"


JSON = ("Content-Type", "application/json; charset=utf-8")


def in_json(body: object, *headers: tuple[str, str], path: str = "") -> Parcel:
    return Parcel(msgspec.json.encode(body), (JSON, *headers), path)


def cut(text: str, most: int) -> str:
    """At most so many characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
