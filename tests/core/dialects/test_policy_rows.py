"""Rows `policies:` and `limits:` of a config file: what they match, what is told of bad ones."""

from datetime import timedelta
from typing import Any

import pytest

from reroll.core.dialects.policy_rows import limits, policies
from reroll.core.model.key import Key
from reroll.core.model.pace import Limits, OnFailure, Parallel
from reroll.core.policy.rows import Policies
from reroll.core.tables.catalog import TABLES
from reroll.core.tables.kinds import Strategy

WEB = Key("Deployment", "shop-eu", "web")
CA = Key("Secret", "shop-eu", "ca-1")


def rows(*given: Any) -> Policies:
    found, problems = policies(list(given), TABLES)
    assert problems == []
    return found


def test_a_row_has_the_keys_of_annotations_with_values_as_yaml_has_them() -> None:
    [row] = rows(
        {
            "wave": 1,
            "max-parallel": 5,
            "soak": "2m",
            "on-failure": "hold",
            "revisions": True,
            "strategy": "restart",
            "reload-port": 9090,
        }
    ).workloads

    assert row.values == {
        "pace.wave": 1,
        "pace.max_parallel": Parallel(5),
        "pace.soak": timedelta(minutes=2),
        "pace.on_failure": OnFailure.HOLD,
        "revisions": True,
        "strategy": Strategy.RESTART,
        "reload.port": 9090,
    }
    assert row.place == "policies[0]"


@pytest.mark.parametrize(
    ("match", "is_for"),
    [
        (None, True),
        ({}, True),
        ({"namespaces": ["shop-*"]}, True),
        ({"namespaces": ["billing", "shop-eu"]}, True),
        ({"namespaces": ["shop"]}, False),
        ({"workloads": {"tier": "front"}}, True),
        ({"workloads": {"tier": "front", "team": "a"}}, False),
        ({"workloads": "tier in (front, back)"}, True),
        ({"workloads": "tier!=front"}, False),
        ({"namespaces": ["shop-*"], "workloads": {"tier": "back"}}, False),
    ],
)
def test_what_a_row_for_workloads_matches(match: Any, is_for: bool) -> None:
    [row] = rows({"match": match, "wave": 1}).workloads

    assert row.is_for(WEB, {"tier": "front"}) is is_for


@pytest.mark.parametrize(
    ("match", "is_for"),
    [
        ({"sources": ["secret/ca-*"]}, True),
        ({"sources": ["configmap/ca-*"]}, False),
        ({"sources": ["secret/db", "secret/ca-1"]}, True),
        ({"sources": ["secret/shop-eu/ca-1"]}, True),
        ({"sources": ["secret/billing/ca-1"]}, False),
        ({"sources": ["secret/ca-*"], "namespaces": ["shop-*"]}, True),
        ({"sources": ["secret/ca-*"], "namespaces": ["billing"]}, False),
    ],
)
def test_what_a_row_for_sources_matches(match: Any, is_for: bool) -> None:
    found = rows({"match": match, "max-parallel": "one", "revisions": False})

    assert found.workloads == ()
    [row] = found.sources
    assert row.values == {"pace.max_parallel": Parallel(1), "unpinned": True}
    assert row.is_for_source(CA) is is_for


BAD: dict[str, tuple[Any, str]] = {
    "no list": ({"wave": 1}, "policies: is not a list; begin each row with a dash"),
    "no row": (["wave"], "policies[0]: is not a row; write e.g. `- wave: 1`"),
    "no map": (
        [{"match": "a=b", "wave": 1}],
        "policies[0]: match: is not a map; write e.g. `match: {workloads: a=b}`",
    ),
    "both": (
        [{"match": {"workloads": {"a": "b"}, "sources": ["secret/a"]}, "soak": "1m"}],
        (
            "policies[0]: match: has workloads and sources; make two rows of it, one for workloads "
            "and one for sources"
        ),
    ),
    "a misspelt key": (
        [{"wave": 1}, {"max-paralel": 1}],
        "policies[1]: there is no field 'max-paralel'; did you mean 'max-parallel'?",
    ),
    "a key for workloads": (
        [{"match": {"sources": ["secret/a"]}, "wave": 1}],
        (
            "policies[0]: wave is for workloads, and this row is for sources; use max-parallel, "
            "soak, on-failure, revisions, approval, approval-timeout, window, urgent"
        ),
    ),
    "no key": (
        [{"match": {"namespaces": ["a"]}}],
        "policies[0]: says nothing; add e.g. `max-parallel: 10%`",
    ),
    "a bad value": (
        [{"soak": "long"}],
        (
            "policies[0]: soak: 'long' is not a duration of at most a day; write e.g. \"1s\" or "
            '"500ms"'
        ),
    ),
    "a list for a value": (
        [{"wave": [1]}],
        "policies[0]: wave: '[1]' is not text; put it in quotes",
    ),
    "a bad selector": (
        [{"match": {"workloads": "a=b=c"}, "wave": 1}],
        "policies[0]: match: workloads: 'a=b=c' is not a label selector; write e.g. \"team=shop\"",
    ),
    "a key of a source": (
        [{"match": {"sources": ["secret/a#k"]}, "soak": "1m"}],
        "policies[0]: match: sources: secret/a#k names a key; a row is for whole sources",
    ),
    "an unknown match": (
        [{"match": {"namespace": "a"}, "wave": 1}],
        "policies[0]: match: there is no field 'namespace'; use namespaces, workloads, sources",
    ),
    "no list of namespaces": (
        [{"match": {"namespaces": "a"}, "wave": 1}],
        "policies[0]: match: namespaces: is text; write a list",
    ),
}


@pytest.mark.parametrize(("given", "told"), BAD.values(), ids=BAD)
def test_what_is_wrong_with_a_row_is_a_sentence(given: Any, told: str) -> None:
    assert policies(given, TABLES)[1] == [told]


def test_a_source_that_cannot_be_read_and_all_else_is_told_at_once() -> None:
    _, problems = policies(
        [{"match": {"sources": ["pod/a", "secret/b"]}, "soak": "x"}, {"waves": 1}], TABLES
    )

    assert [problem.partition(":")[0] for problem in problems] == [
        "policies[0]",
        "policies[0]",
        "policies[1]",
    ]
    assert "match: sources: 'pod/a' begins with no known kind" in problems[0]


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (None, Limits()),
        ({}, Limits()),
        ({"cluster": 20}, Limits(20)),
        ({"cluster": 20, "namespace": 5}, Limits(20, 5)),
        ({"namespace": 0}, Limits()),
    ],
)
def test_limits(given: Any, meant: Limits) -> None:
    assert limits(given) == (meant, [])


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (20, "limits: is not a map; write e.g. `limits: {cluster: 20}`"),
        ({"clusters": 20}, "limits: there is no field 'clusters'; use cluster, namespace"),
        ({"cluster": -1}, "limits: cluster: is too small; write a whole number of at least 0"),
        ({"cluster": "20"}, "limits: cluster: is text; write a whole number"),
    ],
)
def test_what_is_wrong_with_limits(given: Any, told: str) -> None:
    assert limits(given) == (Limits(), [told])
