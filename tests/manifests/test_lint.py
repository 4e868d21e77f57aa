"""`reroll lint`: what is wrong with annotations, where, and nothing about those that are right."""

import json
from pathlib import Path

import pytest
from tests.support.command import Finished, reroll

from reroll.core.dialects.reroll import WORDS
from reroll.core.dialects.words import Place

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
  annotations: %s
spec:
  template:
    metadata:
      annotations: %s
    spec:
      containers: [{name: web, image: web}]
"""
SOURCE = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app, annotations: %s}\n"
NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, annotations: %s}\n"
OTHER = "apiVersion: v1\nkind: Service\nmetadata: {name: web, annotations: %s}\n"


def on(template: str, **annotations: str) -> str:
    said = json.dumps(
        {f"reroll.dev/{name.replace('_', '-')}": text for name, text in annotations.items()}
    )
    return template % ((said, "{}") if template is DEPLOYMENT else said)


def lint(stream: str, *flags: str) -> Finished:
    return reroll("lint", *flags, input=stream)


BAD = "annotation reroll.dev/enabled on Deployment shop/web"
MISSPELT = "annotation reroll.dev/strateggy on Deployment shop/web"


def test_each_problem_is_a_line_with_its_place_and_a_suggestion(tmp_path: Path) -> None:
    path = tmp_path / "web.yaml"
    path.write_text(
        DEPLOYMENT % ('\n    reroll.dev/enabled: "yes"\n    reroll.dev/strateggy: evict', "{}")
    )

    done = reroll("lint", path)

    assert done.code == 2
    assert done.out.splitlines() == [
        f'{path}:7:5: {BAD}: \'yes\' is neither "true" nor "false"',
        f"{path}:8:5: {MISSPELT} means nothing; did you mean reroll.dev/strategy?",
    ]
    assert done.err == "reroll: 2 problems in 1 object\n"


@pytest.mark.parametrize(
    ("stream", "told"),
    [
        (on(NAMESPACE, enable="true"), "Namespace shop means nothing; did you mean reroll.dev/ena"),
        (on(NAMESPACE, strategy="roll"), "on Namespace shop: 'roll' is not a strategy"),
        (on(SOURCE, sok="1m"), "on ConfigMap app means nothing; did you mean reroll.dev/soak?"),
        (on(SOURCE, soak="long"), "on ConfigMap app: 'long' is not a duration"),
        (on(SOURCE, ignore="yes"), "on ConfigMap app: 'yes' is neither"),
        (on(SOURCE, names="perhaps"), "on ConfigMap app: 'perhaps' is neither \"always\" nor"),
        (on(OTHER, enabledd="true"), "on Service web means nothing"),
        (on(DEPLOYMENT, sources="pod/x"), "annotation reroll.dev/sources on Deployment shop/web"),
        (
            on(DEPLOYMENT, enable="true").replace("  namespace: shop\n", ""),
            "on Deployment web means nothing; did you mean reroll.dev/enabled?",
        ),
        (
            DEPLOYMENT % ("{}", '{reroll.dev/enabled: "true"}'),
            "on the pod template of Deployment shop/web means nothing there; put it on the Depl",
        ),
        (DEPLOYMENT % ("{reroll.dev/enabled: true}", "{}"), "the value is not text; put it in quo"),
        (DEPLOYMENT % ("{}", "{reroll.dev/enabled: true}"), "the value is not text; put it in quo"),
        ("kind: [", "<stdin>:"),
    ],
)
def test_what_does_nothing_is_found_wherever_it_stands(stream: str, told: str) -> None:
    done = lint(stream)
    assert done.code == 2, done.out
    assert told in done.out
    assert len(done.out.splitlines()) == 1


def test_every_annotation_of_the_tables_passes_with_its_example() -> None:
    streams = []
    for word in WORDS:
        for place, template in (
            (Place.WORKLOAD, DEPLOYMENT), (Place.NAMESPACE, NAMESPACE), (Place.SOURCE, SOURCE),
        ):  # fmt: skip
            if place in word.places:
                example = word.example.strip('"')
                streams.append(on(template, **{word.key.removeprefix("reroll.dev/"): example}))
    assert len(streams) > 50

    done = lint("---\n".join(streams))

    assert (done.code, done.err) == (0, ""), done.out
    assert done.out == f"{len(streams)} objects, no problems\n"


def test_what_a_tool_puts_on_every_object_is_right_where_it_is_read() -> None:
    """As kustomize's `commonAnnotations` does, pod templates included."""
    both = '{reroll.dev/enabled: "true"}'
    stream = DEPLOYMENT % (both, both)
    for template in (SOURCE, NAMESPACE, OTHER):
        stream += "---\n" + on(template, enabled="true")
    assert lint(stream).code == 0


def test_programs_get_a_document() -> None:
    done = lint(on(SOURCE, sok="1m"), "-n", "shop", "-o", "json")

    assert done.code == 2
    assert done.json["objects"] == 1
    assert done.json["problems"] == [
        {
            "where": "<stdin>:3:37",
            "object": {"kind": "ConfigMap", "namespace": "shop", "name": "app"},
            "annotation": "reroll.dev/sok",
            "problem": "annotation reroll.dev/sok on ConfigMap shop/app means nothing;"
            " did you mean reroll.dev/soak?",
        }
    ]


def test_kinds_of_a_config_file_are_workloads_too(tmp_path: Path) -> None:
    config = tmp_path / "reroll.yaml"
    config.write_text(
        "kinds:\n- {kind: CloneSet, group: apps.kruise.io, template: spec.template}\n"
    )
    stream = on(DEPLOYMENT, strategy="roll").replace("apps/v1", "apps.kruise.io/v1alpha1")
    stream = stream.replace("Deployment", "CloneSet")

    assert lint(stream).code == 0, "nobody knows what it is"
    done = lint(stream, "--config", str(config))
    assert (done.code, "is not a strategy" in done.out) == (2, True), done.err
