"""A small synchronous client of the API server: JSON in, JSON out, one method for each verb.

For setting up a cluster, for tests and for benchmarks; the product itself talks through
`reroll.kube`. Connections are kept and shared between threads. Errors carry the server's words; no
object is ever put into one, for it may be a Secret.
"""

import base64
import http.client
import json
import select
import ssl
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote, urlencode, urlsplit

Object = dict[str, Any]

PATCHES = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}

# Where the kinds live that are asked for by name; `path_of` reads any other from the object itself.
KINDS = {
    "Deployment": "apps/v1",
    "StatefulSet": "apps/v1",
    "DaemonSet": "apps/v1",
    "ReplicaSet": "apps/v1",
    "ControllerRevision": "apps/v1",
    "Job": "batch/v1",
    "CronJob": "batch/v1",
    "Rollout": "argoproj.io/v1alpha1",
    "NetworkPolicy": "networking.k8s.io/v1",
    "PodDisruptionBudget": "policy/v1",
    "Lease": "coordination.k8s.io/v1",
    "Role": "rbac.authorization.k8s.io/v1",
    "RoleBinding": "rbac.authorization.k8s.io/v1",
    "ClusterRole": "rbac.authorization.k8s.io/v1",
    "ClusterRoleBinding": "rbac.authorization.k8s.io/v1",
    "CustomResourceDefinition": "apiextensions.k8s.io/v1",
    "MutatingAdmissionPolicy": "admissionregistration.k8s.io/v1",
    "MutatingAdmissionPolicyBinding": "admissionregistration.k8s.io/v1",
    "MutatingWebhookConfiguration": "admissionregistration.k8s.io/v1",
}


class ApiError(Exception):
    """The server's refusal."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(f"{status} {reason}: {message}")
        self.status = status
        self.reason = reason
        self.message = message


def path_to(
    kind: str, name: str = "", namespace: str | None = None, *, version: str | None = None
) -> str:
    """`path_to("Deployment", "web", "shop")`; without a name, the collection."""
    version = version or KINDS.get(kind, "v1")
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    scope = f"/namespaces/{quote(namespace)}" if namespace else ""
    return f"{root}{scope}/{_plural(kind)}" + (f"/{quote(name)}" if name else "")


def path_of(manifest: Mapping[str, Any]) -> str:
    metadata = manifest["metadata"]
    return path_to(
        manifest["kind"],
        metadata["name"],
        metadata.get("namespace"),
        version=manifest["apiVersion"],
    )


def _plural(kind: str) -> str:
    word = kind.lower()
    if word.endswith("y") and word[-2] not in "aeou":
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith("s") else f"{word}s"


def looks(timeout: float) -> Iterator[float]:
    """How long was waited, for each look at what is waited for, until that is `timeout`.

    Between two looks passes a tenth of that: a short wait ends at once, and many long ones leave
    the server time to do what they wait for.
    """
    start = time.monotonic()
    while (waited := time.monotonic() - start) < timeout:
        yield waited
        time.sleep(min(max(waited / 10, 0.05), 0.5))


class Api:
    """Calls as one identity."""

    def __init__(self, server: str, context: ssl.SSLContext, token: str | None = None) -> None:
        self.server = server
        parts = urlsplit(server)
        self._host, self._port = parts.hostname or "", parts.port or 443
        self._context = context
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._idle: list[http.client.HTTPSConnection] = []
        self._guard = threading.Lock()

    @classmethod
    def from_kubeconfig(cls, path: Path) -> "Api":
        """As the first user and cluster of a file that this package wrote."""
        import yaml

        content = yaml.safe_load(path.read_text())
        cluster, user = content["clusters"][0]["cluster"], content["users"][0]["user"]
        ca = base64.b64decode(cluster["certificate-authority-data"]).decode()
        context = ssl.create_default_context(cadata=ca)
        if "client-key-data" in user:
            _load_certificate(context, user)
        return cls(cluster["server"], context, user.get("token"))

    def get(self, path: str, **query: Any) -> Object:
        return self.request("GET", path, query=query)

    def list(self, path: str, **query: Any) -> list[Object]:
        items: list[Object] = self.request("GET", path, query=query)["items"]
        return items

    def create(self, manifest: Mapping[str, Any], namespace: str | None = None) -> Object:
        """Create an object; `namespace` is where, if it does not say so itself."""
        metadata = manifest["metadata"]
        scope = metadata.get("namespace", namespace)
        path = path_to(manifest["kind"], "", scope, version=manifest["apiVersion"])
        return self.request("POST", path, manifest)

    def post(self, path: str, body: Mapping[str, Any]) -> Object:
        return self.request("POST", path, body)

    def replace(self, path: str, body: Mapping[str, Any]) -> Object:
        return self.request("PUT", path, body)

    def patch(self, path: str, body: Any, kind: str = "merge", **query: Any) -> Object:
        """`kind` is a key of PATCHES."""
        return self.request("PATCH", path, body, content_type=PATCHES[kind], query=query)

    def delete(self, path: str, *, missing_ok: bool = False, propagation: str = "") -> None:
        try:
            query = {"propagationPolicy": propagation} if propagation else {}
            self.request("DELETE", path, query=query)
        except ApiError as error:
            if error.status != 404 or not missing_ok:
                raise

    def wait_for(
        self, path: str, condition: Callable[[Object], Any], timeout: float = 30, what: str = ""
    ) -> Object:
        """Look until the object at `path` is there and `condition` holds of it; returns it."""
        seen: Object = {}
        for _ in looks(timeout):
            try:
                seen = self.get(path)
            except ApiError as error:
                # Not there yet, or the server is busy: look again.
                if error.status not in {404, 429} and error.status < 500:
                    raise
                seen = {}
            if seen and condition(seen):
                return seen
        found = json.dumps(seen.get("status", "nothing to show")) if seen else "not found"
        raise TimeoutError(f"{path}: {what or 'not as expected'} after {timeout:g} s: {found}")

    def wait_gone(self, path: str, timeout: float = 30) -> None:
        for _ in looks(timeout):
            try:
                self.get(path)
            except ApiError as error:
                if error.status == 404:
                    return
                raise
        raise TimeoutError(f"{path}: still there after {timeout:g} s")

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        content_type: str = "application/json",
        query: Mapping[str, Any] | None = None,
    ) -> Object:
        """Any request; an answer that is not JSON (`/readyz`) comes as `{"text": …}`."""
        target = f"{path}?{urlencode(query)}" if query else path
        headers = {**self._headers, "Content-Type": content_type, "Accept": "application/json"}
        content = None if body is None else json.dumps(body)
        with self._connection() as connection:
            connection.request(method, target, content, headers)
            response = connection.getresponse()
            answer = response.read()
        if response.status >= 400:
            raise _refusal(response.status, response.reason, answer)
        if response.headers.get_content_type() != "application/json":
            return {"text": answer.decode(errors="replace")}
        decoded: Object = json.loads(answer)
        return decoded

    @contextmanager
    def _connection(self) -> Iterator[http.client.HTTPSConnection]:
        connection = self._idle_connection() or self._new_connection()
        try:
            yield connection
        except BaseException:
            connection.close()
            raise
        with self._guard:
            self._idle.append(connection)

    def _idle_connection(self) -> http.client.HTTPSConnection | None:
        with self._guard:
            connection = self._idle.pop() if self._idle else None
        # Something to read before anything was asked: the server has said goodbye.
        if connection and connection.sock and select.select([connection.sock], [], [], 0)[0]:
            connection.close()
        return connection

    def _new_connection(self) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection(
            self._host, self._port, context=self._context, timeout=30
        )

    def close(self) -> None:
        with self._guard:
            for connection in self._idle:
                connection.close()
            self._idle.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _load_certificate(context: ssl.SSLContext, user: Mapping[str, str]) -> None:
    # Python loads certificates from files only.
    with tempfile.NamedTemporaryFile() as file:
        for field in ("client-certificate-data", "client-key-data"):
            file.write(base64.b64decode(user[field]))
        file.flush()
        context.load_cert_chain(file.name)


def _refusal(status: int, reason: str, answer: bytes) -> ApiError:
    try:
        said = json.loads(answer)
        return ApiError(status, said.get("reason", reason), said.get("message", ""))
    except (ValueError, AttributeError):
        return ApiError(status, reason, answer.decode(errors="replace")[:300])
