"""The rights that the tables ask for: enough for what is done, and not one more."""

import pytest

from reroll.core.tables import rights
from reroll.core.tables.kinds import KINDS, Kind, Strategy
from reroll.core.tables.source_kinds import SOURCE_KINDS


def granted(rules: list[rights.Rule]) -> dict[str, set[str]]:
    """The verbs by resource, whatever rule they stand in."""
    found: dict[str, set[str]] = {}
    for rule in rules:
        for resource in rule["resources"]:
            found.setdefault(resource, set()).update(rule["verbs"])
    return found


PLAIN = rights.DEFAULT - {rights.Feature.REVISIONS}
"""Without copies of sources, which have to be made and deleted."""


def test_the_rights_for_all_kinds() -> None:
    looks = {"get", "list", "watch"}
    changes = {*looks, "patch"}

    assert granted(rights.cluster(KINDS, features=PLAIN)) == {
        "namespaces": {"list", "watch"},
        "configmaps": looks,
        "secrets": looks,
        "secretproviderclasspodstatuses": {"list", "watch"},
        "secretproviderclasses": {"get"},
        "deployments": {*changes, "create", "delete"},
        "deployments/status": {"patch"},
        "statefulsets": changes,
        "daemonsets": changes,
        "cronjobs": changes,
        "jobs": {*changes, "create", "delete"},
        "rollouts": changes,
        "replicasets": {"list"},
        "controllerrevisions": {"get", "list", "create", "delete"},
        "pods": {"list"},
        "pods/eviction": {"create"},
        "events": {"create"},
    }


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_one_kind_alone_needs_only_its_own_rights(kind: Kind) -> None:
    found = granted(rights.cluster([kind], namespaces=False))

    assert "namespaces" not in found
    assert ("pods/eviction" in found) is (Strategy.EVICT in kind.strategies)
    assert {other.plural for other in KINDS} & found.keys() - {"jobs"} == {kind.plural} - {"jobs"}


def test_the_rest_is_for_its_own_namespace_and_for_named_objects() -> None:
    rules = rights.own("digest-key", "leader")

    assert granted(rules).keys() == {"secrets", "leases", "events", "configmaps"}
    for rule in rules:
        if rule["resources"] == ["configmaps"]:
            # Lists and objects that do not exist yet have no names: sixteen of ours.
            named = rule.get("resourceNames")
            assert rule["verbs"] == (["watch"] if named else ["list", "create", "patch"])
            assert named in (None, ["leader-hold"])
            continue
        assert rule["verbs"] == ["create"] or rule["resourceNames"] in (["digest-key"], ["leader"])


def test_a_resource_stands_in_one_rule_and_each_of_its_objects_in_another() -> None:
    rules = rights.cluster(KINDS, features=rights.EVERYTHING)

    resources = [
        (*rule["apiGroups"], *rule["resources"], *rule.get("resourceNames", ())) for rule in rules
    ]
    assert len(resources) == len(set(resources))


def test_a_feature_that_is_off_asks_for_nothing() -> None:
    everything = granted(rights.cluster(KINDS))

    evicting = {rights.Feature.EVICT, rights.Feature.CANARY}
    less = granted(rights.cluster(KINDS, features=rights.DEFAULT - evicting))
    assert everything.keys() - less.keys() == {"pods/eviction", "deployments/status"}
    least = rights.cluster(KINDS, features={rights.Feature.ROLLING})
    assert "pods" not in granted(least)
    assert "create" not in granted(least)["jobs"]
    alone = rights.own("digest-key", "leader", features={rights.Feature.ROLLING})
    assert granted(alone) == {
        "secrets": {"create", "get"}, "events": {"create"},
        "configmaps": {"list", "create", "patch", "watch"},
    }  # fmt: skip


def test_a_source_that_does_not_count_is_not_read() -> None:
    some = [source for source in SOURCE_KINDS if source.name != "Secret"]

    assert "secrets" not in granted(rights.cluster(KINDS, sources=some, features=PLAIN))
