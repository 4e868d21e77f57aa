"""Content-named configs, and which of them something in the cluster names.

Every object counts, running or not: a ReplicaSet without pods is what `rollout undo` goes back to.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec

from reroll.core.model.key import Key
from reroll.core.model.metadata import Metadata
from reroll.core.revisions.content_names import ATTACHING
from reroll.core.revisions.mentions import mentioned
from reroll.core.tables.kinds import KINDS
from reroll.kube import aio, resources
from reroll.kube.objects import Stub
from reroll.kube.view import View

USERS = (
    *map(resources.of, KINDS),
    *resources.REVISIONS.values(),
    resources.PODS,
    resources.REPLICATION_CONTROLLERS,
    resources.SERVICE_ACCOUNTS,
    resources.INGRESSES,
    resources.INJECTIONS,
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


async def configs(view: View, selector: str | None) -> dict[Key, Stub]:
    """The ConfigMaps and Secrets with these labels, without their content."""
    rows = resources.CONFIGS
    listed = await aio.gather(
        view.every(resource, Stub, label_selector=selector) for resource in rows.values()
    )
    return {
        Key(kind, stub.metadata.namespace, stub.metadata.name): stub
        for kind, stubs in zip(rows, listed, strict=True)
        for stub in stubs
    }


def users(
    kind: str, documents: Iterable[Document], names: Mapping[str, frozenset[str]]
) -> dict[Place, str]:
    """The configs that these objects name, each with one of them; `names` is by namespace."""
    used: dict[Place, str] = {}
    for document in documents:
        namespace = document.metadata.namespace
        if ATTACHING.items() <= (document.metadata.labels or {}).items():
            continue
        for name in mentioned(document.text, names.get(namespace, frozenset())):
            used.setdefault(Place(namespace, name), f"{kind} {document.metadata.name}")
    return used


def by_namespace(places: Iterable[Place]) -> dict[str, frozenset[str]]:
    names: dict[str, set[str]] = {}
    for place in places:
        names.setdefault(place.namespace, set()).add(place.name)
    return {namespace: frozenset(those) for namespace, those in names.items()}
