"""Which content-named configs something in the cluster names.

Pure. Whatever exists counts, running or not: a ReplicaSet without pods is where `rollout undo` goes
back to. Where a list is a list of what people configured, it counts for all it says.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from reroll.core.model.injection import GROUP, KIND, PLURAL, VERSION
from reroll.core.model.metadata import Metadata
from reroll.core.revisions.content_names import ATTACHING
from reroll.core.revisions.mentions import mentioned
from reroll.core.tables.kinds import KINDS
from reroll.kube import wire

USERS: tuple[wire.Resource, ...] = (
    *map(wire.resource_of, KINDS),
    wire.Resource("apps", "v1", "replicasets", "ReplicaSet"),
    wire.Resource("apps", "v1", "controllerrevisions", "ControllerRevision"),
    wire.PODS,
    wire.Resource("", "v1", "replicationcontrollers", "ReplicationController"),
    wire.Resource("", "v1", "serviceaccounts", "ServiceAccount"),
    wire.Resource("networking.k8s.io", "v1", "ingresses", "Ingress"),
    wire.Resource(GROUP, VERSION, PLURAL, KIND),
)
"""Every kind that can name a ConfigMap or Secret and that each cluster has, and our own."""


class Document(msgspec.Struct, gc=False, rename="camel"):
    """The parts of an object that can name a config, as they came."""

    metadata: Metadata
    spec: msgspec.Raw = msgspec.Raw()
    data: msgspec.Raw = msgspec.Raw()
    secrets: msgspec.Raw = msgspec.Raw()
    image_pull_secrets: msgspec.Raw = msgspec.Raw()

    @property
    def text(self) -> bytes:
        annotations = msgspec.json.encode(self.metadata.annotations)
        parts = (self.spec, self.data, self.secrets, self.image_pull_secrets)
        return b" ".join([annotations, *map(bytes, parts)])


class Place(NamedTuple):
    """A name in a namespace; whether of a ConfigMap or a Secret does not matter."""

    namespace: str
    name: str


def users(
    kind: str, documents: Iterable[Document], names: Mapping[str, frozenset[str]]
) -> dict[Place, str]:
    """The configs that these objects name, each with one of them; `names` is by namespace."""
    found: dict[Place, str] = {}
    for one in documents:
        namespace = one.metadata.namespace
        if ATTACHING.items() <= (one.metadata.labels or {}).items():
            continue
        for name in mentioned(one.text, names.get(namespace, frozenset())):
            found.setdefault(Place(namespace, name), f"{kind} {one.metadata.name}")
    return found


def by_namespace(places: Iterable[Place]) -> dict[str, frozenset[str]]:
    names: dict[str, set[str]] = {}
    for place in places:
        names.setdefault(place.namespace, set()).add(place.name)
    return {namespace: frozenset(those) for namespace, those in names.items()}
