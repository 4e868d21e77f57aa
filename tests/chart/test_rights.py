"""The chart's roles say what the program's own table says, whatever is on and wherever it looks."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.chart.rendered import granted, named, of_kind, template, the
from tests.support.chart import ROOT
from tests.support.tools import Tool

from reroll.core.tables import custom, rights
from reroll.core.tables.kinds import KINDS
from reroll.core.tables.rights import Feature
from reroll.core.tables.source_kinds import SOURCE_KINDS

EXAMPLES = ROOT / "examples" / "kinds"
STRATEGIES = {Feature.EVICT, Feature.RELOAD, Feature.TRIGGER, Feature.RECREATE}
OPTIONAL = {*STRATEGIES, Feature.REVISIONS, Feature.INJECTIONS} - rights.GRANTED
ROLE = "reroll-reroll"
CHOICES: dict[str, tuple[dict[str, Any], frozenset[Feature]]] = {
    "the defaults": ({}, rights.GRANTED),
    "without reload": (
        {"features": {"reload": False}},
        rights.GRANTED - {Feature.RELOAD},
    ),
    **{
        f"with {feature}": ({"features": {feature.value: True}}, rights.GRANTED | {feature})
        for feature in sorted(OPTIONAL)
    },
    "with a canary": (
        {"features": {"canary": True}},
        rights.GRANTED | {Feature.CANARY},
    ),
    **{
        f"with a gate that is an {field}": (
            {"settings": {"gates": [{"name": "success", field: "success-rate"}]}},
            rights.GRANTED | {Feature.ANALYSIS},
        )
        for field in ("analysisTemplate", "clusterAnalysisTemplate")
    },
    "with another gate": (
        {"settings": {"gates": [{"name": "board", "webhook": {"url": "http://x"}}]}},
        rights.GRANTED,
    ),
    "without a leader": (
        {"replicas": 1, "settings": {"leader-election": False}},
        rights.GRANTED - {Feature.LEADER_ELECTION},
    ),
}


@pytest.mark.parametrize(("values", "features"), CHOICES.values(), ids=CHOICES.keys())
def test_the_rights_are_those_of_the_features_that_are_on(
    helm: Tool, values: dict[str, Any], features: frozenset[Feature]
) -> None:
    objects = template(helm, values)

    everywhere = rights.cluster(KINDS, features=features)
    assert granted(named(objects, "ClusterRole", ROLE)["rules"]) == granted(everywhere)
    own = rights.own("reroll-digest-key", "reroll", features=features)
    assert granted(the(objects, "Role")["rules"]) == granted(own)


def test_the_webhook_of_an_older_cluster_has_its_rights_too(helm: Tool) -> None:
    objects = template(helm, {"features": {"revisions": True}}, "--kube-version", "1.30.0")

    features = rights.GRANTED | {Feature.REVISIONS, Feature.WEBHOOK}
    everywhere = rights.cluster(KINDS, features=features, webhook=f"{ROLE}-pins")
    assert granted(the(objects, "ClusterRole")["rules"]) == granted(everywhere)
    own = rights.own("reroll-digest-key", "reroll", features=features)
    assert granted(the(objects, "Role")["rules"]) == granted(own)
    assert the(objects, "MutatingWebhookConfiguration")["metadata"]["name"] == f"{ROLE}-pins"


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_kinds_of_the_settings_have_their_rights(helm: Tool, path: Path) -> None:
    rows = yaml.safe_load(path.read_text(encoding="utf-8"))
    # Nothing else is there that brings the rights on pods.
    only = {**rows, "exclude-kinds": [kind.name for kind in KINDS]}

    features = {feature.value: True for feature in STRATEGIES}
    objects = template(helm, {"settings": only, "features": features})

    tables, problems = custom.tables(rows.get("kinds"), rows.get("sources"))
    own = {kind.name for kind in KINDS}
    added = [kind for kind in tables.kinds if kind.name not in own]
    assert problems == []
    assert granted(the(objects, "ClusterRole")["rules"]) == granted(
        rights.cluster(
            added, sources=tables.sources, features=rights.DEFAULT - {rights.Feature.REVISIONS}
        )
    )


def test_injections_have_a_role_that_others_add_to(helm: Tool) -> None:
    objects = template(helm, {"features": {"injections": True}})

    role = named(objects, "ClusterRole", f"{ROLE}-injections")
    (selector,) = role["aggregationRule"]["clusterRoleSelectors"]
    assert selector["matchLabels"] == {"rbac.reroll.dev/aggregate-to-injection": "true"}
    binding = named(objects, "ClusterRoleBinding", f"{ROLE}-injections")
    assert binding["roleRef"]["name"] == role["metadata"]["name"]


def test_a_kind_that_is_left_alone_needs_no_rights(helm: Tool) -> None:
    left, unread = {"Job", "Rollout"}, {"Secret"}
    settings = {"exclude-kinds": sorted(left), "exclude-sources": sorted(unread)}

    objects = template(helm, {"settings": settings})

    kinds = [kind for kind in KINDS if kind.name not in left]
    sources = [source for source in SOURCE_KINDS if source.name not in unread]
    rules = rights.cluster(kinds, sources=sources, features=rights.GRANTED)
    assert granted(the(objects, "ClusterRole")["rules"]) == granted(rules)


def test_for_some_namespaces_there_is_a_role_in_each_and_none_for_the_cluster(helm: Tool) -> None:
    objects = template(helm, {"settings": {"namespaces": ["shop", "billing"]}})

    assert of_kind(objects, "ClusterRole") == of_kind(objects, "ClusterRoleBinding") == []
    roles = {each["metadata"]["namespace"]: each["rules"] for each in of_kind(objects, "Role")}
    assert roles.keys() == {"reroll", "shop", "billing"}
    for place in ("shop", "billing"):
        rules = rights.cluster(KINDS, namespaces=False, features=rights.GRANTED)
        assert granted(roles[place]) == granted(rules)
    for binding in of_kind(objects, "RoleBinding"):
        assert binding["subjects"][0]["namespace"] == "reroll"


def test_two_releases_of_one_name_do_not_share_a_role_of_the_cluster(helm: Tool) -> None:
    names = {
        the(template(helm, {}, home=home), kind)["metadata"]["name"]
        for home in ("a", "b")
        for kind in ("ClusterRole", "ClusterRoleBinding")
    }
    assert len(names) == 2


def test_names_of_lease_and_key_are_those_of_the_release_and_its_rights_are_for_them(
    helm: Tool,
) -> None:
    objects = template(helm, {"settings": {"digest-key": "elsewhere"}}, name="team-a")

    own = rights.own("elsewhere", "team-a-reroll")
    assert granted(the(objects, "Role")["rules"]) == granted(own)
    assert "lease: team-a-reroll" in the(objects, "ConfigMap")["data"]["reroll.yaml"]


def test_without_rbac_nothing_is_granted(helm: Tool) -> None:
    objects = template(helm, {"rbac": {"create": False}})

    assert [each["kind"] for each in objects if "rbac" in each["apiVersion"]] == []
