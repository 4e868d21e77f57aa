"""Injections that cannot be done: each is told in a sentence, without a value, and harms nobody."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.scenarios.injecting import (
    WRITES,
    Injecting,
    gadget,
    injection,
    install,
    own_rules,
    source,
)
from tests.scenarios.stage import Stage, eventually
from tests.support import build
from tests.support.build import Object
from tests.support.crds import targets

from reroll_dev.api import ApiError, path_of

VALUE = "correct-horse-battery"


def test_what_does_not_fit_is_told_in_a_sentence_and_without_the_value(
    injecting: Injecting, stage: Stage
) -> None:
    large = "x" * 1_000_000
    stage.make(
        build.secret("s", {"k": VALUE, "large": large, "json": f'"{VALUE}'}),
        {**build.secret("b"), "data": {"k": "AP/+"}},
    )
    g, key = gadget("of-each-its-own"), source("s", "k")
    template = "first line\n{{ k }}{{ passphrase }}"
    cases = [
        # (an Injection, the reason, words of the sentence)
        (injection("no-field", key, g, ".spec.nope"), "Rejected", "field not declared in schema"),
        (
            injection("no-field-in-atom", key, g, ".spec.plain[0].nope"),
            "Rejected", "its schema has no such field",
        ),
        (injection("number", key, g, ".spec.replicas"), "Rejected", "expected numeric"),
        (injection("map", key, g, ".spec.free"), "Rejected", "expected map, got (hidden)"),
        (
            injection("enum", key, g, ".spec.mode"),
            "Rejected", 'Unsupported value: (hidden): supported values: "fast", "slow"',
        ),
        (
            injection("index", key, g, ".spec.plain[7].value"),
            "InvalidInjection", ".spec.plain has 2 items, so there is no [7]",
        ),
        (
            injection("item", key, g, '.spec.plain[?(@.name=="z")].value'),
            "InvalidInjection",
            '.spec.plain has no item with [?(@.name=="z")]; exactly one is needed',
        ),
        (
            injection("into", key, g, ".spec.nested.other.deeper"),
            "InvalidInjection", ".spec.nested.other is a string, so it has no field .deeper",
        ),
        (
            injection("wild", key, g, ".spec.plain[*].value"),
            "InvalidInjection", "at character 12 of the path: a wildcard matches several places",
        ),
        (
            injection("line", key, g, ".spec.token", template=template),
            "InvalidValue",
            "spec.template: line 2: there is no variable passphrase; spec.from has k",
        ),
        (
            injection("syntax", key, g, ".spec.token", template="a\n\n{{ k"),
            "InvalidValue", "spec.template: line 3: ",
        ),
        (
            injection("large", source("s", "large"), g, ".spec.free.large"),
            "InvalidValue", "the keys hold more than the 262144 bytes that are allowed",
        ),
        (
            injection("binary", source("b", "k"), g, ".spec.token"),
            "InvalidValue", "the value is binary, but a string must be text",
        ),
        (
            injection("json", source("s", "json"), g, ".spec.token", encoding="json"),
            "InvalidValue", "the value is not JSON, as encoding: json requires",
        ),
        (injection("no-source", source("t", "k"), g, ".spec.token"), "SourceMissing", "exist"),
        (
            injection("no-key", source("s", "kay"), g, ".spec.token"),
            "SourceMissing", "has no key kay; it has json, k, large",
        ),
        (
            injection("workload", key, build.deployment("web"), ".spec.paused"),
            "InvalidInjection",
            "a Deployment cannot be a target, because Reroll itself writes to it",
        ),
    ]  # fmt: skip
    spec = {"plain": [{"name": "x"}, {"name": "y"}], "nested": {"other": "1"}}
    for one, _, _ in cases:
        one["spec"]["to"]["name"] = one["metadata"]["name"]
        stage.make(gadget(one["metadata"]["name"], **spec), one)
    running = injecting.run()
    told = {}
    for one, reason, words in cases:
        kind = "SourceMissing" if reason == "SourceMissing" else "Ready"
        told[one["metadata"]["name"]] = injecting.said(one, reason, kind, words)
        assert injecting.condition(one)["status"] == "False"
    assert all(stage.get(gadget(name))["spec"] == spec for name in told)
    events = [event["message"] for one, _, _ in cases for event in stage.events(one)]
    for text in (str(told), running.log.read_text(), str(events)):
        assert VALUE not in text
        assert "x" * 20 not in text

    # What is put right goes on.
    stage.make(build.secret("t", {"k": "there"}))
    [missing] = [one for one, _, _ in cases if one["metadata"]["name"] == "no-source"]
    injecting.said(missing, "Injected")
    assert injecting.said(missing, "SourcesFound", "SourceMissing").startswith("False")


REFUSED: tuple[tuple[Object, str], ...] = (
    ({"from": []}, "spec.from in body should have at least 1 items"),
    ({"from": [source("a", "k"), source("b", "k")]}, "several keys need a template"),
    (
        {
            "from": [source("a", "k", variable="x"), source("b", "k", variable="x")],
            "template": "x",
        },
        "two keys have the same variable",
    ),
    (
        {"to": {"path": ".metadata.labels.x"}},
        "cannot be written to metadata, status, apiVersion or kind",
    ),
    ({"to": {"path": "{$.status}"}}, "cannot be written to metadata, status, apiVersion or kind"),
    ({"encoding": "hex"}, 'supported values: "string", "base64", "json"'),
    ({"deletionPolicy": "Delete"}, 'supported values: "Keep", "Remove"'),
    ({"from": [source("a", "k", "Pod")]}, 'supported values: "ConfigMap", "Secret"'),
    ({"from": [source("a", "k", variable="a-b")]}, "variable in body should match"),
    ({"template": "x" * 9000}, "Too long: may not be more than 8192"),
)


def test_what_the_schema_can_tell_is_told_at_once(injecting: Injecting, stage: Stage) -> None:
    good = injection("one", source("s", "k"), gadget("g"), ".spec.token")
    for change, words in REFUSED:
        bad = {**good["spec"], **change, "to": {**good["spec"]["to"], **change.get("to", {})}}
        with pytest.raises(ApiError) as refused:
            stage.make({**good, "spec": bad})
        assert refused.value.status == 422
        assert words in refused.value.message
    stage.make(good)


def test_a_target_that_vanishes_and_returns_gets_its_value_again(
    injecting: Injecting, stage: Stage
) -> None:
    g = gadget("g")
    one = injection("one", source("s", "k"), g, ".spec.token")
    stage.make(build.secret("s", {"k": VALUE}), one)
    injecting.run()
    assert injecting.said(one, "TargetMissing").endswith(
        f"Gadget {stage.namespace}/g does not exist"
    )
    stage.make(g)
    injecting.holds(g, VALUE, "spec", "token")
    injecting.said(one, "Injected")

    stage.api.delete(stage.path(g))
    injecting.said(one, "TargetMissing")
    stage.change("Secret", "s", k="changed-meanwhile")
    stage.make(gadget("g", token="old"))
    injecting.holds(g, "changed-meanwhile", "spec", "token")
    assert injecting.said(one, "Injected")


def test_a_definition_that_comes_changes_its_version_and_goes(
    injecting: Injecting, stage: Stage, kubeconfig_for: Callable[..., Path]
) -> None:
    group = f"{stage.namespace}.example.com"
    spec = targets.GADGET_SPEC
    widget = {**gadget("w"), "apiVersion": f"{group}/v1alpha1", "kind": "Widget"}
    one = injection("one", source("s", "k"), widget, ".spec.token", deletionPolicy="Remove")
    stage.make(build.secret("s", {"k": VALUE}), one)
    rule = {"apiGroups": [group], "resources": ["widgets"], "verbs": WRITES}
    injecting.run(kubeconfig=kubeconfig_for([*own_rules(), rule], None))
    said = injecting.said(one, "TargetMissing")
    assert f"has no Widget in {group}/v1alpha1; is its CRD installed?" in said

    old = targets.definition(group, "Widget", spec, "v1alpha1")
    install(stage.api, old)
    stage.make(widget)
    injecting.holds(widget, VALUE, "spec", "token")

    # Both versions are served, and another is stored: the value stays, and is kept current.
    both = targets.definition(group, "Widget", spec, "v1alpha1", "v1")
    install(stage.api, both)
    stage.change("Secret", "s", k="second-value")
    injecting.holds(widget, "second-value", "spec", "token")

    # The old version is gone: it is said which there is.
    both["spec"]["versions"][0]["served"] = False
    stage.api.patch(path_of(both), {"spec": both["spec"]})
    stage.change("Secret", "s", k="third-value")
    said = injecting.said(one, "TargetMissing", words="not in")
    assert said.endswith(f"in {group}/v1, not in {group}/v1alpha1; change spec.to.apiVersion")
    injecting.edit(one, to={"apiVersion": f"{group}/v1"})
    new = {**widget, "apiVersion": f"{group}/v1"}
    found = injecting.holds(new, "third-value", "spec", "token")
    injecting.said(one, "Injected")
    names = [entry["manager"] for entry in found["metadata"]["managedFields"]]
    assert names.count(f"reroll-injection/{stage.namespace}/one") == 1

    # And one whose kind is no more does not hold its Injection up.
    stage.api.delete(path_of(both))
    eventually(lambda: _is_gone(stage, path_of(both)), "the definition is gone")
    stage.api.delete(stage.path(one))
    stage.api.wait_gone(stage.path(one))


def _is_gone(stage: Stage, path: str) -> bool:
    try:
        stage.api.get(path)
    except ApiError as error:
        return error.status == 404
    return False
