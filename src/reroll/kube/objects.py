"""Kubernetes objects as types, with the few fields that more than one package needs.

Fields that a type does not name are skipped while decoding. A caller that needs the spec of a pod
too derives a type with that one field.
"""

from datetime import datetime
from typing import NamedTuple, Self

import msgspec

from reroll.core.model.key import Key
from reroll.core.model.metadata import Metadata, value_in
from reroll.core.model.metadata import Owner as MetadataOwner
from reroll.core.model.podspec import given
from reroll.core.observe.pod_state import PodState
from reroll.core.revisions.mentions import mentioned
from reroll.core.revisions.pins import PINS, read_pins
from reroll.core.tables.kinds import revision_number
from reroll.kube.wire import Resource


class Stub(msgspec.Struct, gc=False):
    """An object of which only the metadata is read."""

    metadata: Metadata


class DataObject(Stub, gc=False):
    """A ConfigMap as it is, or a Secret, whose values are in base64."""

    data: dict[str, str] | None = None


def controller(metadata: Metadata) -> MetadataOwner | None:
    """The owner that controls an object."""
    return next((one for one in given(metadata.owner_references) if one.controller), None)


def is_owned_by(metadata: Metadata, uid: str) -> bool:
    return any(one.uid == uid for one in given(metadata.owner_references))


class OwnerRef(NamedTuple):
    """An owner to be."""

    api_version: str
    kind: str
    name: str
    uid: str

    @classmethod
    def of(cls, resource: Resource, metadata: Metadata) -> Self:
        return cls(resource.api_version, resource.kind, metadata.name, metadata.uid)

    @property
    def reference(self) -> dict[str, str]:
        """Neither its controller, nor in the way of its own deletion."""
        names = ("apiVersion", "kind", "name", "uid")
        return dict(zip(names, self, strict=True))


Owner = OwnerRef


# Pods


_TEMPLATE_HASHES = ("pod-template-hash", "rollouts-pod-template-hash", "controller-revision-hash")


class Pod(PodState, gc=False):
    """A pod without its spec."""

    @property
    def is_over(self) -> bool:
        return self.status.phase in {"Succeeded", "Failed"}

    @property
    def runs(self) -> bool:
        """It has not ended, and is not on its way out."""
        return not self.is_over and not self.is_leaving

    @property
    def has_running_container(self) -> bool:
        """A container runs, rather than waits to be started or to be started again."""
        return any(one.state.running for one in given(self.status.container_statuses))

    def is_older_than(self, moment: datetime) -> bool:
        created = self.metadata.creation_timestamp
        # Kubernetes keeps whole seconds: a pod of the same second may be older.
        return created is not None and created <= moment

    @property
    def template_hash(self) -> str:
        """The label that tells pods of one template from those of another."""
        labels = self.metadata.labels or {}
        return next((labels[name] for name in _TEMPLATE_HASHES if name in labels), "")

    @property
    def trouble(self) -> str:
        """Why it does not start, in the kubelet's word; nothing if it may still be starting."""
        status = self.status
        for one in (*given(status.init_container_statuses), *given(status.container_statuses)):
            if one.trouble:
                return one.trouble
        return "Failed" if status.phase == "Failed" else ""

    @property
    def crashes(self) -> int:
        """How often a container was started again that does not run now, or is not ready."""
        status = self.status
        every = (*given(status.init_container_statuses), *given(status.container_statuses))
        return max((one.restart_count for one in every if one.trouble), default=0)


# Revisions


class _Annotated(msgspec.Struct, gc=False):
    annotations: dict[str, str] | None = None


class _Template(msgspec.Struct, gc=False):
    metadata: _Annotated | None = None


class _Spec(msgspec.Struct, gc=False):
    template: _Template | None = None


class _Data(msgspec.Struct, gc=False):
    spec: _Spec | None = None


class Revision(msgspec.Struct, gc=False):
    """A ReplicaSet or a Job, or a ControllerRevision, which has its template in its data."""

    metadata: Metadata
    revision: int = 0
    spec: msgspec.Raw = msgspec.Raw()
    data: msgspec.Raw = msgspec.Raw()

    @property
    def number(self) -> int:
        return revision_number(self.metadata.annotations, self.revision)

    def mentions(self, names: frozenset[str], *, annotations: bool = False) -> frozenset[str]:
        """Those of `names` that it says in its spec or data, or in its own annotations too."""
        noted = msgspec.json.encode(self.metadata.annotations) if annotations else b""
        return mentioned(b" ".join((bytes(self.spec), bytes(self.data), noted)), names)

    @property
    def pins(self) -> frozenset[Key]:
        """The copies that its template names."""
        data = value_in(self.data, _Data)
        spec = (data.spec if data else None) or value_in(self.spec, _Spec)
        template = spec.template if spec else None
        annotated = template.metadata if template else None
        text = (annotated.annotations or {}).get(PINS, "") if annotated else ""
        namespace = self.metadata.namespace
        return frozenset(Key(kind, namespace, copy) for (kind, _), copy in read_pins(text).items())
