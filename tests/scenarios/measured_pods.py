"""A server of the metrics of pods, which the API server asks as it asks a metrics-server."""

import json
import ssl
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.scenarios.stage import Stage
from tests.support.build import Object

from reroll_dev import pki
from reroll_dev.api import path_to

GROUP = "metrics.k8s.io/v1beta1"
RESOURCES = {
    "kind": "APIResourceList",
    "apiVersion": "v1",
    "groupVersion": GROUP,
    "resources": [
        {"name": "pods", "singularName": "", "namespaced": True, "kind": "PodMetrics",
         "verbs": ["get", "list"]},
    ],
}  # fmt: skip


class PodMetrics:
    """`load`: mebibytes that the pods of `stage` that are asked for need together, evenly."""

    def __init__(self, stage: Stage, folder: Path, load: int) -> None:
        self._stage, self.load, self._turn = stage, load, Lock()
        self.asked: list[tuple[int, int]] = []
        """For each question, the load and the number of pods that were told of."""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self._answer))
        self._server.daemon_threads = True
        self._server.socket = _tls(folder).wrap_socket(self._server.socket, server_side=True)
        self._thread = Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def objects(self) -> tuple[Object, Object]:
        """By which the API server finds it."""
        name, place = self._stage.namespace, {"namespace": self._stage.namespace}
        port = self._server.server_address[1]
        version = GROUP.partition("/")[2]
        service = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": name, **place},
            "spec": {"type": "ExternalName", "externalName": "localhost"},
        }
        api = {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": f"{version}.metrics.k8s.io"},
            "spec": {
                "group": "metrics.k8s.io",
                "version": version,
                "groupPriorityMinimum": 100,
                "versionPriority": 100,
                "insecureSkipTLSVerify": True,
                "service": {"name": name, **place, "port": port},
            },
        }
        return service, api

    def end(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _answer(self, path: str) -> Object | None:
        parts = urlsplit(path)
        if parts.path == f"/apis/{GROUP}":
            return RESOURCES
        if not parts.path.endswith("/pods"):
            return None
        [labels] = parse_qs(parts.query).get("labelSelector", [""])
        with self._turn:
            pods = self._listed(labels)
        running = [one for one in pods if _is_running(one)]
        load = self.load
        self.asked.append((load, len(running)))
        items = [_measured(one, load * 1024 // len(running)) for one in running]
        return {"kind": "PodMetricsList", "apiVersion": GROUP, "metadata": {}, "items": items}

    def _listed(self, labels: str) -> list[Object]:
        path = path_to("Pod", "", self._stage.namespace)
        return self._stage.api.list(path, labelSelector=labels)


def _is_running(pod: Object) -> bool:
    is_going = "deletionTimestamp" in pod["metadata"]
    return pod.get("status", {}).get("phase") == "Running" and not is_going


def _measured(pod: Object, kibibytes: int) -> Object:
    names = ("name", "namespace", "labels")
    usage = {"cpu": "1m", "memory": f"{kibibytes}Ki"}
    return {
        "metadata": {name: pod["metadata"][name] for name in names},
        "timestamp": pod["metadata"]["creationTimestamp"],
        "window": "10s",
        "containers": [{"name": one["name"], "usage": usage} for one in pod["spec"]["containers"]],
    }


def _tls(folder: Path) -> ssl.SSLContext:
    pair = pki.server_certificate(pki.new_authority())
    (folder / "metrics.pem").write_bytes(pair.certificate + pair.key)
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.load_cert_chain(folder / "metrics.pem")
    return made


def _handler(answer: Callable[[str], Object | None]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = answer(self.path)
            body = json.dumps(found or {}).encode()
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Not on the terminal."""

    return Handler
