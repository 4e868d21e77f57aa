"""Workloads whose pods run the web server, and what its process sees of its configuration.

`serving()` makes the manifests: it is what the builders of `tests.support.build` take. The server
answers with the value of a variable (`/env/NAME`), with a file as it is now (`/file?path=`), and
with its pages as they were when it started.
"""

import threading
from collections import Counter
from collections.abc import Sequence
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import Request, urlopen

from tests.scenarios.stage import Stage, eventually
from tests.support.build import Object
from tests.support.settled import is_settled

from reroll_dev.api import Api, path_to
from reroll_dev.images.made import name_of

WEB = name_of("web")
PORT = 8080
PATIENCE = 120.0
"""Seconds: containers start on a busy machine."""
DRAIN = {"WEB_DRAIN": "5s"}
"""For pods that are asked while they end: kube-proxy writes its rules once a second."""
MISSING = "(missing)"


def container(name: str = "main", port: int = PORT, **fields: Any) -> Object:
    probe = {"httpGet": {"path": "/healthz", "port": port}, "periodSeconds": 1}
    return {"name": name, "image": WEB, "readinessProbe": probe, **fields}


def variables(**values: str) -> list[Object]:
    return [{"name": name, "value": value} for name, value in values.items()]


def serving(
    env: Sequence[Object] = (), pod: Object | None = None, **settings: str
) -> dict[str, Any]:
    """The pod template of a builder; `settings` are those of the web server."""
    usual = {"WEB_DRAIN": "0s", **settings}
    return {
        "container": container(),
        "env": [*variables(**usual), *env],
        "pod": {"terminationGracePeriodSeconds": 15, **(pod or {})},
    }


def answer(url: str, method: str = "GET") -> str:
    """What a server says; an error if it cannot be reached or fails."""
    try:
        with urlopen(Request(url, method=method), timeout=10) as response:
            return str(response.read().decode())
    except HTTPError as error:
        with error:
            if error.code == 404:
                return MISSING
            raise


class ServingStage(Stage):
    """A namespace whose pods run."""

    def __init__(self, api: Api, namespace: str, address: str) -> None:
        super().__init__(api, namespace)
        self.address = address
        """Of the node."""

    def settled(self, manifest: Object) -> Object:
        return self.api.wait_for(self.path(manifest), is_settled, timeout=PATIENCE)

    def service(self, manifest: Object) -> str:
        """A Service of its pods; where it answers, once it does."""
        name = manifest["metadata"]["name"]
        ports = [{"port": 80, "targetPort": PORT}]
        spec = {"type": "NodePort", "selector": {"app": name}, "ports": ports}
        made = self.make(
            {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}
        )
        url = f"http://{self.address}:{made['spec']['ports'][0]['nodePort']}"
        eventually(lambda: _reached(f"{url}/healthz") is not None, f"{url} answers", PATIENCE)
        return url

    def answers(self, manifest: Object, path: str, port: int = PORT) -> list[str | None]:
        """Of each of its pods; None of one that cannot be reached."""
        addresses = [pod["status"].get("podIP") for pod in self.pods(manifest)]
        return [_reached(f"http://{one}:{port}{path}") if one else None for one in addresses]

    def all_answer(self, manifest: Object, path: str, text: str, port: int = PORT) -> None:
        """Wait until all its pods say this."""
        last: list[str | None] = []

        def same() -> bool:
            last[:] = self.answers(manifest, path, port)
            return set(last) == {text}

        try:
            eventually(same, f"{path} is {text!r}", PATIENCE)
        except AssertionError as error:
            raise AssertionError(f"{error}; it is {last}") from None

    def variable_is(self, manifest: Object, name: str, text: str) -> None:
        """Wait until the processes of all its pods have this in their environment."""
        self.all_answer(manifest, f"/env/{name}", text)

    def file_is(self, manifest: Object, path: str, text: str) -> None:
        """Wait until all its pods have this in a file."""
        self.all_answer(manifest, file(path), text)

    def log(self, pod: Object, container: str) -> str:
        path = path_to("Pod", pod["metadata"]["name"], self.namespace)
        text: str = self.api.get(f"{path}/log", container=container)["text"]
        return text

    def old_ones_end(self, manifest: Object) -> None:
        """Wait until no pod of it is on its way out any more."""
        path, labels = path_to("Pod", "", self.namespace), f"app={manifest['metadata']['name']}"

        def none_leaves() -> bool:
            pods = self.api.list(path, labelSelector=labels)
            return not any("deletionTimestamp" in pod["metadata"] for pod in pods)

        eventually(none_leaves, "the old pods end", PATIENCE)

    def uids(self, manifest: Object) -> set[str]:
        return {pod["metadata"]["uid"] for pod in self.pods(manifest)}


def file(path: str) -> str:
    """Where the server shows a file."""
    return f"/file?path={quote(path)}"


def _reached(url: str) -> str | None:
    try:
        return answer(url)
    except (OSError, HTTPException):
        return None


class Client:
    """Asks all the time, each time with a new connection, and counts what it is told."""

    PAUSE = 0.02

    def __init__(self, url: str) -> None:
        self._url = url
        self.answers: Counter[str] = Counter()
        self.failures: list[str] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(self.PAUSE):
            try:
                self.answers[answer(self._url)] += 1
            except (OSError, HTTPException) as error:
                self.failures.append(f"after {self.answers.total()}: {error!r}")

    def goes_on(self, count: int = 50) -> None:
        """Wait for so many more answers."""
        enough = self.answers.total() + count
        eventually(lambda: self.answers.total() >= enough, f"{count} more answers", PATIENCE)
