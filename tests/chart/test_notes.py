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


@pytest.mark.parametrize("read", [[], ["reloader"], ["wave"], ["reloader", "wave"]])
def test_the_notes_say_whose_annotations_are_read(helm: Tool, read: list[str]) -> None:
    values = json.dumps({"dialects": dict.fromkeys(read, True)})
    flags = ("--namespace", "reroll", "--dry-run=client", "--values", "-")

    before, _, notes = helm("install", "nu", CHART, *flags, input=values).partition("NOTES:")

    listed = "".join(f"\n    - {name}" for name in ("reroll", *read))
    assert f"dialects:{listed}\n" in before
    for name in ("reloader", "wave"):
        title = name.title()
        on = f"NOTE: workloads with annotations of {title} have opted in (`dialects.{name}`)."
        off = f"Annotations of {title} are not read (`dialects.{name}` is false)."
        assert (on in notes, off in notes) == (name in read, name not in read)


def test_the_notes_say_how_to_reach_the_dashboard(helm: Tool) -> None:
    urls = ["https://reroll.example.com"]
    values = json.dumps({"dashboard": {"enabled": True, "auth": "token", "publicURLs": urls}})
    flags = ("--namespace", "reroll", "--dry-run=client", "--values", "-")

    notes = helm("install", "nu", CHART, *flags, input=values).partition("NOTES:")[2]

    assert "kubectl port-forward -n reroll service/nu-reroll-dashboard 8300:80" in notes
    assert urls[0] in notes
    assert "`dashboard.networkPolicy.from` is empty" in notes
