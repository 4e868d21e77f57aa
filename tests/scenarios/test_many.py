"""Commands on many workloads: what they use is listed, and nothing else is read than before."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from tests.scenarios.rolling import Command
from tests.scenarios.stage import ENABLED, Stage
from tests.support import build
from tests.support.faultproxy import FaultProxy
from tests.support.faults import Answer, Entry, Match

from reroll.engine.many import MANY

NUMBER = MANY + 2
WORKLOADS = {"apiGroups": ["apps", "batch"], "resources": ["*"], "verbs": ["get", "list"]}
PODS = {"apiGroups": [""], "resources": ["pods", "events"], "verbs": ["get", "list"]}
SOURCES = {"apiGroups": [""], "resources": ["configmaps", "secrets"], "verbs": ["get"]}


def many(stage: Stage) -> None:
    """Each with a ConfigMap and a Secret of its own; and a Secret and a ConfigMap of nobody."""
    for number in range(NUMBER):
        uses = [f"configmap/app-{number}", f"secret/db-{number}"]
        stage.make(build.configmap(f"app-{number}"), build.secret(f"db-{number}"))
        stage.make(build.deployment(f"web-{number}", uses=uses, annotations=ENABLED))
    silent = build.deployment("silent", uses=["secret/silent"])
    stage.make(build.secret("silent"), build.secret("unused"), build.configmap("unused"), silent)


def got(log: Iterable[Entry], plural: str) -> set[str]:
    """The names of those that were read by themselves."""
    paths = (entry.path.partition("?")[0] for entry in log)
    return {found[1] for path in paths if (found := re.search(rf"/{plural}/([^/]+)$", path))}


def listed(log: Iterable[Entry], plural: str) -> list[str]:
    """How much of them was asked for, for each list."""
    return [entry.accept for entry in log if re.search(rf"/{plural}(\?|$)", entry.path)]


def told(answer: Any) -> Any:
    """What is said of each workload, but for how long ago something was."""
    rows = answer.json["workloads"]
    return {one["name"]: (one["reason"], re.sub(r"\d+s ago", "", one["message"])) for one in rows}


def test_many_config_maps_are_listed_and_a_secret_that_nobody_opted_in_for_is_never_read(
    stage: Stage, sync: Command, status: Command, fault_proxy: FaultProxy
) -> None:
    many(stage)
    sync()
    stage.change("ConfigMap", "app-1", key="new")
    stage.change("Secret", "db-2", password="new")
    stage.api.delete(stage.path(build.configmap("app-3")))

    found = status("-o", "json", identity=fault_proxy.kubeconfig())

    reasons = {name: reason for name, (reason, _) in told(found).items()}
    expected = {f"web-{number}": "UpToDate" for number in range(NUMBER)}
    changed = {"web-1": "ConfigChanged", "web-2": "ConfigChanged", "web-3": "SourceMissing"}
    assert reasons == expected | changed
    log = fault_proxy.log
    assert got(log, "configmaps") == {"reroll-hold"}, "none of those that are used"
    assert got(log, "secrets") == {f"db-{n}" for n in range(NUMBER)} | {"reroll-digest-key"}
    assert all("PartialObjectMetadata" in accept for accept in listed(log, "secrets"))


def test_who_may_not_list_sources_is_told_the_same(
    stage: Stage,
    sync: Command,
    plan: Command,
    kubeconfig_for: Callable[..., Path],
    fault_proxy: FaultProxy,
) -> None:
    many(stage)
    sync()
    stage.change("ConfigMap", "app-1", key="new")
    stage.change("Secret", "db-2", password="new")
    stage.api.delete(stage.path(build.configmap("app-3")))
    stage.api.delete(stage.path(build.secret("db-4")))
    few = fault_proxy.kubeconfig(kubeconfig_for([WORKLOADS, PODS, SOURCES], stage.namespace))

    by_list = plan("--all", "-o", "json")
    by_get = plan("--all", "-o", "json", identity=few)

    assert told(by_list) == told(by_get)
    assert told(by_list)["web-3"][0] == told(by_list)["web-4"][0] == "SourceMissing"
    wanted = {f"app-{number}" for number in range(NUMBER)}
    assert wanted <= got(fault_proxy.log, "configmaps"), "each by itself"


def test_a_cache_that_is_behind_ends_no_listing(
    stage: Stage, sync: Command, status: Command, fault_proxy: FaultProxy
) -> None:
    many(stage)
    sync()
    fault_proxy.inject(Answer(504), Match(path="/secrets/db-1$"), times=1)

    found = status("-o", "json", identity=fault_proxy.kubeconfig())

    assert {reason for reason, _ in told(found).values()} == {"UpToDate"}
    asked = [entry.path for entry in fault_proxy.log if "/secrets/db-1" in entry.path]
    assert ["resourceVersion=" in path for path in asked] == [True, False]


def test_many_that_another_namespace_does_not_lend_are_not_read_for_it(
    stage: Stage,
    sync: Command,
    plan: Command,
    another: Callable[[], Stage],
    fault_proxy: FaultProxy,
) -> None:
    there = another()
    place, consent = there.namespace, {"reroll.dev/allow-from": stage.namespace}
    for number in range(NUMBER):
        there.make(build.secret(f"shy-{number}"))
    there.make(build.secret("open", annotations=consent))
    names = [*(f"shy-{number}" for number in range(NUMBER)), "absent", "open"]
    words = ", ".join(f"secret/{place}/{name}" for name in names)
    spy = build.deployment(
        uses="configmap/app", annotations={**ENABLED, "reroll.dev/sources": words}
    )
    stage.make(build.configmap(), spy)

    sync()
    plan(identity=fault_proxy.kubeconfig())

    assert set(stage.record(spy)["s"]) == {"configmap/app", f"secret/{place}/open"}
    assert got(fault_proxy.log, "secrets") == {"open", "reroll-digest-key"}
