"""Which sources the service accounts of a stream may read without naming them.

A program that may read every ConfigMap of its own namespace may look for one by a name or a label
that only its code knows.
"""

from collections.abc import Iterable, Iterator, Mapping

from reroll.core.model.key import Key
from reroll.core.tables.catalog import TABLES
from reroll.manifests.model import ManifestObject, Manifests, shown
from reroll.manifests.text.nodes import Node, items_at, text_at

_GROUP = "rbac.authorization.k8s.io"
_VERBS = frozenset(("get", "list", "watch", "update", "patch", "*"))
_KINDS = {TABLES.sources_by_name[kind].plural: kind for kind in ("ConfigMap", "Secret")}
_ACCOUNTS = "system:serviceaccounts"
"""The group of all service accounts, and with `:namespace` of those there."""
_BUILT_IN = {
    **dict.fromkeys(("cluster-admin", "admin", "edit"), frozenset(_KINDS.values())),
    "view": frozenset(("ConfigMap",)),
}
"""Roles of every cluster."""

Roles = Mapping[tuple[str, str, str], frozenset[str]]


def readable(manifests: Manifests, sources: Iterable[Key]) -> Iterator[tuple[Key, str, str]]:
    """Each of the sources that may be read, where that is granted, and a sentence."""
    rbac = [each for each in manifests.objects if each.group == _GROUP]
    roles = {
        (each.key.kind, _place(each), each.key.name): _kinds(each.node)
        for each in rbac
        if each.key.kind in {"Role", "ClusterRole"}
    }
    for binding in rbac:
        if binding.key.kind not in {"RoleBinding", "ClusterRoleBinding"}:
            continue
        kinds = _bound(binding, roles)
        for account in _accounts(binding) if kinds else ():
            for key in sources:
                if key.kind in kinds and _reaches(binding, account, key):
                    who = f"{account.kind} {account.name}"
                    what = f"{shown(binding.key)} lets {who} read every {key.kind} there"
                    yield key, manifests.where(binding), what


def _place(role: ManifestObject) -> str:
    return role.key.namespace if role.key.kind == "Role" else ""


def _kinds(role: Node) -> frozenset[str]:
    """The kinds of sources that a role lets read, whatever their names."""
    kinds: set[str] = set()
    for rule in items_at(role, ("rules",)) or ():
        groups = _texts(rule, "apiGroups") or {""}
        if items_at(rule, ("resourceNames",)) or not (_texts(rule, "verbs") & _VERBS):
            continue
        if groups & {"", "*"}:
            resources = _texts(rule, "resources")
            everything = _KINDS.keys() if "*" in resources else resources & _KINDS.keys()
            kinds |= {_KINDS[plural] for plural in everything}
    return frozenset(kinds)


def _texts(node: Node, field: str) -> set[str]:
    return {item.text for item in items_at(node, (field,)) or () if item.text is not None}


def _bound(binding: ManifestObject, roles: Roles) -> frozenset[str]:
    kind = text_at(binding.node, ("roleRef", "kind"))
    name = text_at(binding.node, ("roleRef", "name"))
    place = binding.key.namespace if kind == "Role" else ""
    known = roles.get((kind, place, name))
    return known if known is not None else _BUILT_IN.get(name, frozenset())


def _accounts(binding: ManifestObject) -> Iterator[Key]:
    for subject in items_at(binding.node, ("subjects",)) or ():
        kind, name = text_at(subject, ("kind",)), text_at(subject, ("name",))
        if kind == "ServiceAccount":
            yield Key(kind, text_at(subject, ("namespace",)) or binding.key.namespace, name)
        elif kind == "Group" and name.startswith(_ACCOUNTS):
            yield Key(kind, name.removeprefix(_ACCOUNTS).lstrip(":"), name)


def _reaches(binding: ManifestObject, account: Key, source: Key) -> bool:
    """Its own configuration is in the namespace of the account; the rest is others' business."""
    where = {account.namespace, source.namespace}
    if binding.key.kind == "RoleBinding":
        where.add(binding.key.namespace)
    return len(where - {""}) <= 1
