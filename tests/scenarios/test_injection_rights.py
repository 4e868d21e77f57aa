"""Rights that Injections need: each that is missing is named, and what is granted later counts."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.scenarios.injecting import WRITABLE, Injecting, gadget, injection, own_rules, source
from tests.scenarios.stage import Controller, Stage, Web, eventually
from tests.support import build

from reroll.core.tables.rights import Rule
from reroll_dev.api import path_to

Start = Callable[..., Controller]
Grant = Callable[..., Path]


def without(verb: str, resource: str) -> list[Rule]:
    """All rights but one verb on one resource; what is for one object by name stays."""
    found = []
    for rule in (*own_rules(), *WRITABLE):
        for one in rule["resources"]:
            lacks = one == resource and "resourceNames" not in rule
            verbs = [each for each in rule["verbs"] if not lacks or each != verb]
            if verbs:
                found.append({**rule, "resources": [one], "verbs": verbs})
    return found


def give_all(stage: Stage, kubeconfig: Path) -> None:
    role = path_to("ClusterRole", kubeconfig.stem)
    stage.api.patch(role, {"rules": [*own_rules(), *WRITABLE]})


VERBS = "`get`, `list`, `watch` and `patch`"


@pytest.mark.parametrize(
    ("verb", "resource", "reason", "named"),
    [
        ("get", "gadgets", "Forbidden", f"grant {VERBS} on gadgets.example.com in namespace "),
        ("patch", "gadgets", "Forbidden", f"grant {VERBS} on gadgets.example.com in namespace "),
        ("get", "secrets", "SourceForbidden", "grant `get` on secrets"),
        ("patch", "injections", "Forbidden", "grant `patch` on injections.reroll.dev"),
    ],
    ids=lambda word: word if " " not in word else "",
)
def test_a_missing_right_is_named_and_what_is_granted_later_counts(
    injecting: Injecting,
    stage: Stage,
    kubeconfig_for: Grant,
    verb: str,
    resource: str,
    reason: str,
    named: str,
) -> None:
    kubeconfig = kubeconfig_for(without(verb, resource), None)
    one = injection("one", source("s", "k"), gadget("g"), ".spec.token", deletionPolicy="Remove")
    stage.make(build.secret("s", {"k": "value"}), gadget("g"), one)
    injecting.run(kubeconfig=kubeconfig)
    assert named in injecting.said(one, reason, "Forbidden")
    assert injecting.condition(one)["status"] == "False"
    assert "token" not in stage.get(gadget("g"))["spec"]

    give_all(stage, kubeconfig)
    injecting.holds(gadget("g"), "value", "spec", "token")
    assert injecting.said(one, "Allowed", "Forbidden").startswith("False")


def test_nothing_is_written_that_could_not_be_kept_current(
    injecting: Injecting, stage: Stage, kubeconfig_for: Grant
) -> None:
    one = injection("one", source("s", "k"), gadget("g"), ".spec.token")
    stage.make(build.secret("s", {"k": "value"}), gadget("g"), one)
    injecting.run(kubeconfig=kubeconfig_for(without("watch", "secrets"), None))
    said = injecting.said(one, "SourceForbidden", "Forbidden")
    assert said == (
        f"True: Secret {stage.namespace}/s may not be watched; grant `get`, `list` and `watch` on "
        "secrets"
    )
    assert "token" not in stage.get(gadget("g"))["spec"]


def test_a_target_that_may_not_be_watched_is_written_and_its_blindness_told(
    injecting: Injecting, stage: Stage, kubeconfig_for: Grant, web: Web
) -> None:
    kubeconfig = kubeconfig_for(without("watch", "gadgets"), None)
    one = injection("one", source("s", "k"), gadget("g"), ".spec.token")
    stage.make(build.secret("s", {"k": "value"}), gadget("g"), one)
    injecting.run(*web.flags, kubeconfig=kubeconfig)
    said = injecting.said(one, "Forbidden", "Forbidden")
    told = 'reroll_watch_state{resource="gadgets.example.com",state="forbidden"}'
    assert web.metrics()[told] == 1
    assert said == (
        "True: changes of the target go unnoticed: grant `list` and `watch` on gadgets.example.com "
        f"in namespace {stage.namespace}"
    )
    assert injecting.condition(one)["status"] == "True"
    assert stage.get(gadget("g"))["spec"]["token"] == "value"


def test_without_the_right_to_its_status_an_injection_is_kept_and_that_is_an_event(
    injecting: Injecting, stage: Stage, kubeconfig_for: Grant
) -> None:
    kubeconfig = kubeconfig_for(without("patch", "injections/status"), None)
    one = injection("one", source("s", "k"), gadget("g"), ".spec.token")
    stage.make(build.secret("s", {"k": "value"}), gadget("g"), one)
    running = injecting.run(kubeconfig=kubeconfig)
    injecting.holds(gadget("g"), "value", "spec", "token")
    [event] = eventually(lambda: stage.events(one, "Forbidden"), "it is told")
    assert "grant `patch` on injections/status" in event["message"]
    # It is not written again and again, though nothing could be kept of it.
    for value in ("2", "3"):
        stage.api.patch(stage.path(gadget("g")), {"spec": {"token": value}})
        injecting.holds(gadget("g"), "value", "spec", "token")
    assert len(stage.events(one, "Forbidden")) <= 3
    assert not [line for line in running.lines() if line["msg"] == "bug"]


def test_without_the_right_to_injections_the_rest_of_the_controller_works(
    injecting: Injecting, stage: Stage, kubeconfig_for: Grant
) -> None:
    kubeconfig = kubeconfig_for(without("watch", "injections"), None)
    web = build.deployment("web", uses="configmap/app", annotations={"reroll.dev/enabled": "true"})
    stage.make(build.configmap("app"), web)
    running = injecting.run(kubeconfig=kubeconfig)
    line = running.wait_for(lambda line: line.get("resource") == "injections.reroll.dev")
    assert line["state"] == "forbidden"
    number = stage.adopted(web)["n"]
    stage.change("ConfigMap", "app", key="2")
    stage.rolled(web, since=number)


def test_a_value_that_may_not_be_removed_holds_its_injection_until_it_may(
    injecting: Injecting, stage: Stage, kubeconfig_for: Grant
) -> None:
    kubeconfig = kubeconfig_for([*own_rules(), *WRITABLE], None)
    one = injection("one", source("s", "k"), gadget("g"), ".spec.token", deletionPolicy="Remove")
    stage.make(build.secret("s", {"k": "value"}), gadget("g", mode="fast"), one)
    injecting.run(kubeconfig=kubeconfig)
    injecting.said(one, "Injected")
    role = path_to("ClusterRole", kubeconfig.stem)
    stage.api.patch(role, {"rules": without("patch", "gadgets")})
    probe = stage.path(gadget("g"))
    eventually(lambda: _may_not(stage, kubeconfig, probe), "the right is gone")
    stage.api.delete(stage.path(one))
    said = injecting.said(one, "Forbidden", "Forbidden")
    assert said.endswith("; allow it, or set deletionPolicy: Keep")

    injecting.edit(one, deletionPolicy="Keep")
    stage.api.wait_gone(stage.path(one))
    assert stage.get(gadget("g"))["spec"] == {"token": "value", "mode": "fast"}


def _may_not(stage: Stage, kubeconfig: Path, path: str) -> bool:
    from reroll_dev.api import Api, ApiError

    with Api.from_kubeconfig(kubeconfig) as api:
        try:
            api.patch(path, {}, dryRun="All")
        except ApiError as error:
            return error.status == 403
    return False


def test_rights_in_one_namespace_are_enough_for_what_is_there(
    injecting: Injecting, stage: Stage, kubeconfig_for: Grant
) -> None:
    kubeconfig = kubeconfig_for([*own_rules(), *WRITABLE], stage.namespace)
    one = injection("one", source("s", "k"), gadget("g"), ".spec.token")
    elsewhere = source("s", "k", namespace="elsewhere")
    other = injection("other", elsewhere, gadget("g"), ".spec.nested.token")
    stage.make(build.secret("s", {"k": "1"}), gadget("g"), one, other)
    flags = ("--namespaces", stage.namespace, "--namespace-selector", "")
    injecting.run(*flags, kubeconfig=kubeconfig)
    injecting.holds(gadget("g"), "1", "spec", "token")
    stage.change("Secret", "s", k="2")
    injecting.holds(gadget("g"), "2", "spec", "token")
    stage.api.patch(stage.path(gadget("g")), {"spec": {"token": "theirs"}})
    injecting.holds(gadget("g"), "2", "spec", "token")
    said = injecting.said(other, "SourceForbidden", "Forbidden")
    assert said.endswith("in a namespace that is not watched; add elsewhere to --namespaces")
