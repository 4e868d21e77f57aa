"""What must hold after any storm, told by the order in which the store wrote things.

Resource versions are revisions of one store: a pod that was made after the last change of a source
has that change; a roll for which there was no change yet is one too many.
"""

import json
import socket
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from http.client import HTTPException, HTTPResponse, HTTPSConnection
from itertools import pairwise
from types import TracebackType
from typing import Any, NamedTuple, Self

from reroll_dev.api import Api, path_to

Object = dict[str, Any]
RECORD = "reroll.dev/state"


class Roll(NamedTuple):
    version: int
    """Of the write that began it."""
    at: datetime
    """As the record tells."""


class Witness:
    """Follows the workloads and pods of a namespace while it is open."""

    def __init__(self, api: Api, namespace: str, kinds: Iterable[str]) -> None:
        self._api, self._namespace = api, namespace
        self.rolls: dict[str, list[Roll]] = defaultdict(list)
        self.births: dict[str, int] = {}
        """The version at which each pod was made, by uid."""
        self._notes: dict[str, Callable[[str, Object], None]] = dict.fromkeys(kinds, self._workload)
        self._notes["Pod"] = self._pod
        self._open: list[tuple[HTTPSConnection, threading.Thread]] = []

    def __enter__(self) -> Self:
        for kind, note in self._notes.items():
            path = path_to(kind, "", self._namespace)
            listed = self._api.get(path)
            for one in listed["items"]:
                note("ADDED", one)
            connection = self._api._new_connection()
            version = listed["metadata"]["resourceVersion"]
            target = f"{path}?watch=true&resourceVersion={version}&timeoutSeconds=7200"
            connection.request("GET", target, headers=self._api._headers)
            connection.sock.settimeout(None)
            follow = threading.Thread(target=_follow, args=[connection.getresponse(), note])
            follow.start()
            self._open.append((connection, follow))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for connection, follow in self._open:
            connection.sock.shutdown(socket.SHUT_RDWR)
            follow.join()
            connection.close()

    def _workload(self, _: str, seen: Object) -> None:
        record = json.loads(seen["metadata"].get("annotations", {}).get(RECORD) or "{}")
        rolled = record.get("rolled")
        if not rolled or record["why"] == "Pinned":  # the first pins need no change
            return
        name, at = seen["metadata"]["name"], datetime.fromisoformat(rolled)
        rolls = self.rolls[name]
        if not rolls or rolls[-1].at != at:
            rolls.append(Roll(int(seen["metadata"]["resourceVersion"]), at))

    def _pod(self, event: str, seen: Object) -> None:
        if event == "ADDED":
            version = int(seen["metadata"]["resourceVersion"])
            self.births.setdefault(seen["metadata"]["uid"], version)


def _follow(response: HTTPResponse, note: Callable[[str, Object], None]) -> None:
    try:
        for line in response:
            event = json.loads(line)
            note(event["type"], event["object"])
    except (OSError, ValueError, HTTPException):
        return  # it was closed


def surplus(rolls: Sequence[Roll], changes: Sequence[int]) -> list[str]:
    """Rolls for which there was no change yet."""
    ordered = sorted(changes)
    return [
        f"roll {number} at version {roll.version} had {before} changes before it"
        for number, roll in enumerate(rolls, 1)
        if number > (before := sum(change < roll.version for change in ordered))
    ]


def hasty(rolls: Sequence[Roll], debounce: timedelta) -> list[str]:
    """Rolls that came sooner after the one before than the quiet time that each waits for."""
    return [
        f"rolled at {one.at.time()} and again at {other.at.time()}"
        for one, other in pairwise(rolls)
        if other.at - one.at < debounce
    ]


def slope(samples: Sequence[tuple[float, float]]) -> float:
    """How fast a value grows, by least squares over the second half of (time, value)."""
    half = samples[len(samples) // 2 :]
    if len(half) < 3:
        return 0.0
    x = sum(at for at, _ in half) / len(half)
    y = sum(value for _, value in half) / len(half)
    over = sum((at - x) ** 2 for at, _ in half)
    return sum((at - x) * (value - y) for at, value in half) / over
