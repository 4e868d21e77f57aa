"""Every pod template that the workloads of a namespace had, in the order in which they came.

Revisions of one store order all writes: whether a template is newer than a content is told by their
resource versions, where times are too coarse.
"""

import json
import socket
import threading
import time
from collections import defaultdict
from collections.abc import Iterable
from http.client import HTTPException, HTTPResponse, HTTPSConnection
from types import TracebackType
from typing import Any, Self

from reroll_dev.api import Api, path_to

Object = dict[str, Any]


class Templates:
    """Follows kinds of workloads while it is open."""

    def __init__(self, api: Api, namespace: str, *kinds: str) -> None:
        self._api, self._namespace, self._kinds = api, namespace, kinds
        self._seen: dict[str, list[tuple[int, str]]] = defaultdict(list)
        self._last: dict[str, int] = {}
        self._connections: list[HTTPSConnection] = []
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        for kind in self._kinds:
            path = path_to(kind, "", self._namespace)
            version = self._api.get(path)["metadata"]["resourceVersion"]
            for one in self._api.list(path):
                self._note(one)
            connection = self._api._new_connection()
            target = f"{path}?watch=true&resourceVersion={version}"
            connection.request("GET", target, headers=self._api._headers)
            connection.sock.settimeout(None)
            thread = threading.Thread(target=self._follow, args=[connection.getresponse()])
            thread.start()
            self._connections.append(connection)
            self._threads.append(thread)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for connection in self._connections:
            connection.sock.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for connection in self._connections:
            connection.close()

    def check(self, manifest: Object, changes: Iterable[int]) -> None:
        """That a workload rolled for all changes of its sources (their versions), and for no other.

        Lost is a change that came after the last template: pods may not have it. Doubled is a roll
        for which there was no change yet.
        """
        name = manifest["metadata"]["name"]
        _, *rolls = self.of(manifest)
        ordered = sorted(changes)
        assert rolls, f"{name} never rolled"
        assert rolls[-1] > ordered[-1], f"{name} did not roll with the last change"
        for number, version in enumerate(rolls, 1):
            before = [change for change in ordered if change < version]
            assert number <= len(before), f"{name} rolled without a change"

    def of(self, manifest: Object) -> list[int]:
        """The versions at which a workload got another template; the first is how it was found."""
        name = manifest["metadata"]["name"]
        path = path_to(manifest["kind"], name, self._namespace)
        end = time.monotonic() + 30
        while self._last[name] < int(self._api.get(path)["metadata"]["resourceVersion"]):
            assert time.monotonic() < end, f"the watch does not come to the end of {path}"
            time.sleep(0.02)
        return [version for version, _ in self._seen[name]]

    def _follow(self, response: HTTPResponse) -> None:
        try:
            for line in response:
                self._note(json.loads(line)["object"])
        except (OSError, ValueError, HTTPException):
            return  # it was closed

    def _note(self, workload: Object) -> None:
        name, version = workload["metadata"]["name"], int(workload["metadata"]["resourceVersion"])
        template = json.dumps(workload["spec"]["template"], sort_keys=True)
        seen = self._seen[name]
        if not seen or (version > seen[-1][0] and template != seen[-1][1]):
            seen.append((version, template))
        self._last[name] = max(version, self._last.get(name, 0))
