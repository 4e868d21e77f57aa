"""Bad input of every sort: the user sees a reason, and other workloads work as ever."""

import json
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.scenarios.stage import ENABLED, RECORD, Controller, Stage, Web, a, eventually
from tests.support import build

from reroll.core import rights
from reroll.core.kinds import KINDS, Kind, Strategy
from reroll.core.policy import ANNOTATIONS, SOURCE_LISTS
from reroll.core.rights import Rule
from reroll.devcluster.api import Api, ApiError, path_of, path_to
from reroll.settings import Settings

Start = Callable[..., Controller]
Grant = Callable[[list[Rule], str | None], Path]

# annotation -> a value that cannot be used, and what the sentence about it says
BAD = {
    "enabled": ("yes please", 'neither "true" nor "false"'),
    "mounts": ("dead", 'neither "frozen" nor "live"'),
    "strategy": ("explode", "is no strategy; use one of"),
    "debounce": ("soon", "is not a duration"),
    "reload-port": ("http", "is not a port number"),
    "reload-path": ("reload", "is not an absolute URL path"),
    "sources": ("pod/web, configmap/extra", "begins with no known kind"),
    "ignore": ("configmap/[", "neither a name nor a glob"),
}


def problems(running: Controller, name: str) -> list[str]:
    return [
        line["problem"]
        for line in running.lines()
        if line["msg"] == "bad input" and line["workload"].endswith(f"/{name}")
    ]


def test_each_malformed_annotation_is_told_once_and_the_rest_of_the_policy_applies(
    stage: Stage, controller: Start, web: Web
) -> None:
    assert set(BAD) == {row.name for row in ANNOTATIONS} | set(SOURCE_LISTS)
    workloads = {
        name: build.deployment(
            name, uses="configmap/app", annotations={**ENABLED, f"reroll.dev/{name}": value}
        )
        for name, (value, _) in BAD.items()
    }
    stage.make(build.configmap("app"), build.configmap("extra"), *workloads.values())
    running = controller(*web.flags)
    adopting = [name for name in workloads if name != "enabled"]
    numbers = {name: stage.adopted(workloads[name])["n"] for name in adopting}

    stage.change("ConfigMap", "app", key="new")
    for name in adopting:
        stage.rolled(workloads[name], since=numbers[name])

    for name, (value, sentence) in BAD.items():
        events = stage.events(workloads[name], "InvalidAnnotation")
        assert len(events) == 1, name
        assert f"reroll.dev/{name}" in events[0]["message"]
        assert sentence in events[0]["message"]
        assert value.partition(",")[0] in events[0]["message"]
        assert len(problems(running, name)) == 1
    labels = f'kind="Deployment",namespace="{stage.namespace}"'
    assert web.metrics()[f"reroll_problems_total{{{labels}}}"] == len(BAD)
    # What could be read of a list counts.
    number = stage.record(workloads["sources"])["n"]
    stage.change("ConfigMap", "extra", key="new")
    stage.rolled(workloads["sources"], since=number)
    assert stage.record(workloads["enabled"]) == {}


CANNOT = [
    (kind, next(s for s in Strategy if s not in (*kind.strategies, Strategy.NEXT_RUN)))
    for kind in KINDS
    if kind.name != "Rollout"
]


@pytest.mark.parametrize(
    ("row", "strategy"), CANNOT, ids=[f"a {kind.name} cannot {s}" for kind, s in CANNOT]
)
def test_a_strategy_that_the_kind_cannot_do_is_told_and_the_usual_one_is_used(
    stage: Stage, controller: Start, row: Kind, strategy: Strategy
) -> None:
    asked = {**ENABLED, "reroll.dev/strategy": strategy.value}
    long = {"dev.reroll.dev/complete-after": "1h"}
    web = a(row, uses="configmap/app", annotations=asked, template_annotations=long)
    stage.make(build.configmap("app"), web)
    running = controller()
    number = stage.adopted(web)["n"]

    event = eventually(lambda: stage.events(web, "InvalidAnnotation"), "an Event tells of it")[0]
    assert f"a {row.name} cannot do '{strategy}'" in event["message"]
    stage.change("ConfigMap", "app", key="new")
    stage.rolled(web, since=number)
    told = running.wait_for(lambda line: line.get("reason") == "ConfigChanged")
    assert told["strategy"] == row.default_strategy


def test_a_bad_value_on_a_namespace_or_a_source_is_told_on_the_workloads_it_concerns(
    stage: Stage, controller: Start
) -> None:
    bad = {"metadata": {"annotations": {"reroll.dev/debounce": "later"}}}
    stage.api.patch(path_to("Namespace", stage.namespace), bad)
    web = build.deployment(uses="configmap/app", annotations=ENABLED)
    stage.make(build.configmap("app", annotations={"reroll.dev/ignore": "perhaps"}), web)
    controller()
    number = stage.adopted(web)["n"]

    events = eventually(
        lambda: len(found := stage.events(web, "InvalidAnnotation")) == 2 and found,
        "Events tell of both",
    )
    told = " ".join(event["message"] for event in events)
    assert f"reroll.dev/debounce on Namespace {stage.namespace}" in told
    where = f"reroll.dev/ignore on ConfigMap {stage.namespace}/app"
    assert f"{where}: 'perhaps' is neither" in told
    stage.change("ConfigMap", "app", key="new")
    stage.rolled(web, since=number)


ODD_KEYS = ("-._", "_", "UPPER.lower-1_x", "a..b", "k" * 253)


def test_large_binary_and_oddly_named_content_is_content_like_any_other(
    stage: Stage, controller: Start
) -> None:
    large = build.configmap("large", {"text": "x" * 450_000})
    large["binaryData"] = {"blob": build.encode("\x00\xff" * 150_000)}
    odd = build.configmap("odd", dict.fromkeys(ODD_KEYS, "a"))
    odd["data"]["unicode"] = "smørbrød 🥪 \u0000 \ud7ff"
    env = [
        {"name": f"K{i}", "valueFrom": {"configMapKeyRef": {"name": "odd", "key": key}}}
        for i, key in enumerate(ODD_KEYS)
    ]
    web = build.deployment("web", uses="configmap/large", annotations=ENABLED)
    keys = build.deployment("keys", env=env, annotations=ENABLED)
    stage.make(large, odd, web, keys)
    controller()
    numbers = {one["metadata"]["name"]: stage.adopted(one)["n"] for one in (web, keys)}

    stage.change("ConfigMap", "odd", unicode="smørrebrød")
    stage.quiet(keys)
    stage.change("ConfigMap", "odd", **{ODD_KEYS[-1]: "b", "-._": "c"})
    assert stage.rolled(keys, since=numbers["keys"])["keys"] == ["-._", ODD_KEYS[-1]]

    blob = {"binaryData": {"blob": build.encode("\x00\xfe" * 150_000)}}
    stage.api.patch(path_to("ConfigMap", "large", stage.namespace), blob)
    assert stage.rolled(web, since=numbers["web"])["keys"] == ["blob"]


SPOILT = {
    "it is not JSON": "{oops",
    "it is another JSON": '["n", 1]',
    "a newer version wrote it": '{"v":99,"n":1,"at":"2030-01-01T00:00:00Z","why":"x","s":{}}',
    "it is empty": "",
}


@pytest.mark.parametrize("record", SPOILT.values(), ids=SPOILT)
def test_a_spoilt_record_is_told_and_written_anew_and_nothing_is_rolled(
    stage: Stage, controller: Start, record: str
) -> None:
    spoilt = {**ENABLED, RECORD: record}
    web = build.deployment(uses="configmap/app", annotations=spoilt)
    stage.make(build.configmap("app"), web)
    controller()

    def written() -> dict[str, Any] | None:
        text = stage.get(web)["metadata"]["annotations"][RECORD]
        return json.loads(text) if text != record else None

    number = eventually(written, "a record is written")["n"]
    event = eventually(lambda: stage.events(web, "InvalidAnnotation"), "an Event tells of it")[0]
    assert RECORD in event["message"]
    stage.quiet(web)
    assert stage.stamp(web) is None

    stage.change("ConfigMap", "app", key="new")
    stage.rolled(web, since=number)


def test_a_record_that_does_not_fit_on_the_workload_is_told_and_others_roll(
    stage: Stage, controller: Start
) -> None:
    full = {**ENABLED, "filler": "x" * (256 * 1024 - 60)}
    web = build.deployment("full", uses="configmap/app", annotations=full)
    other = build.deployment("other", uses="configmap/app", annotations=ENABLED)
    stage.make(build.configmap("app"), web, other)
    controller()
    number = stage.adopted(other)["n"]

    event = eventually(lambda: stage.events(web, "Rejected"), "an Event tells of it")[0]
    assert "annotations" in event["message"]
    stage.change("ConfigMap", "app", key="new")
    stage.rolled(other, since=number)


# Rights


def rules(*without: tuple[str, str]) -> list[Rule]:
    """The controller's rights, less some verbs on some resources."""
    defaults = Settings()
    kept = []
    for rule in rights.cluster(KINDS):
        verbs = [v for v in rule["verbs"] if (v, rule["resources"][0]) not in without]
        if verbs:
            kept.append({**rule, "verbs": verbs})
    return [*kept, *rights.own(defaults.digest_key, defaults.lease)]


def test_a_kind_that_may_not_be_patched_is_told_and_the_others_roll(
    stage: Stage, controller: Start, kubeconfig_for: Grant
) -> None:
    web = build.deployment("web", uses="configmap/app", annotations=ENABLED)
    sts = build.statefulset("sts", uses="configmap/app", annotations=ENABLED)
    stage.make(build.configmap("app"), web, sts)
    running = controller(kubeconfig=kubeconfig_for(rules(("patch", "statefulsets")), None))
    number = stage.adopted(web)["n"]

    event = eventually(lambda: stage.events(sts, "Forbidden"), "an Event tells of it")[0]
    assert "cannot patch resource" in event["message"]
    assert running.said("Forbidden", "sts")
    stage.change("ConfigMap", "app", key="new")
    stage.rolled(web, since=number)


def test_a_kind_of_workload_that_may_not_be_watched_is_told_and_the_others_roll(
    stage: Stage, controller: Start, kubeconfig_for: Grant
) -> None:
    web = build.deployment("web", uses="configmap/app")
    sts = build.statefulset("sts", uses="configmap/app", annotations=ENABLED)
    stage.make(build.configmap("app"), web, sts)
    lacking = rules(("list", "statefulsets"), ("watch", "statefulsets"))
    running = controller(kubeconfig=kubeconfig_for(lacking, None))

    told = running.wait_for(lambda line: line.get("resource") == "statefulsets.apps")
    assert told["state"] == "forbidden"
    assert "cannot watch statefulsets.apps" in told["problem"]
    # Also a Namespace that opts in reads what it may.
    enabled = {"metadata": {"annotations": ENABLED}}
    stage.api.patch(path_to("Namespace", stage.namespace), enabled)
    number = stage.adopted(web)["n"]
    stage.change("ConfigMap", "app", key="new")
    stage.rolled(web, since=number)
    assert stage.record(sts) == {}


def test_a_right_that_is_granted_later_is_used_without_a_restart(
    stage: Stage, controller: Start, kubeconfig_for: Grant
) -> None:
    web = build.deployment("web", uses=["configmap/app", "secret/db"], annotations=ENABLED)
    stage.make(build.configmap("app"), build.secret("db"), web)
    unread = (("list", "configmaps"), ("watch", "configmaps"), ("list", "secrets"))
    lacking = rules(*unread, ("watch", "secrets"))
    kubeconfig = kubeconfig_for(lacking, None)
    controller(kubeconfig=kubeconfig)
    number = stage.adopted(web)["n"]
    assert stage.record(web)["s"] == {}

    role = path_to("ClusterRole", kubeconfig.stem)
    stage.api.patch(role, {"rules": rules()})
    both = {"configmap/app", "secret/db"}
    eventually(lambda: set(stage.record(web)["s"]) == both, "both are recorded", timeout=120)
    assert stage.stamp(web) is None

    for kind, change in (("ConfigMap", {"key": "new"}), ("Secret", {"password": "new"})):
        number = stage.record(web)["n"]
        stage.change(kind, "app" if kind == "ConfigMap" else "db", **change)
        stage.rolled(web, since=number)


@pytest.mark.parametrize("verb", ["get", "watch"])
def test_a_kind_of_source_that_may_not_be_read_is_told_and_the_other_kind_still_rolls(
    stage: Stage, controller: Start, kubeconfig_for: Grant, verb: str
) -> None:
    globs = {**ENABLED, "reroll.dev/sources": "secret/d*"}
    web = build.deployment("web", uses=["configmap/app", "secret/db"], annotations=globs)
    stage.make(build.configmap("app"), build.secret("db"), web)
    without = [("get", "secrets")] if verb == "get" else [("list", "secrets"), ("watch", "secrets")]
    controller(kubeconfig=kubeconfig_for(rules(*without), None))

    number = stage.adopted(web)["n"]
    events = eventually(lambda: stage.events(web, "SourceForbidden"), "an Event tells of it")
    assert all("grant" in event["message"] for event in events)
    stage.change("ConfigMap", "app", key="new")
    assert stage.rolled(web, since=number)["by"] == ["configmap/app"]


def test_a_namespace_without_rights_is_told_and_the_other_one_works(
    stage: Stage, controller: Start, kubeconfig_for: Grant, another: Callable[[], Stage]
) -> None:
    there = another()
    web = build.deployment(uses="configmap/app", annotations=ENABLED)
    for one in (stage, there):
        one.make(build.configmap("app"), web)
    both = f"{there.namespace},{stage.namespace}"
    running = controller(
        *("--namespaces", both, "--namespace-selector", ""),
        kubeconfig=kubeconfig_for(rules(), stage.namespace),
    )

    number = stage.adopted(web)["n"]
    stage.change("ConfigMap", "app", key="new")
    stage.rolled(web, since=number)
    told = [line["problem"] for line in running.lines() if line.get("state") == "forbidden"]
    assert any(f"watch deployments.apps in namespace {there.namespace}" in t for t in told)
    assert there.record(web) == {}


# Admission


@pytest.fixture(params=["Invalid", "Forbidden"])
def policy(request: pytest.FixtureRequest, api: Api, stage: Stage) -> Iterator[build.Object]:
    """A policy that lets no stamp through on Deployments; it is in force."""
    name = f"no-stamps-{uuid.uuid4().hex[:8]}"
    version = "admissionregistration.k8s.io/v1"
    rule = {
        "apiGroups": ["apps"],
        "apiVersions": ["v1"],
        "operations": ["UPDATE"],
        "resources": ["deployments"],
    }
    stamps = "object.spec.template.metadata.?annotations[?'reroll.dev/config-hash']"
    validation = {
        "expression": f"!{stamps}.hasValue()",
        "message": "no rolls on a Friday",
        "reason": request.param,
    }
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [validation],
    }
    here = {"matchLabels": {"kubernetes.io/metadata.name": stage.namespace}}
    binding = {
        "apiVersion": version,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {
            "policyName": name,
            "validationActions": ["Deny"],
            "matchResources": {"namespaceSelector": here},
        },
    }
    kind = "ValidatingAdmissionPolicy"
    api.create({"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec})
    api.create(binding)
    yield binding
    api.delete(path_of(binding), missing_ok=True)
    api.delete(path_to(kind, name, version=version))


def is_refused(stage: Stage, web: build.Object) -> bool:
    stamped = {"metadata": {"annotations": {"reroll.dev/config-hash": "x"}}}
    try:
        stage.api.patch(stage.path(web), {"spec": {"template": stamped}}, dryRun="All")
    except ApiError as error:
        return "no rolls on a Friday" in error.message
    return False


def test_a_roll_that_admission_refuses_is_told_and_made_when_it_is_let_through(
    stage: Stage, controller: Start, policy: build.Object
) -> None:
    web = build.deployment("web", uses="configmap/app", annotations=ENABLED)
    sts = build.statefulset("sts", uses="configmap/app", annotations=ENABLED)
    stage.make(build.configmap("app"), web, sts)
    eventually(lambda: is_refused(stage, web), "the policy is in force")
    running = controller()
    numbers = {one["metadata"]["name"]: stage.adopted(one)["n"] for one in (web, sts)}

    stage.change("ConfigMap", "app", key="new")
    stage.rolled(sts, since=numbers["sts"])
    events = eventually(
        lambda: stage.events(web, "Rejected") or stage.events(web, "Forbidden"),
        "an Event tells what is wrong",
    )
    assert events[0]["type"] == "Warning"
    assert "no rolls on a Friday" in events[0]["message"]
    assert stage.stamp(web) is None

    stage.api.delete(path_of(policy))
    eventually(lambda: stage.stamp(web), "it rolls by itself", timeout=120)
    stage.settled(web)
    eventually(lambda: len(running.said("ConfigChanged", "web")) == 1, "one log line tells of it")
    assert len(stage.revisions(web)) == 2
