"""What a canary is made of, and that it is never taken for a workload."""

import copy
from typing import Any

import msgspec
from tests.core.build import DEPLOYMENT, KIND, NOW, decoded, snapshot

from reroll.core.decide.actions import MakeCanary
from reroll.core.model.key import Key
from reroll.core.model.pace import Parallel
from reroll.core.model.record import CanaryVerdict, Partition, Record
from reroll.core.observe.workload import belongs_to_workload
from reroll.core.revisions.pins import PINS, read_pins
from reroll.core.tables.annotations import CANARY, CANARY_OF, ENABLED, STATE
from reroll.core.tables.catalog import TABLES
from reroll.engine.canaries import Canaries, is_within, staged_facts
from reroll.engine.health import HealthIndex
from reroll.engine.strategies.canary import canary_of
from reroll.engine.tracked import copies_of

Document = dict[str, Any]
WEB: Document = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {
        "name": "web",
        "namespace": "shop",
        "uid": "uid-1",
        "labels": {"team": "shop"},
        "annotations": {ENABLED: "true", STATE: "{}"},
    },
    "spec": {
        "replicas": 10,
        "selector": {"matchLabels": {"app": "web"}},
        "minReadySeconds": 5,
        "strategy": {"type": "Recreate"},
        "template": {
            "metadata": {"labels": {"app": "web"}, "annotations": {PINS: "configmap/app=app-1"}},
            "spec": {
                "serviceAccountName": "web",
                "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone"}],
                "affinity": {"podAntiAffinity": {}},
                "containers": [
                    {"name": "web", "envFrom": [{"configMapRef": {"name": "app-1"}}]},
                ],
            },
        },
    },
}
ACTION = MakeCanary("of", "configmap/app=app-2", Parallel(percent=20), named=True)


class _Clock:
    def now(self) -> Any:
        return NOW


def made(**more: Any) -> Document:
    found = canary_of(copy.deepcopy(WEB), ACTION)
    extra = {"namespace": "shop", "uid": "uid-2", "resourceVersion": "7", **more}
    return {**found, "metadata": {**found["metadata"], **extra}}


def test_it_is_the_template_of_its_workload_with_other_pins_and_a_selector_of_its_own() -> None:
    found = canary_of(copy.deepcopy(WEB), ACTION)
    metadata, spec = found["metadata"], found["spec"]
    assert (metadata["name"], metadata["annotations"]) == ("web-canary", {CANARY_OF: "of"})
    assert metadata["labels"] == {"team": "shop", CANARY: "uid-1"}
    (owner,) = metadata["ownerReferences"]
    # Without `blockOwnerDeletion`, which needs a right on the finalizers of the workload.
    assert owner == {
        "apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "uid-1",
        "controller": True,
    }  # fmt: skip
    assert (spec["replicas"], spec["minReadySeconds"]) == (2, 5)
    assert spec["selector"] == {"matchLabels": {CANARY: "uid-1"}}
    template = spec["template"]
    assert template["metadata"]["labels"] == {"app": "web", CANARY: "uid-1"}
    assert template["metadata"]["annotations"] == {PINS: "configmap/app=app-2"}
    assert template["spec"]["containers"][0]["envFrom"] == [{"configMapRef": {"name": "app-2"}}]
    for field in ("serviceAccountName", "topologySpreadConstraints", "affinity"):
        assert template["spec"][field] == WEB["spec"]["template"]["spec"][field]


def test_it_is_no_workload_even_without_an_owner() -> None:
    assert belongs_to_workload(decoded(made()).metadata)
    assert belongs_to_workload(decoded(made(ownerReferences=[])).metadata)


def test_what_is_known_of_it_goes_with_it_and_wakes_its_workload() -> None:
    woken: list[Key] = []
    clock: Any = _Clock()
    canaries = Canaries(clock, TABLES, HealthIndex(clock), woken.append)
    web = Key("Deployment", "shop", "web")
    assert canaries.observe(DEPLOYMENT, decoded(made()))
    facts = canaries.facts(web)
    assert facts is not None
    assert (facts.of, facts.pins, facts.is_going) == ("of", "configmap/app=app-2", False)
    assert canaries.observe(DEPLOYMENT, decoded(made(resourceVersion="6", annotations={})))
    assert canaries.facts(web) == facts
    canaries.gone(Key("Deployment", "shop", "web-canary"))
    assert canaries.facts(web) is None
    assert woken == [web, web]


def test_the_canary_of_a_statefulset_is_within_it_and_what_it_had_is_kept() -> None:
    old, new = "configmap/app=app-1", "configmap/app=app-2"
    pins = read_pins(new)
    staged = CanaryVerdict("of", "", NOW, within=Partition(0, 2, "t", old, new))
    record = Record(1, NOW, "ConfigChanged", {}, canary=staged)
    given = snapshot({}, record, kind=KIND["StatefulSet"], changes={"pins": pins})
    one, policy = given.workload, given.policy
    assert is_within(KIND["StatefulSet"], one, policy)
    facts = staged_facts(one, None, None)
    assert facts is not None
    assert (facts.of, facts.made) == ("of", NOW)
    assert {copy.name for copy in copies_of(one)} == {"app-1", "app-2"}

    settled = msgspec.structs.replace(
        one, record=msgspec.structs.replace(record, canary=CanaryVerdict("of", "failed", NOW))
    )
    assert is_within(KIND["StatefulSet"], settled, policy)
    assert staged_facts(settled, None, None) is None
    assert not is_within(DEPLOYMENT, settled, policy)


def test_what_only_looks_like_one_is_nobodys() -> None:
    clock: Any = _Clock()
    canaries = Canaries(clock, TABLES, HealthIndex(clock), lambda _: None)
    plain = {**WEB, "metadata": {**WEB["metadata"], "resourceVersion": "1"}}
    assert not canaries.observe(DEPLOYMENT, decoded(plain))
    for other in (made(ownerReferences=[]), made(name="other")):
        assert canaries.observe(DEPLOYMENT, decoded(other))
        assert not list(canaries.keys())
