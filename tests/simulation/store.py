"""A model of the API server: objects with versions, a log of changes, and watchers of it."""

from collections.abc import Callable
from itertools import count
from typing import Any
from urllib.parse import unquote

import msgspec
from tests.simulation.json_patch import Document, merged, patched

from reroll.kube.errors import AlreadyExists, Conflict, Invalid, NotFound
from reroll.kube.wire import JSON_PATCH, Request

Place = tuple[str, str]
Watcher = Callable[[str, bytes, bool], None]
"""The plural, the object as bytes, and whether it is gone."""
_UNSTORED = {"replicasets", "pods"}
"""What its owner in the model knows, rather than the store."""


class Store:
    def __init__(self) -> None:
        self._objects: dict[str, dict[Place, Document]] = {}
        self._versions, self._uids = count(1000), count()
        self.watchers: list[Watcher] = []
        self.written: Callable[[Document | None, Document], None] = lambda *_: None
        """Called with a Deployment before and after each write of a controller."""
        self.reacts: Callable[[str, Document | None, Document | None], None] = lambda *_: None
        """Called after every change: what the control plane makes of it."""
        self.owned: Callable[[str, str, str], list[Document]] = lambda *_: []
        """The ReplicaSets or pods of a Deployment."""
        self.now: Callable[[], str] = lambda: ""
        """The time as objects tell it."""
        self.calls = 0
        self.errors: list[Exception] = []
        """What went wrong in the model itself."""

    # For the model itself

    def all(self, plural: str) -> dict[Place, Document]:
        return self._objects.setdefault(plural, {})

    def put(self, plural: str, document: Document) -> Document:
        """Make or change an object; what it is after that."""
        metadata = document["metadata"]
        place = metadata.get("namespace", ""), metadata["name"]
        before = self.all(plural).get(place)
        generation = before["metadata"]["generation"] + _is_newer(before, document) if before else 1
        after = {
            **document,
            "metadata": {
                **metadata,
                "uid": before["metadata"]["uid"] if before else self._uid(),
                "generation": generation,
                "resourceVersion": str(next(self._versions)),
            },
        }
        self.all(plural)[place] = after
        self._tell(plural, after, gone=False)
        self.reacts(plural, before, after)
        return after

    def delete(self, plural: str, place: Place) -> None:
        before = self.all(plural).pop(place)
        last = merged(before, {"metadata": {"resourceVersion": str(next(self._versions))}})
        self._tell(plural, last, gone=True)
        self.reacts(plural, before, None)

    def version(self) -> str:
        return str(next(self._versions))

    def _uid(self) -> str:
        number = next(self._uids)
        return f"{number % 16:x}{number:07x}"

    def _tell(self, plural: str, document: Document, *, gone: bool) -> None:
        raw = msgspec.json.encode(document)
        for watcher in self.watchers:
            watcher(plural, raw, gone)

    # For controllers

    def answer(self, request: Request) -> bytes:
        """What the API server answers; an `ApiError` is raised."""
        self.calls += 1
        assert request.resource is not None
        plural = request.resource.plural
        parts = [unquote(part) for part in request.path.split("/")]
        after = parts[parts.index(plural) + 1 :]
        namespace = parts[parts.index("namespaces") + 1] if "namespaces" in parts else ""
        found = _VERBS[request.verb](self, request, plural, (namespace, after[0] if after else ""))
        return msgspec.json.encode(found)

    def _list(self, request: Request, plural: str, place: Place) -> Document:
        query = dict(request.query)
        selector = query.get("labelSelector", "")
        if plural in _UNSTORED:
            items = self.owned(plural, place[0], selector.removeprefix("app="))
        else:
            name, _, value = selector.partition("=")
            items = [
                one
                for (namespace, _), one in self.all(plural).items()
                if place[0] in {"", namespace}
                and (not name or _has(one["metadata"].get("labels") or {}, name, value))
            ]
        return {"metadata": {"resourceVersion": self.version()}, "items": items}

    def _get(self, _: Request, plural: str, place: Place) -> Document:
        found = self.all(plural).get(place)
        if found is None:
            raise NotFound(f"{plural} {place[1]} is not there", status=404)
        return found

    def _create(self, request: Request, plural: str, place: Place) -> Document:
        body: Document = msgspec.json.decode(request.body or b"{}")
        name = body["metadata"]["name"]
        if (place[0], name) in self.all(plural):
            raise AlreadyExists(f"{plural} {name} is there", status=409)
        return self.put(plural, merged(body, {"metadata": {"namespace": place[0]}}))

    def _patch(self, request: Request, plural: str, place: Place) -> Document:
        before = self._get(request, plural, place)
        body: Any = msgspec.json.decode(request.body or b"{}")
        if request.content_type == JSON_PATCH:
            after = patched(before, body)
        else:
            uid = body.get("metadata", {}).get("uid")
            if uid and uid != before["metadata"]["uid"]:
                raise Invalid("metadata.uid cannot be changed", status=422)
            after = merged(before, body)
        if plural == "deployments":
            self.written(before, after)
            after = managed(after, "reroll", self.now(), OURS)
        return self.put(plural, after)

    def _delete(self, request: Request, plural: str, place: Place) -> Document:
        there = self._get(request, plural, place)["metadata"]
        wanted = msgspec.json.decode(request.body or b"{}").get("preconditions", {})
        if any(there[name] != value for name, value in wanted.items()):
            raise Conflict("it is another one", status=409)
        self.delete(plural, place)
        return {"metadata": there}


THEIRS = {"f:spec": {"f:template": {}}}
OURS = {**THEIRS, "f:metadata": {"f:annotations": {"f:reroll.dev/state": {}}}}


def managed(document: Document, manager: str, time: str, fields: Document) -> Document:
    """An object after a write by this manager."""
    metadata = document["metadata"]
    others = [one for one in metadata.get("managedFields", ()) if one["manager"] != manager]
    entry = {"manager": manager, "time": time, "fieldsV1": fields}
    return {**document, "metadata": {**metadata, "managedFields": [*others, entry]}}


def _has(labels: dict[str, str], name: str, value: str) -> bool:
    return name in labels and (not value or labels[name] == value)


_VERBS = {
    "list": Store._list,
    "get": Store._get,
    "create": Store._create,
    "patch": Store._patch,
    "delete": Store._delete,
}


def _is_newer(before: Document, after: Document) -> bool:
    """Of Deployments, annotations count for the generation too, as the API server has it."""
    notes = [one["metadata"].get("annotations") or {} for one in (before, after)]
    return before.get("spec") != after.get("spec") or notes[0] != notes[1]
