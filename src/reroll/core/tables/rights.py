"""The RBAC rules that the tables ask for: what a role for the controller has to say, and no more.

A right is a row, with the feature that it is for and the kind that it is about; the chart's rights
are these rows too. `cluster` makes rules of those it needs wherever it looks, `own` of those in its
own namespace; `grant` makes a role of such rules, and gives it to somebody.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from reroll.core.tables.fields import PINNABLE
from reroll.core.tables.kinds import KINDS, Canary, Kind, Revisions, Strategy
from reroll.core.tables.source_kinds import SOURCE_KINDS, SourceKind, Watched

GROUP = "rbac.authorization.k8s.io"
Rule = dict[str, Any]


class Feature(StrEnum):
    """What rights are for. Without them it is off: it tells what it lacks, and the rest works."""

    ROLLING = "rolling"
    LEADER_ELECTION = "leader-election"
    EVICT = "evict"
    RELOAD = "reload"
    TRIGGER = "trigger"
    RECREATE = "recreate"
    REVISIONS = "revisions"
    CANARY = "canary"
    WEBHOOK = "webhook"
    INJECTIONS = "injections"
    ANALYSIS = "analysis"


DEFAULT: frozenset[Feature] = frozenset(Feature) - {
    Feature.WEBHOOK, Feature.INJECTIONS, Feature.ANALYSIS,
}  # fmt: skip
"""Those that are on unless something else is set: the others need an address, an API or a row of
the config file first."""
GRANTED: frozenset[Feature] = frozenset((Feature.ROLLING, Feature.LEADER_ELECTION, Feature.RELOAD))
"""Those that the chart grants unless it is told otherwise: they read, and patch what they roll. The
others create, delete or evict, wherever it looks."""
EVERYTHING: frozenset[Feature] = frozenset(Feature)
OPTIONAL: tuple[Feature, ...] = (
    Feature.EVICT,
    Feature.RELOAD,
    Feature.TRIGGER,
    Feature.RECREATE,
    Feature.REVISIONS,
    Feature.CANARY,
)
"""Those that the setting `features` names; the others follow from settings of their own."""


class Place(StrEnum):
    """Where a right is needed."""

    CLUSTER = "cluster"
    """For objects that are in no namespace; not asked for where only some namespaces count."""
    WATCHED = "watched"
    """Wherever it looks: in the whole cluster, or in the namespaces that were named."""
    OWN = "own"
    """In the namespace of the controller."""


class Right(NamedTuple):
    """What may be done to one resource."""

    feature: Feature
    place: Place
    group: str
    resource: str
    verbs: tuple[str, ...]
    name: str = ""
    """Of the one object that it is for: what stands in `{}` is a setting."""
    kind: str = ""
    """Only where this kind of workload or source is handled."""


_OWN_KEY = "{digest_key}"
_OWN_LEASE = "{lease}"
_OWN_WEBHOOK = "{lease}-webhook"
_WEBHOOK = "{webhook_configuration}"
_OWN_HOLD = "{lease}-hold"
ARGO = "argoproj.io"
_ADMISSION = "admissionregistration.k8s.io"


def _for_canaries(kind: Kind) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    if kind.canary is Canary.BESIDE:
        yield kind.group, kind.plural, ("create", "delete")
        yield kind.group, f"{kind.plural}/status", ("patch",)
    if kind.canary:
        yield "", "pods", ("list",)
    if kind.canary and kind.sticks:
        yield "", "pods/eviction", ("create",)


RIGHTS: tuple[Right, ...] = (
    Right(Feature.ROLLING, Place.CLUSTER, "", "namespaces", ("list", "watch")),
    Right(Feature.ROLLING, Place.WATCHED, "", "events", ("create",)),
    Right(Feature.ROLLING, Place.OWN, "", "events", ("create",)),
    Right(Feature.ROLLING, Place.OWN, "", "secrets", ("create",)),
    Right(Feature.ROLLING, Place.OWN, "", "secrets", ("get",), _OWN_KEY),
    # The records a second time; those that exist are found by their label.
    Right(Feature.ROLLING, Place.OWN, "", "configmaps", ("list", "create", "patch")),
    # Whether everything is held.
    Right(Feature.ROLLING, Place.OWN, "", "configmaps", ("watch",), _OWN_HOLD),
    Right(Feature.LEADER_ELECTION, Place.OWN, "coordination.k8s.io", "leases", ("create",)),
    Right(
        Feature.LEADER_ELECTION, Place.OWN, "coordination.k8s.io", "leases", ("get", "patch"),
        _OWN_LEASE,
    ),
    Right(Feature.EVICT, Place.WATCHED, "", "pods", ("list",)),
    Right(Feature.EVICT, Place.WATCHED, "", "pods/eviction", ("create",)),
    Right(Feature.RELOAD, Place.WATCHED, "", "pods", ("list",)),
    Right(Feature.TRIGGER, Place.WATCHED, "batch", "jobs", ("list", "create")),
    Right(Feature.RECREATE, Place.WATCHED, "", "pods", ("list",)),
    Right(Feature.RECREATE, Place.WATCHED, "batch", "jobs", ("create", "delete")),
    Right(
        Feature.RECREATE, Place.WATCHED, "apps", "controllerrevisions",
        ("get", "list", "create", "delete"),
    ),
    # What Injections write to is for others to grant.
    Right(
        Feature.INJECTIONS, Place.WATCHED, "reroll.dev", "injections", ("list", "watch", "patch")
    ),
    Right(Feature.INJECTIONS, Place.WATCHED, "reroll.dev", "injections/status", ("patch",)),
    # Gates that are AnalysisRuns of Argo Rollouts.
    Right(Feature.ANALYSIS, Place.WATCHED, ARGO, "analysisruns", ("get", "create", "delete")),
    Right(Feature.ANALYSIS, Place.WATCHED, ARGO, "analysistemplates", ("get",)),
    Right(Feature.ANALYSIS, Place.CLUSTER, ARGO, "clusteranalysistemplates", ("get",)),
    *(
        Right(
            Feature.REVISIONS, Place.WATCHED, row.group, row.plural, ("create", "patch", "delete"),
        )
        for row in SOURCE_KINDS if row.name in PINNABLE
    ),
    Right(Feature.REVISIONS, Place.WATCHED, "batch", "jobs", ("list",)),
    *(
        Right(Feature.CANARY, Place.WATCHED, group, resource, verbs, kind=kind.name)
        for kind in KINDS
        for group, resource, verbs in _for_canaries(kind)
    ),
    # To see whether pods are rewritten when they are made.
    Right(Feature.REVISIONS, Place.CLUSTER, _ADMISSION, "mutatingadmissionpolicies", ("list",)),
    Right(
        Feature.REVISIONS, Place.CLUSTER, _ADMISSION, "mutatingadmissionpolicybindings", ("list",)
    ),
    Right(
        Feature.REVISIONS, Place.CLUSTER, _ADMISSION, "mutatingwebhookconfigurations", ("list",)
    ),
    Right(
        Feature.WEBHOOK, Place.CLUSTER, _ADMISSION, "mutatingwebhookconfigurations",
        ("get", "patch"), _WEBHOOK,
    ),
    Right(Feature.WEBHOOK, Place.OWN, "", "secrets", ("create",)),
    Right(Feature.WEBHOOK, Place.OWN, "", "secrets", ("get", "patch"), _OWN_WEBHOOK),
)  # fmt: skip
"""Those that no row of the kinds tables tells.

A feature that is a strategy needs them for the kinds that can do it.
"""


def rights(
    kinds: Iterable[Kind], sources: Iterable[SourceKind] = SOURCE_KINDS
) -> tuple[Right, ...]:
    """Every right that there is, of all features, for these kinds."""
    strategies, kinds = {strategy.value for strategy in Strategy}, tuple(kinds)
    here = {"", *(kind.name for kind in kinds)}
    rows = [one for one in RIGHTS if one.feature.value not in strategies and one.kind in here]
    for source in sources:
        rows += _of_source(source)
    for kind in kinds:
        rows += _of_workload(kind)
    return tuple(rows)


def hold_name(lease: str) -> str:
    """The ConfigMap that exists while everything is held."""
    return _OWN_HOLD.format(lease=lease)


def _of_source(row: SourceKind) -> Iterator[Right]:
    def right(resource: str, *verbs: str) -> Right:
        return Right(Feature.ROLLING, Place.WATCHED, row.group, resource, verbs, kind=row.name)

    if row.watched is Watched.STATUSES:
        yield right(row.plural_to_watch, "list", "watch")
        yield right(row.plural, "get")
    else:
        yield right(row.plural_to_watch, "get", "list", "watch")


def _of_workload(kind: Kind) -> Iterator[Right]:
    def right(group: str, resource: str, *verbs: str) -> Right:
        return Right(Feature.ROLLING, Place.WATCHED, group, resource, verbs, kind=kind.name)

    yield right(kind.group, kind.plural, "get", "list", "watch", "patch")
    if kind.revisions is not Revisions.NONE:
        yield right("apps", kind.revisions.value, "list")
    for strategy in kind.strategies:
        for row in RIGHTS:
            if row.feature.value == strategy.value:
                yield row._replace(kind=kind.name)


def cluster(
    kinds: Iterable[Kind],
    *,
    sources: Iterable[SourceKind] = SOURCE_KINDS,
    features: Collection[Feature] = DEFAULT,
    namespaces: bool = True,
    webhook: str = "reroll-pins",
) -> list[Rule]:
    """Rules for a ClusterRole, or for a Role in each namespace (then without `namespaces`).

    `webhook` is the name of its MutatingWebhookConfiguration.
    """
    places = {Place.WATCHED, Place.CLUSTER} if namespaces else {Place.WATCHED}
    return _rules(
        row._replace(name=row.name.format(webhook_configuration=webhook))
        for row in rights(kinds, sources)
        if row.place in places and row.feature in features
    )


def own(digest_key: str, lease: str, *, features: Collection[Feature] = DEFAULT) -> list[Rule]:
    """Rules for a Role in the controller's own namespace."""
    return _rules(
        row._replace(name=row.name.format(digest_key=digest_key, lease=lease))
        for row in RIGHTS
        if row.place is Place.OWN and row.feature in features
    )


def _rules(rows: Iterable[Right]) -> list[Rule]:
    return rules_of((row.group, row.resource, row.name, row.verbs) for row in rows)


def rules_of(rows: Iterable[tuple[str, str, str, tuple[str, ...]]]) -> list[Rule]:
    """One rule for all that may be done to a resource, or to one object of it.

    A row is a group, a resource, the name of an object or nothing, and verbs.
    """
    verbs: dict[tuple[str, str, str], dict[str, None]] = {}
    for group, resource, name, allowed in rows:
        verbs.setdefault((group, resource, name), {}).update(dict.fromkeys(allowed))
    return [
        {**_rule(group, resource, *found), **({"resourceNames": [name]} if name else {})}
        for (group, resource, name), found in verbs.items()
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
