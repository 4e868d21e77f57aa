"""What `helm install` says at the end is true of the values."""

import json

import pytest
from tests.support.chart import CHART
from tests.support.tools import Tool


@pytest.mark.parametrize(
    ("settings", "scope"),
    [
        ({}, "looks at the whole cluster."),
        ({"namespaces": ["shop", "billing"]}, "looks at shop, billing."),
        ({"namespace-selector": "team=a"}, "looks at the namespaces with the labels team=a."),
        ({"exclude-namespaces": ["kube-*"]}, "looks at the whole cluster, except kube-*."),
    ],
)
def test_the_notes_say_which_namespaces_it_looks_at(
    helm: Tool, settings: dict[str, object], scope: str
) -> None:
    values = json.dumps({"settings": settings})
    flags = ("--namespace", "reroll", "--dry-run=client", "--values", "-")

    text = helm("install", "nu", CHART, *flags, input=values)

    notes = text.partition("NOTES:")[2]
    assert scope in notes
    assert "reroll doctor" in notes
