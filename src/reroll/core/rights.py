"""The RBAC rules that the tables ask for: what a role for the controller has to say, and no more.

`cluster` is what it needs wherever it looks; `own` is what it needs in its own namespace only;
`grant` makes a role of such rules, and gives it to somebody.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from reroll.core.kinds import SOURCE_KINDS, Kind, Revisions, SourceKind, Strategy, Watched

GROUP = "rbac.authorization.k8s.io"
Rule = dict[str, Any]


def cluster(kinds: Iterable[Kind], *, namespaces: bool = True) -> list[Rule]:
    """Rules for a ClusterRole, or for a Role in each namespace (then without `namespaces`)."""
    kinds = tuple(kinds)
    rules = [_rule("", "namespaces", "list", "watch")] if namespaces else []
    for row in SOURCE_KINDS:
        get = () if row.watched is Watched.STATUSES else ("get",)
        rules.append(_rule(row.group, row.plural_to_watch, *get, "list", "watch"))
        if row.watched is Watched.STATUSES:
            rules.append(_rule(row.group, row.plural, "get"))
    rules += [_rule(kind.group, kind.plural, "get", "list", "watch", "patch") for kind in kinds]
    for revisions in sorted({kind.revisions for kind in kinds} - {Revisions.NONE}):
        rules.append(_rule("apps", revisions.value, "list"))
    can = {strategy for kind in kinds for strategy in kind.strategies}
    if can & {Strategy.EVICT, Strategy.RELOAD}:
        rules.append(_rule("", "pods", "list"))
    if Strategy.EVICT in can:
        rules.append(_rule("", "pods/eviction", "create"))
    if can & {Strategy.TRIGGER, Strategy.RECREATE}:
        rules.append(_rule("batch", "jobs", "create"))
    if Strategy.RECREATE in can:
        rules.append(_rule("batch", "jobs", "delete"))
        rules.append(_rule("apps", "controllerrevisions", "get", "list", "create", "delete"))
    return [*rules, _rule("", "events", "create")]


def own(digest_key: str, lease: str) -> list[Rule]:
    """Rules for a Role in the controller's own namespace."""
    return [
        _rule("", "secrets", "create"),
        {**_rule("", "secrets", "get"), "resourceNames": [digest_key]},
        _rule("coordination.k8s.io", "leases", "create"),
        {**_rule("coordination.k8s.io", "leases", "get", "patch"), "resourceNames": [lease]},
    ]


def attaching(
    workloads: Iterable[tuple[Kind, str]], configs: Iterable[tuple[SourceKind, str]]
) -> list[Rule]:
    """Rules for a Role that may let the revisions of these workloads own these configs."""
    rules, revisions = [], set[str]()
    for kind, name in sorted(workloads, key=lambda one: (one[0].name, one[1])):
        rules.append({**_rule(kind.group, kind.plural, "get"), "resourceNames": [name]})
        revisions.add(kind.revisions.value)
    for plural in sorted(revisions - {Revisions.NONE.value}):
        rules.append(_rule("apps", plural, "list"))
    for row, name in sorted(configs, key=lambda one: (one[0].name, one[1])):
        rules.append({**_rule(row.group, row.plural, "get", "patch"), "resourceNames": [name]})
    return rules


def grant(
    name: str, rules: Iterable[Mapping[str, Any]], subject: Mapping[str, str], *, everywhere: bool
) -> tuple[dict[str, Any], dict[str, Any]]:
    """A role with these rules and its binding: for the whole cluster, or for one namespace."""
    kind = "ClusterRole" if everywhere else "Role"
    meta = {"apiVersion": f"{GROUP}/v1", "metadata": {"name": name}}
    reference = {"apiGroup": GROUP, "kind": kind, "name": name}
    role = {**meta, "kind": kind, "rules": [dict(rule) for rule in rules]}
    return role, {
        **meta,
        "kind": f"{kind}Binding",
        "roleRef": reference,
        "subjects": [dict(subject)],
    }


def user(name: str) -> dict[str, str]:
    """A person or program that logs in by that name, as the subject of a binding."""
    return {"apiGroup": GROUP, "kind": "User", "name": name}


def _rule(group: str, resource: str, *verbs: str) -> Rule:
    return {"apiGroups": [group], "resources": [resource], "verbs": list(verbs)}
