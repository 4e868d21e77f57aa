"""Injections of one namespace against the rest of the cluster: each consent has one meaning."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.scenarios.injecting import Injecting, gadget, injection, let_go, source, writes
from tests.scenarios.stage import Stage, eventually
from tests.support import build
from tests.support.build import Object
from tests.support.faultproxy import FaultProxy
from tests.support.faults import Late, Match
from tests.support.tools import Identity

from reroll_dev.api import Api, ApiError, path_of, path_to

Audit = Callable[[Identity], list[Object]]
Grant = Callable[..., Path]
ROOT = Path(__file__).parents[2]
READERS, WRITERS = "reroll.dev/injection-readers", "reroll.dev/injection-writers"


@pytest.fixture
def there(another: Callable[..., Stage]) -> Iterator[Stage]:
    """Another namespace."""
    stage = another()
    yield stage
    let_go(stage)


def all_features() -> list[dict[str, Any]]:
    """The rights of the manifest with all features."""
    text = (ROOT / "deploy/reroll-all-features.yaml").read_text()
    roles = [one for one in yaml.safe_load_all(text) if one and one["kind"].endswith("Role")]
    return [rule for role in roles for rule in role.get("rules") or ()]


def content_calls(calls: list[Object], resource: str, namespace: str) -> list[str]:
    """What was read of a kind in a namespace beside metadata, which only lists bring."""
    return [
        call["requestURI"]
        for call in calls
        if call["verb"] == "get" and _place(call) == (resource, namespace)
    ]


def streams(calls: list[Object], *namespaces: str) -> list[str]:
    return [
        call["requestURI"]
        for call in calls
        if call["verb"] == "watch" and _place(call)[1] in namespaces
    ]


def _place(call: Object) -> tuple[str, str]:
    """The resource and the namespace that a call is about."""
    about = call.get("objectRef", {})
    return about.get("resource", ""), about.get("namespace", "")


def test_consent_to_be_named_is_neither_one_to_be_read_nor_to_be_written_to(
    injecting: Injecting, stage: Stage, there: Stage, kubeconfig_for: Grant, audit: Audit
) -> None:
    """With the rights of all features, and an attacker who may only create Injections."""
    named = {"reroll.dev/allow-from": stage.namespace}
    ca = build.configmap("ca", {"ca.crt": "TRUSTED"}, annotations=named)
    there.make(ca, build.secret("db", {"password": "hunter2"}, annotations=named))
    stage.make(build.secret("evil", {"ca.crt": "ATTACKER"}), gadget("g"))
    verbs = ["create", "get", "list", "watch"]
    rule = {"apiGroups": ["reroll.dev"], "resources": ["injections"], "verbs": verbs}
    attacker = kubeconfig_for([rule], stage.namespace)
    away = {"namespace": there.namespace}
    overwrite = injection("overwrite", source("evil", "ca.crt"), ca, ".data.mine", place=away)
    steal = injection("steal", source("db", "password", **away), gadget("g"), ".spec.token")
    with Api.from_kubeconfig(attacker) as api:
        for one in (overwrite, steal):
            api.create(one, stage.namespace)
        with pytest.raises(ApiError, match="403"):
            api.get(path_to("Secret", "db", there.namespace))
    rights = kubeconfig_for([*all_features(), *injecting_rights()], None)
    injecting.run(kubeconfig=rights)

    assert injecting.said(overwrite, "NotAllowed", "Forbidden") == (
        f"True: ConfigMap {there.namespace}/ca does not exist, or does not let Injections of "
        f"namespace {stage.namespace} write to it; its owner must annotate it with "
        f"{WRITERS}: '{stage.namespace}'"
    )
    assert injecting.said(steal, "NotAllowed", "Forbidden") == (
        f"True: Secret {there.namespace}/db does not exist, or does not let Injections of "
        f"namespace {stage.namespace} read it; its owner must annotate it with "
        f"{READERS}: '{stage.namespace}'"
    )
    # Nor is one of the two for Injections the other.
    for one, consent in ((ca, READERS), (build.secret("db"), WRITERS)):
        there.api.patch(there.path(one), {"metadata": {"annotations": {consent: stage.namespace}}})
    probe = injection("probe", source("evil", "ca.crt"), gadget("g"), ".spec.nested.token")
    stage.make(probe)
    injecting.said(probe, "Injected")
    for one in (overwrite, steal):
        injecting.edit(one, dryRun=True)
        injecting.said(one, "NotAllowed", "Forbidden")
    assert there.get(ca)["data"] == {"ca.crt": "TRUSTED"}
    assert stage.get(gadget("g"))["spec"] == {"nested": {"token": "ATTACKER"}}
    calls = audit(rights)
    assert not content_calls(calls, "secrets", there.namespace)
    assert not content_calls(calls, "configmaps", there.namespace)
    assert not streams(calls, there.namespace)


def injecting_rights() -> list[dict[str, Any]]:
    """Targets that an owner of the cluster granted, beside what the manifest has."""
    verbs = ["get", "list", "watch", "patch"]
    return [{"apiGroups": ["example.com"], "resources": ["gadgets"], "verbs": verbs}]


def test_an_injection_without_consent_is_in_nobodys_way(
    injecting: Injecting, stage: Stage, there: Stage
) -> None:
    """The namespace `there` attacks: it is older, and it names what is not its own."""
    away = {"namespace": stage.namespace}
    allowed = {WRITERS: stage.namespace}
    x, s = (build.configmap(name, {"k": "1"}, annotations=allowed) for name in ("x", "s"))
    there.make(build.secret("s", {"k": "theirs"}))
    squat = injection("squat", source("s", "k"), gadget("g"), ".spec", place=away)
    squat["spec"]["to"]["path"] = ".spec.nested"
    evil = injection("evil", source("x", "k", "ConfigMap", **away), s, ".data.back", place=away)
    there.make(squat, evil)
    stage.make(build.secret("s", {"k": "ours"}), gadget("g"), x, s)
    own = injection("own", source("s", "k"), gadget("g"), ".spec.nested.token")
    carries = injection("carries", source("s", "k", "ConfigMap"), x, ".data.carried")
    stage.make(own, carries)
    both = f"kubernetes.io/metadata.name in ({stage.namespace}, {there.namespace})"
    injecting.run("--namespace-selector", both)

    injecting.holds(gadget("g"), "ours", "spec", "nested", "token")
    injecting.holds(x, "1", "data", "carried")
    injecting.said(own, "Injected")
    injecting.said(carries, "Injected")
    theirs = Injecting(there, lambda: None, Path())  # type: ignore[arg-type, return-value]  # Only looks.
    for one in (squat, evil):
        said = theirs.said(one, "NotAllowed", "Forbidden")
        assert "own" not in said.replace("owner", "")
        assert "carries" not in said

    # With consent the older one has the field, and neither is named to the other.
    stage.api.patch(
        stage.path(gadget("g")), {"metadata": {"annotations": {WRITERS: there.namespace}}}
    )
    said = injecting.said(own, "Claimed", "Conflict")
    assert said == (
        "True: an Injection of another namespace came first and already writes to "
        f".spec.nested.token of Gadget {stage.namespace}/g, or around it"
    )


def test_a_consent_that_comes_while_an_injection_is_carried_out_is_heeded(
    injecting: Injecting, stage: Stage, there: Stage, fault_proxy: FaultProxy
) -> None:
    there.make(build.secret("s", {"k": "theirs"}))
    away = {"namespace": stage.namespace}
    # What it writes is refused: the target does not change by that, which would wake the other.
    there.make(injection("first", source("s", "k"), gadget("g"), ".spec.nested", place=away))
    stage.make(build.secret("s", {"k": "ours"}), gadget("g"))
    own = injection("own", source("s", "k"), gadget("g"), ".spec.nested.token")
    stage.make(own)
    both = f"kubernetes.io/metadata.name in ({stage.namespace}, {there.namespace})"
    kubeconfig = fault_proxy.kubeconfig(injecting.kubeconfig)
    injecting.run("--namespace-selector", both, kubeconfig=kubeconfig)
    injecting.holds(gadget("g"), "ours", "spec", "nested", "token")
    injecting.said(own, "Injected")

    # The target changes: who else may write there is asked, and then it is read, which takes time.
    read = Match("GET", path="/gadgets/g$")
    fault_proxy.inject(Late(3), read)
    stage.api.patch(stage.path(gadget("g")), {"spec": {"nested": {"other": "new"}}})
    fault_proxy.wait_for("Late", read)
    allowed = {"metadata": {"annotations": {WRITERS: there.namespace}}}
    stage.api.patch(stage.path(gadget("g")), allowed)

    injecting.said(own, "Claimed", "Conflict")


def test_no_watch_is_opened_for_who_may_not_write_there(
    injecting: Injecting, stage: Stage, there: Stage, audit: Audit
) -> None:
    stage.make(build.secret("s", {"k": "1"}))
    there.make(gadget("g"))
    places = [f"no-such-{number}" for number in range(20)] + [there.namespace]
    made = [
        injection(f"to-{place}", source("s", "k"), gadget("g"), ".spec.token",
                  place={"namespace": place})
        for place in places
    ]  # fmt: skip
    stage.make(*made)
    injecting.run()
    for one in made:
        injecting.said(one, "NotAllowed", "Forbidden")
    calls = audit(injecting.kubeconfig)
    assert not streams(calls, *places)
    assert not [place for place in places if content_calls(calls, "gadgets", place)]

    there.api.patch(there.path(gadget("g")), {"metadata": {"annotations": {WRITERS: "*"}}})
    injecting.said(made[-1], "Injected")
    eventually(
        lambda: len(streams(audit(injecting.kubeconfig), *places)) == 1, "now there is a watch"
    )
    there.api.patch(there.path(gadget("g")), {"metadata": {"annotations": {WRITERS: None}}})
    injecting.said(made[-1], "NotAllowed", "Forbidden")


def test_a_part_of_a_value_in_a_refusal_is_not_shown(injecting: Injecting, stage: Stage) -> None:
    """An admission plugin may quote what it likes; here it is a policy in the API server."""
    policy, binding = _policy(stage.namespace)
    stage.api.create(policy)
    stage.api.create(binding)
    try:
        stage.make(build.secret("s", {"k": "postgres://shop:hunter2@db"}), gadget("g"))
        eventually(lambda: _is_refused(stage), "the policy is in force")
        one = injection("one", source("s", "k"), gadget("g"), ".spec.token")
        stage.make(one)
        running = injecting.run()
        said = injecting.said(one, "Rejected")
        assert f"422 Invalid; the text of the ValidatingAdmissionPolicy {stage.namespace}" in said
        events = eventually(lambda: stage.events(one, "Rejected"), "an Event tells of it")
        for text in (said, str(events), running.log.read_text(), str(stage.get(one))):
            assert "hunter" not in text
            assert "shop:" not in text
    finally:
        stage.api.delete(path_of(binding))
        stage.api.delete(path_of(policy))


def _policy(name: str) -> tuple[Object, Object]:
    """Refuses Gadgets of a namespace with a part of their token in the message."""
    api, meta = "admissionregistration.k8s.io/v1", {"name": name}
    rule = {
        "apiGroups": ["example.com"], "apiVersions": ["*"], "resources": ["gadgets"],
        "operations": ["UPDATE"],
    }  # fmt: skip
    match = {"resourceRules": [rule], "namespaceSelector": {
        "matchLabels": {"kubernetes.io/metadata.name": name}}}  # fmt: skip
    validation = {
        "expression": "!has(object.spec.token)",
        "messageExpression": "'invalid port ' + object.spec.token.substring(16, 23)",
    }
    spec = {"failurePolicy": "Fail", "matchConstraints": match, "validations": [validation]}
    policy = {
        "apiVersion": api, "kind": "ValidatingAdmissionPolicy", "metadata": meta, "spec": spec
    }  # fmt: skip
    bound = {"policyName": name, "validationActions": ["Deny"]}
    binding = {
        "apiVersion": api, "kind": "ValidatingAdmissionPolicyBinding", "metadata": meta,
        "spec": bound,
    }  # fmt: skip
    return policy, binding


def _is_refused(stage: Stage) -> bool:
    try:
        body = {"spec": {"token": "a-token-that-is-long-enough"}}
        stage.api.patch(stage.path(gadget("g")), body, dryRun="All")
    except ApiError as error:
        return error.status == 422
    return False


def test_a_status_that_somebody_wrote_removes_nothing_that_the_injection_did_not_write(
    injecting: Injecting, stage: Stage, there: Stage, audit: Audit
) -> None:
    items = [{"name": "x", "value": "theirs"}, {"name": "y", "value": "2"}]
    there.make(gadget("g", token="theirs"))
    stage.make(build.secret("s", {"k": "ours"}), gadget("g", plain=items))
    one = injection(
        "one", source("s", "k"), gadget("g"), ".spec.plain[1].secret", deletionPolicy="Remove"
    )
    away = injection("away", source("s", "k"), gadget("g"), ".spec.token", deletionPolicy="Remove")
    stage.make(one, away)
    running = injecting.run()
    for each in (one, away):
        injecting.said(each, "Injected")
    running.kill()
    elsewhere = there.get(gadget("g"))["metadata"]["uid"]
    _forge(stage, one, path=".spec.plain[0]")
    _forge(stage, away, namespace=there.namespace, uid=elsewhere, path="][")
    for each in (one, away):
        stage.api.delete(stage.path(each))
    running.start(wait="watching")
    for each in (one, away):
        stage.api.wait_gone(stage.path(each))

    spec = stage.get(gadget("g"))["spec"]
    assert [item["value"] for item in spec["plain"]] == ["theirs", "2"]
    assert there.get(gadget("g"))["spec"] == {"token": "theirs"}
    assert not [call for call in writes(audit(injecting.kubeconfig), "gadgets")
                if call["objectRef"]["namespace"] == there.namespace]  # fmt: skip
    assert not [line for line in running.lines() if line["msg"] == "bug"]


def _forge(stage: Stage, one: Object, **target: str) -> None:
    body = {"status": {"target": target}}
    stage.api.patch(f"{stage.path(one)}/status", body)


@pytest.mark.parametrize(
    "template",
    ["{{ k < 1 }}", "{{ " + "not " * 1500 + "k }}", "{% if k %}" * 120 + "{% endif %}" * 120],
    ids=["type", "not", "if"],
)
def test_a_template_that_cannot_be_rendered_is_told_in_the_status(
    injecting: Injecting, stage: Stage, template: str
) -> None:
    one = injection("one", [source("s", "k")], gadget("g"), ".spec.token", template=template)
    stage.make(build.secret("s", {"k": "hunter2"}), gadget("g"), one)
    running = injecting.run()

    assert "spec.template: " in injecting.said(one, "InvalidValue")
    assert not [line for line in running.lines() if line["msg"] == "bug"]
