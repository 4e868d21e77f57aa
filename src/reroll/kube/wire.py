"""Requests to the API server as values.

Pure: a builder returns a `Request`, and `kube.client` sends it. Names end up in the path quoted,
and an empty name is refused, because it would turn one object's path into that of all of them.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict, Unpack
from urllib.parse import quote

import msgspec

from reroll.kube.errors import Rejected

FIELD_MANAGER = "reroll"
JSON = "application/json"
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
# No plain JSON as a second choice: a server that cannot leave the data out must refuse instead.
METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

Propagation = Literal["Background", "Foreground", "Orphan"]
Query = tuple[tuple[str, str], ...]
PAGE = 500
_PLAIN = re.compile(r"[A-Za-z0-9._-]+")
"""What nothing is quoted in, as are nearly all names: to look is a tenth of what quoting takes."""


class Which(TypedDict, total=False):
    """Which objects of a kind, and how much of them."""

    label_selector: str | None
    field_selector: str | None
    metadata_only: bool
    limit: int
    """Objects in a page (`PAGE` if not given); 0: all in one."""
    continue_: str


class From(TypedDict, total=False):
    """Where a watch begins, what it brings and when it ends."""

    resource_version: str
    send_initial_events: bool
    """All there is comes first."""
    label_selector: str | None
    field_selector: str | None
    timeout_seconds: int | None
    metadata_only: bool
    bookmarks: bool


class Writing(TypedDict, total=False):
    """How an object is written."""

    subresource: str | None
    manager: str
    dry_run: bool
    """Nothing is written, and the answer is what the object would become."""
    force: bool
    """Of an apply: take fields from other managers."""


class Deletion(TypedDict, total=False):
    """What must be so for a deletion, and what becomes of dependants."""

    uid: str | None
    """Only this very object (409 if another took its name)."""
    resource_version: str | None
    """Only as it was read (409 if it changed)."""
    propagation: Propagation | None


class Resource(msgspec.Struct, frozen=True):
    """One kind of object as the API serves it."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def full_name(self) -> str:
        """As RBAC and `kubectl` spell it: `deployments.apps`, `configmaps`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def path(
        self, namespace: str | None = None, name: str | None = None, subresource: str | None = None
    ) -> str:
        """The path of one object, or of all of a namespace, or of all."""
        parts = ["apis", self.group, self.version] if self.group else ["api", self.version]
        if namespace is not None and self.namespaced:
            parts += ["namespaces", _segment("namespace", namespace)]
        elif name is not None and self.namespaced:
            raise Rejected(f"the path of {self.plural} {name!r} needs a namespace")
        parts.append(self.plural)
        if name is not None:
            parts.append(_segment("name", name))
            if subresource is not None:
                parts.append(subresource)
        return "/" + "/".join(parts)


PODS = Resource("", "v1", "pods", "Pod")


class Request(msgspec.Struct, frozen=True):
    """All that is needed to send one request; `verb` and `resource` name it in metrics."""

    method: str
    path: str
    query: Query = ()
    body: bytes | None = None
    content_type: str = JSON
    accept: str = JSON
    verb: str = ""
    resource: Resource | None = None

    @property
    def target(self) -> str:
        """Path and query as they go over the wire."""
        if not self.query:
            return self.path
        return self.path + "?" + "&".join(f"{key}={_quoted(value)}" for key, value in self.query)


def get(
    resource: Resource,
    namespace: str | None,
    name: str,
    *,
    subresource: str | None = None,
    metadata_only: bool = False,
    at_least: int = 0,
) -> Request:
    """The most recent state; with `at_least` the server's cache will do, if it has that version."""
    path = resource.path(namespace, name, subresource)
    query = (("resourceVersion", str(at_least)),) if at_least else ()
    accept = METADATA if metadata_only else JSON
    return Request("GET", path, query, accept=accept, verb="get", resource=resource)


def list_page(resource: Resource, namespace: str | None = None, **which: Unpack[Which]) -> Request:
    """One page of a list; the most recent state, not the server's cache."""
    limit = which.get("limit", PAGE)
    query = _query(
        limit=str(limit) if limit else None,
        **{"continue": which.get("continue_") or None},
        labelSelector=which.get("label_selector"),
        fieldSelector=which.get("field_selector"),
    )
    accept = METADATA_LIST if which.get("metadata_only") else JSON
    path = resource.path(namespace)
    return Request("GET", path, query, accept=accept, verb="list", resource=resource)


def watch(resource: Resource, namespace: str | None = None, **start: Unpack[From]) -> Request:
    """A watch from a resource version, or with all there is first (`send_initial_events`)."""
    initial, seconds = start.get("send_initial_events", False), start.get("timeout_seconds")
    query = _query(
        watch="true",
        allowWatchBookmarks="true" if start.get("bookmarks", True) else None,
        sendInitialEvents="true" if initial else None,
        resourceVersionMatch="NotOlderThan" if initial else None,
        resourceVersion=start.get("resource_version") or None,
        labelSelector=start.get("label_selector"),
        fieldSelector=start.get("field_selector"),
        timeoutSeconds=None if seconds is None else str(seconds),
    )
    accept = METADATA if start.get("metadata_only") else JSON
    path = resource.path(namespace)
    return Request("GET", path, query, accept=accept, verb="watch", resource=resource)


def create(
    resource: Resource, namespace: str | None, body: object, **how: Unpack[Writing]
) -> Request:
    path = resource.path(namespace)
    return Request("POST", path, _written(how), _encode(body), verb="create", resource=resource)


def json_patch(
    resource: Resource,
    namespace: str | None,
    name: str,
    operations: Sequence[Mapping[str, Any]],
    **how: Unpack[Writing],
) -> Request:
    return _patch(JSON_PATCH, resource, (namespace, name), operations, how)


def merge_patch(
    resource: Resource, namespace: str | None, name: str, body: object, **how: Unpack[Writing]
) -> Request:
    """Guarded if `body` carries `metadata.resourceVersion`: another version answers 409."""
    return _patch(MERGE_PATCH, resource, (namespace, name), body, how)


def strategic_patch(
    resource: Resource, namespace: str | None, name: str, body: object, **how: Unpack[Writing]
) -> Request:
    """Items of a list are added, or with `$patch: delete` removed, by their key.

    Only for built-in kinds. Guarded if `body` carries `metadata.uid`: another object of that name
    answers 422, because a uid cannot be changed.
    """
    return _patch(STRATEGIC_PATCH, resource, (namespace, name), body, how)


def apply(
    resource: Resource, namespace: str | None, name: str, body: object, **how: Unpack[Writing]
) -> Request:
    """Server-side apply; `body` is JSON, which is YAML too.

    It makes what does not exist, unless `body` carries `metadata.uid`.
    """
    how.setdefault("force", False)
    return _patch(APPLY_PATCH, resource, (namespace, name), body, how)


def delete(
    resource: Resource, namespace: str | None, name: str, **how: Unpack[Deletion]
) -> Request:
    options: dict[str, Any] = {"apiVersion": "v1", "kind": "DeleteOptions"}
    guards = {"uid": how.get("uid"), "resourceVersion": how.get("resource_version")}
    if preconditions := {key: value for key, value in guards.items() if value is not None}:
        options["preconditions"] = preconditions
    if propagation := how.get("propagation"):
        options["propagationPolicy"] = propagation
    path = resource.path(namespace, name)
    return Request("DELETE", path, body=_encode(options), verb="delete", resource=resource)


def evict(namespace: str, pod: str, *, uid: str | None = None) -> Request:
    """Delete a pod if its disruption budgets allow it (429 if not now)."""
    eviction: dict[str, Any] = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": pod, "namespace": namespace},
    }
    if uid is not None:
        eviction["deleteOptions"] = {"preconditions": {"uid": uid}}
    path = PODS.path(namespace, pod, "eviction")
    return Request("POST", path, body=_encode(eviction), verb="evict", resource=PODS)


def _patch(
    kind: str, resource: Resource, place: tuple[str | None, str], body: object, how: Writing
) -> Request:
    path = resource.path(*place, how.get("subresource"))
    return Request("PATCH", path, _written(how), _encode(body), kind, JSON, "patch", resource)


def _written(how: Writing) -> Query:
    return _query(
        fieldManager=how.get("manager", FIELD_MANAGER),
        # Else the server reads what is written a second time, for warnings that nobody looks at.
        fieldValidation="Ignore",
        force=str(how["force"]).lower() if "force" in how else None,
        dryRun="All" if how.get("dry_run") else None,
    )


def _query(**values: str | None) -> Query:
    return tuple((key, value) for key, value in values.items() if value is not None)


def _segment(what: str, text: str) -> str:
    if text in {"", ".", ".."}:
        # Names come from objects too: it is refused as the API server would refuse it.
        raise Rejected(f"{text!r} cannot be the {what} of a Kubernetes object")
    return _quoted(text, ":")


def _quoted(text: str, safe: str = "") -> str:
    return text if _PLAIN.fullmatch(text) else quote(text, safe)


def _encode(body: object) -> bytes:
    return body if isinstance(body, bytes) else msgspec.json.encode(body)
