"""Kubernetes objects as types: what more than one room needs of them."""

from typing import NamedTuple

import msgspec

from reroll.core.model.metadata import Metadata
from reroll.core.revisions.mentions import mentioned
from reroll.core.tables.kinds import Revisions, revision_number

REVISION_KINDS = {
    Revisions.REPLICA_SETS: "ReplicaSet",
    Revisions.CONTROLLER_REVISIONS: "ControllerRevision",
}


class Revision(msgspec.Struct, gc=False):
    """A ReplicaSet, or a ControllerRevision, which has its number and its template elsewhere."""

    metadata: Metadata
    revision: int = 0
    spec: msgspec.Raw = msgspec.Raw()
    data: msgspec.Raw = msgspec.Raw()

    @property
    def number(self) -> int:
        return revision_number(self.metadata.annotations, self.revision)

    def mentions(self, names: frozenset[str]) -> frozenset[str]:
        return mentioned(bytes(self.spec) + b" " + bytes(self.data), names)


class Owner(NamedTuple):
    """What is to own a config."""

    api_version: str
    kind: str
    name: str
    uid: str

    @property
    def reference(self) -> dict[str, str]:
        """Neither its controller, nor in the way of its own deletion."""
        names = ("apiVersion", "kind", "name", "uid")
        return dict(zip(names, self, strict=True))
