"""What the tests of the fault proxy stand on: a plain client that sees every byte, and a namespace.

The client is the standard library's: it repeats nothing, mends nothing and buffers nothing.
"""

import base64
import http.client
import json
import os
import socket
import ssl
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import yaml
from tests.support.faultproxy import FaultProxy

from reroll_dev.api import Api, path_to

BROKEN = (OSError, http.client.HTTPException)
# Kubernetes puts a ConfigMap of its own into every namespace.
LABEL = "made-by-the-test"


def connected(kubeconfig: Path) -> http.client.HTTPSConnection:
    cluster = yaml.safe_load(kubeconfig.read_text())["clusters"][0]["cluster"]
    authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
    context = ssl.create_default_context(cadata=authority)
    return http.client.HTTPSConnection(
        urlsplit(cluster["server"]).netloc, context=context, timeout=30
    )


class Watch:
    """A watch of the test's ConfigMaps, read as it comes."""

    def __init__(self, kubeconfig: Path, path: str, version: str) -> None:
        self._connection = connected(kubeconfig)
        token = yaml.safe_load(kubeconfig.read_text())["users"][0]["user"]["token"]
        query = urlencode({"watch": 1, "resourceVersion": version, "labelSelector": LABEL})
        headers = {"Authorization": f"Bearer {token}"}
        self._connection.request("GET", f"{path}?{query}", headers=headers)
        self._socket = self._connection.sock
        self._answer = self._connection.getresponse()

    def event(self) -> dict[str, Any]:
        """The next one; an incomplete line or a broken stream is an error."""
        line = self._answer.readline()
        event: dict[str, Any] = json.loads(line)
        return event

    def rest(self) -> bytes:
        """What comes until the stream ends, well or badly."""
        rest = b""
        try:
            while byte := self._answer.read(1):
                rest += byte
        except TimeoutError:
            raise AssertionError(f"no end after 30 s; until then came {rest!r}") from None
        except BROKEN:
            pass
        return rest

    def ends_well(self) -> bool:
        """Whether nothing more comes, and not because of an accident."""
        return self._answer.read() == b""

    def end_of_tcp(self) -> str:
        """How the connection ends below TLS: Python's does not tell a reset from another end."""
        with socket.socket(fileno=os.dup(self._socket.fileno())) as below:
            below.settimeout(30)
            try:
                while below.recv(65536):
                    pass
            except ConnectionResetError:
                return "reset"
            return "closed"

    def close(self) -> None:
        self._answer.close()
        self._connection.close()


class Bench:
    """A namespace, a way to it through the proxy, and one past it."""

    def __init__(self, proxy: FaultProxy, namespace: str, direct: Api, things: ExitStack) -> None:
        self.proxy, self.namespace, self.direct = proxy, namespace, direct
        self.kubeconfig = proxy.kubeconfig("admin")
        self.api = things.enter_context(Api.from_kubeconfig(self.kubeconfig))
        self.path = path_to("ConfigMap", "", namespace)
        self._things = things
        self._pool = things.enter_context(ThreadPoolExecutor(1))

    def configmap(self, name: str, size: int = 0) -> dict[str, Any]:
        return {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": self.namespace, "labels": {LABEL: ""}},
            "data": {"key": "x" * size},
        }

    def make(self, name: str) -> None:
        """Past the proxy."""
        self.direct.create(self.configmap(name))

    def exists(self, name: str) -> bool:
        return name in {found["metadata"]["name"] for found in self.direct.list(self.path)}

    def watch(self) -> Watch:
        """Of what is made from now on."""
        now = self.direct.get(self.path)["metadata"]["resourceVersion"]
        watch = Watch(self.kubeconfig, self.path, now)
        self._things.callback(watch.close)
        return watch

    def head(self) -> Future[int]:
        """The status of a plain answer, as soon as its head is there."""
        connection = connected(self.kubeconfig)
        self._things.callback(connection.close)
        connection.request("GET", "/readyz")
        return self.meanwhile(lambda: connection.getresponse().status)

    def meanwhile(self, call: Callable[[], Any]) -> Future[Any]:
        return self._pool.submit(call)

    def done(self) -> list[str]:
        return [entry.done for entry in self.proxy.log]
