"""What may be deleted: decided from plain values."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import build

from reroll.core.model.key import Key
from reroll.core.revisions.content_names import Named, Scheme
from reroll.pipeline import gc, usage
from reroll.pipeline.gc import Candidate, Verdict
from reroll.pipeline.usage import Document, Place

NOW = datetime(2026, 5, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)


def config(name: str, *, hours: float = 10, plain: str = "app") -> Candidate:
    created = NOW - timedelta(hours=hours)
    return Candidate(
        Key("ConfigMap", "shop", name), f"uid-{name}", "1", Named(Scheme.REROLL, plain), created
    )


def verdicts(
    *candidates: Candidate,
    used: tuple[str, ...] = (),
    unproved: tuple[str, ...] = (),
    keep: int = 0,
) -> dict[str, Verdict]:
    in_use = {Place("shop", name): "Pod p" for name in used}
    proofs = {one.key: one.key.name not in unproved for one in candidates}
    found = gc.decide(candidates, in_use, proofs, keep=keep, min_age=HOUR, now=NOW)
    return {one.candidate.key.name: one.verdict for one in found}


def test_one_that_nothing_uses_is_unused() -> None:
    assert verdicts(config("app-1")) == {"app-1": Verdict.UNUSED}


def test_one_in_use_stays_whatever_its_age() -> None:
    assert verdicts(config("app-1"), used=("app-1",)) == {"app-1": Verdict.IN_USE}


def test_one_that_is_not_proved_stays() -> None:
    assert verdicts(config("app-1"), unproved=("app-1",)) == {"app-1": Verdict.UNPROVED}


def test_one_that_is_young_stays() -> None:
    young = config("app-1", hours=0.5)

    assert verdicts(young) == {"app-1": Verdict.YOUNG}


def test_the_newest_of_each_name_are_kept_beside_those_in_use() -> None:
    found = verdicts(
        *(config(f"app-{age}", hours=age) for age in (5, 2, 4, 3)),
        config("other-9", hours=9, plain="other"),
        used=("app-2",),
        keep=1,
    )

    assert found == {
        "app-2": Verdict.IN_USE,
        "app-3": Verdict.KEPT,
        "app-4": Verdict.UNUSED,
        "app-5": Verdict.UNUSED,
        "other-9": Verdict.KEPT,
    }


@given(
    st.lists(st.tuples(st.floats(0, 100), st.booleans(), st.booleans()), max_size=12),
    st.integers(0, 4),
)
def test_only_old_proved_unused_ones_beyond_those_kept_are_deleted(
    facts: list[tuple[float, bool, bool]], keep: int
) -> None:
    candidates = {f"app-{i}": config(f"app-{i}", hours=fact[0]) for i, fact in enumerate(facts)}
    used = tuple(f"app-{i}" for i, fact in enumerate(facts) if fact[1])
    unproved = tuple(f"app-{i}" for i, fact in enumerate(facts) if fact[2])

    found = verdicts(*candidates.values(), used=used, unproved=unproved, keep=keep)

    doomed = {name for name, verdict in found.items() if verdict is Verdict.UNUSED}
    assert not doomed & {*used, *unproved}
    assert all(NOW - candidates[name].created >= HOUR for name in doomed)
    free = [name for name in candidates if name not in {*used, *unproved}]
    assert len(doomed) <= max(0, len(free) - keep)


def document(source: dict[str, Any]) -> Document:
    meta = {**source["metadata"], "namespace": "shop"}
    return msgspec.json.decode(json.dumps({**source, "metadata": meta}), type=Document)


ACCOUNT = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "web"}}
POD = {"kind": "Pod", "metadata": {"name": "web"}}
USERS = {
    "a volume that no container mounts": build.deployment(
        volumes=[{"name": "v", "configMap": {"name": "app-5f9c2d1a7b"}}]
    ),
    "an image pull secret": build.job(pod={"imagePullSecrets": [{"name": "app-5f9c2d1a7b"}]}),
    "the pull secret of a service account": {
        **ACCOUNT,
        "imagePullSecrets": [{"name": "app-5f9c2d1a7b"}],
    },
    "the secret of a service account": {**ACCOUNT, "secrets": [{"name": "app-5f9c2d1a7b"}]},
    "an annotation": {
        **POD,
        "metadata": {"name": "web", "annotations": {"pins": "configmap/app=app-5f9c2d1a7b"}},
    },
    "the certificate of an Ingress": {
        "kind": "Ingress",
        "metadata": {"name": "web"},
        "spec": {"tls": [{"secretName": "app-5f9c2d1a7b"}]},
    },
    "a Job that is being made anew": {
        "kind": "ControllerRevision",
        "metadata": {"name": "kept"},
        "data": {"job": build.job(uses=["configmap/app-5f9c2d1a7b"])},
    },
}


@pytest.mark.parametrize("source", USERS.values(), ids=USERS.keys())
def test_every_way_to_name_a_config_is_a_use(source: dict[str, Any]) -> None:
    names = {"shop": frozenset({"app-5f9c2d1a7b"}), "other": frozenset({"web"})}

    found = usage.users(source["kind"], [document(source)], names)

    user = f"{source['kind']} {source['metadata']['name']}"
    assert found == {Place("shop", "app-5f9c2d1a7b"): user}


def test_the_same_name_in_another_namespace_is_not_used() -> None:
    names = {"other": frozenset({"app-5f9c2d1a7b"})}
    source = build.deployment(uses=["configmap/app-5f9c2d1a7b"])

    assert usage.users("Deployment", [document(source)], names) == {}


def test_every_kind_of_workload_is_a_user() -> None:
    kinds = {resource.kind for resource in usage.USERS}

    assert {"Deployment", "CronJob", "Rollout", "ReplicaSet", "ControllerRevision", "Pod"} <= kinds
