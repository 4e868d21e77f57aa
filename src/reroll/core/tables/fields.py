"""The table of fields that hold the name of a ConfigMap or Secret.

For whoever renames a source: every field that has to follow. That is more than what `references`
looks at, which is only what can change a running pod. `*` stands for each item of a list.
"""

from collections.abc import Iterable

import msgspec

from reroll.core.tables.kinds import EACH, KINDS, Kind, Path


class Field(msgspec.Struct, frozen=True):
    """One field, as a path from the root of an object of some kind."""

    source: str
    """The kind of source that it names."""
    path: Path
    has_namespace: bool = False
    """It may be written `namespace/name`."""
    among: tuple[str, str] = ("", "")
    """A list beside the field's list, and what has to be in it for the field to count."""
    pinned: bool = False
    """A pin of a revision concerns it: what it names is content that containers start with."""


def _containers(*path: str) -> tuple[Path, ...]:
    kinds = ("containers", "initContainers", "ephemeralContainers")
    return tuple((kind, EACH, *path) for kind in kinds)


_VOLUME = ("volumes", EACH)
_PROJECTED = (*_VOLUME, "projected", "sources", EACH)
_STORAGE_SECRETS = (
    # Volumes whose driver wants credentials: the field below the volume, then the name.
    *(("cephfs", "secretRef"), ("cinder", "secretRef"), ("flexVolume", "secretRef")),
    *(("iscsi", "secretRef"), ("rbd", "secretRef"), ("scaleIO", "secretRef")),
    *(("storageos", "secretRef"), ("csi", "nodePublishSecretRef")),
)

POD_FIELDS: tuple[Field, ...] = (
    *(
        Field("ConfigMap", path, pinned=path[0] != "ephemeralContainers")
        for path in (
            *_containers("env", EACH, "valueFrom", "configMapKeyRef", "name"),
            *_containers("envFrom", EACH, "configMapRef", "name"),
            (*_VOLUME, "configMap", "name"),
            (*_PROJECTED, "configMap", "name"),
        )
    ),
    *(
        Field("Secret", path, pinned=path[0] != "ephemeralContainers")
        for path in (
            *_containers("env", EACH, "valueFrom", "secretKeyRef", "name"),
            *_containers("envFrom", EACH, "secretRef", "name"),
            (*_VOLUME, "secret", "secretName"),
            (*_PROJECTED, "secret", "name"),
        )
    ),
    *(
        Field("Secret", path)
        for path in (
            (*_VOLUME, "azureFile", "secretName"),
            *((*_VOLUME, *driver, "name") for driver in _STORAGE_SECRETS),
            ("imagePullSecrets", EACH, "name"),
        )
    ),
)
"""Relative to the spec of a pod."""
PINNED_FIELDS = tuple(field for field in POD_FIELDS if field.pinned)
"""Ephemeral containers are no part of a template, and are not there when a pod is made."""

PODS: tuple[tuple[str, str, Path], ...] = (
    # group, kind, path to the spec of a pod
    ("", "Pod", ("spec",)),
    ("", "PodTemplate", ("template", "spec")),
    ("", "ReplicationController", ("spec", "template", "spec")),
    ("apps", "ReplicaSet", ("spec", "template", "spec")),
)
"""What holds a pod and is no workload."""

_INGRESS = "nginx.ingress.kubernetes.io/"
_RBAC = (
    Field("ConfigMap", ("rules", EACH, "resourceNames", EACH), among=("resources", "configmaps")),
    Field("Secret", ("rules", EACH, "resourceNames", EACH), among=("resources", "secrets")),
)

FIELDS: dict[tuple[str, str], tuple[Field, ...]] = {
    ("networking.k8s.io", "Ingress"): (
        Field("Secret", ("spec", "tls", EACH, "secretName")),
        *(
            Field(kind, ("metadata", "annotations", name), has_namespace=True)
            for kind, name in (
                ("Secret", "ingress.kubernetes.io/auth-secret"),
                ("Secret", f"{_INGRESS}auth-secret"),
                ("Secret", f"{_INGRESS}auth-tls-secret"),
                ("Secret", f"{_INGRESS}proxy-ssl-secret"),
                ("ConfigMap", f"{_INGRESS}auth-proxy-set-headers"),
                ("ConfigMap", f"{_INGRESS}fastcgi-params-configmap"),
            )
        ),
    ),
    ("gateway.networking.k8s.io", "Gateway"): (
        Field("Secret", ("spec", "listeners", EACH, "tls", "certificateRefs", EACH, "name")),
    ),
    ("", "ServiceAccount"): (
        Field("Secret", ("secrets", EACH, "name")),
        Field("Secret", ("imagePullSecrets", EACH, "name")),
    ),
    ("rbac.authorization.k8s.io", "Role"): _RBAC,
    ("rbac.authorization.k8s.io", "ClusterRole"): _RBAC,
    ("storage.k8s.io", "StorageClass"): tuple(
        Field("Secret", ("parameters", name))
        for name in ("secretName", "adminSecretName", "userSecretName", "secretRef")
    ),
    ("", "PersistentVolume"): (
        Field("Secret", ("spec", "azureFile", "secretName")),
        *(Field("Secret", ("spec", *driver, "name")) for driver in _STORAGE_SECRETS),
    ),
}
"""By group and kind, for objects that hold no pod. A `namespace` beside a `name` counts too."""

WITHOUT_NAMESPACE = frozenset(("ClusterRole", "StorageClass", "PersistentVolume"))
"""Kinds whose objects are in no namespace, so that a name in them may be of any."""


def fields(group: str, kind: str, kinds: Iterable[Kind] = KINDS) -> tuple[Field, ...]:
    """The fields of one kind, each from the root of its objects."""
    rows = [(k.group, k.kind, (*k.template, "spec")) for k in kinds if k.template]
    for of_group, of_kind, path in (*rows, *PODS):
        if (of_group, of_kind) == (group, kind):
            return tuple(
                msgspec.structs.replace(field, path=(*path, *field.path)) for field in POD_FIELDS
            )
    return FIELDS.get((group, kind), ())


PINNABLE = frozenset(field.source for field in PINNED_FIELDS)
"""The kinds of sources that can have copies."""
