"""What is not allowed, by rights or by admission: it is told, and other workloads work as ever."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.scenarios.stage import ENABLED, Controller, Stage, eventually
from tests.support import build
from tests.support.policies import refusing

from reroll.core.tables import rights
from reroll.core.tables.kinds import KINDS
from reroll.core.tables.rights import Rule
from reroll.settings.table import Settings
from reroll_dev.api import Api, ApiError, path_of, path_to

Start = Callable[..., Controller]
Grant = Callable[[list[Rule], str | None], Path]


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


@pytest.mark.slow
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
    refused = f"watch deployments.apps in namespace {there.namespace}"
    running.wait_for(lambda line: line.get("state") == "forbidden" and refused in line["problem"])
    assert there.record(web) == {}


@pytest.fixture(params=["Invalid", "Forbidden"])
def policy(request: pytest.FixtureRequest, api: Api, stage: Stage) -> Iterator[build.Object]:
    """A policy that lets no stamp through on Deployments."""
    stamps = "object.spec.template.metadata.?annotations[?'reroll.dev/config-hash']"
    allowed = f"!{stamps}.hasValue()"
    with refusing(api, stage.namespace, allowed, "no rolls on a Friday", request.param) as binding:
        yield binding


def is_refused(stage: Stage, web: build.Object) -> bool:
    stamped = {"metadata": {"annotations": {"reroll.dev/config-hash": "x"}}}
    try:
        stage.api.patch(stage.path(web), {"spec": {"template": stamped}}, dryRun="All")
    except ApiError as error:
        return "no rolls on a Friday" in error.message
    return False


@pytest.mark.thorough
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
