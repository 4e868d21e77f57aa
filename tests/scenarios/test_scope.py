"""Which workloads count: opt in, opt out, Namespaces, lists and selectors."""

import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.scenarios.stage import ENABLED, Controller, Stage, eventually
from tests.support import build
from tests.support.faultproxy import FaultProxy
from tests.support.faults import Match, Silence

from reroll.core.tables import rights
from reroll.core.tables.kinds import KINDS
from reroll.settings.table import Settings
from reroll_dev.api import path_to

Start = Callable[..., Controller]
Another = Callable[..., Stage]
OPTED_OUT = {"reroll.dev/enabled": "false"}
EACH = (build.deployment, build.statefulset, build.daemonset, build.cronjob)


def annotate_namespace(stage: Stage, **annotations: str | None) -> None:
    keys = {f"reroll.dev/{key.replace('_', '-')}": value for key, value in annotations.items()}
    path = path_to("Namespace", stage.namespace)
    stage.api.patch(path, {"metadata": {"annotations": keys}})


def label(stage: Stage, manifest: build.Object, **labels: str | None) -> None:
    stage.api.patch(stage.path(manifest), {"metadata": {"labels": labels}})


def heard_of_it(stage: Stage, later: build.Object) -> None:
    """The controller knows what was done to Deployments: it knows one that was made later.

    Sources come to it in another stream, and may come first.
    """
    stage.make(later)
    stage.adopted(later)


def not_adopted(stage: Stage, *manifests: build.Object) -> None:
    """After a while in which another workload was looked at."""
    assert [stage.record(one) for one in manifests] == [{} for _ in manifests]


def test_a_namespace_opts_its_workloads_in_and_out_at_run_time_and_rolls_none_of_them(
    stage: Stage, controller: Start
) -> None:
    early = build.deployment("early", uses="configmap/app", annotations=ENABLED)
    late = [make(f"late-{i}", uses="configmap/app") for i, make in enumerate(EACH)]
    out = build.deployment("out", uses="configmap/app", annotations=OPTED_OUT)
    stage.make(build.configmap("app"), early, *late, out)
    running = controller()
    first = stage.adopted(early)
    # A change that was watched before they opted in is nothing to roll for.
    stage.change("ConfigMap", "app", key="new")
    number = stage.rolled(early, since=first["n"])["n"]
    not_adopted(stage, *late)

    annotate_namespace(stage, enabled="true")
    numbers = [stage.adopted(one)["n"] for one in late]
    stage.quiet(early)
    assert [stage.record(one).get("rolled") for one in late] == [None] * len(late)
    assert stage.record(early)["n"] == number

    stage.change("ConfigMap", "app", key="newer")
    for one, adopted in zip(late, numbers, strict=True):
        stage.rolled(one, since=adopted)
    not_adopted(stage, out)

    # What cannot be read is told: by then the controller knows the Namespace as it is now.
    annotate_namespace(stage, enabled=None, mounts="dead")
    running.wait_for(lambda line: line["msg"] == "bad input")
    number = stage.rolled(early, since=number)["n"]
    numbers = [stage.record(one)["n"] for one in late]
    stage.change("ConfigMap", "app", key="newest")
    stage.rolled(early, since=number)
    stage.quiet(late[0], 0.5)
    assert [stage.record(one)["n"] for one in late] == numbers


def test_what_a_namespace_says_is_the_default_and_what_a_workload_says_counts(
    stage: Stage, controller: Start
) -> None:
    annotate_namespace(stage, enabled="true", strategy="notify", ignore="configmap/noise")
    uses = ["configmap/app", "configmap/noise"]
    plain = build.deployment("plain", uses=uses)
    own = build.deployment("own", uses=uses, annotations={"reroll.dev/strategy": "restart"})
    stage.make(build.configmap("app"), build.configmap("noise"), plain, own)
    controller()
    numbers = [stage.adopted(one)["n"] for one in (plain, own)]

    stage.change("ConfigMap", "app", key="new")
    for one, number in zip((plain, own), numbers, strict=True):
        stage.rolled(one, since=number)
    assert "annotations" not in stage.template(plain)["metadata"]
    assert "annotations" in stage.template(own)["metadata"]

    numbers = [stage.record(one)["n"] for one in (plain, own)]
    stage.change("ConfigMap", "noise", key="new")
    stage.quiet(own)
    assert [stage.record(one)["n"] for one in (plain, own)] == numbers


def test_a_strategy_for_all_is_used_by_the_kinds_that_can_do_it_and_is_no_fault_of_others(
    stage: Stage, controller: Start
) -> None:
    web, task = (
        make("one", uses="configmap/app", annotations=ENABLED)
        for make in (build.deployment, build.cronjob)
    )
    stage.make(build.configmap("app"), web, task)
    running = controller("--strategy", "restart")
    numbers = [stage.adopted(one)["n"] for one in (web, task)]

    stage.change("ConfigMap", "app", key="new")
    for one, number in zip((web, task), numbers, strict=True):
        stage.rolled(one, since=number)

    eventually(lambda: len(running.said("ConfigChanged")) == 2, "both are told")
    assert {line["strategy"] for line in running.said("ConfigChanged")} == {"restart", "next-run"}
    assert stage.events(task, "InvalidAnnotation") == []


def test_opting_out_wins_over_everything(stage: Stage, controller: Start, another: Another) -> None:
    mark = uuid.uuid4().hex[:8]
    free = another(labels={"mark": mark})
    closed = another(labels={"mark": mark}, annotations=OPTED_OUT)
    for one in (free, closed):
        one.make(build.configmap("app"))
    silent = build.deployment("silent", uses="configmap/app")
    out = build.deployment("out", uses="configmap/app", annotations=OPTED_OUT)
    wanting = build.deployment("wanting", uses="configmap/app", annotations=ENABLED)
    free.make(silent, out)
    closed.make(silent, wanting)
    controller("--auto-all", "--namespace-selector", f"mark={mark}")

    free.adopted(silent)
    closed.adopted(wanting)  # the workload itself decides over its Namespace
    not_adopted(free, out)
    not_adopted(closed, silent)

    free.annotate(out, enabled=None)
    free.adopted(out)
    free.annotate(out, enabled="false")
    heard_of_it(free, build.deployment("later", uses="configmap/app"))
    number = free.record(silent)["n"]
    free.change("ConfigMap", "app", key="new")
    free.rolled(silent, since=number)
    assert free.stamp(out) is None


def test_excluded_namespaces_and_kinds_are_left_alone(
    stage: Stage, controller: Start, another: Another
) -> None:
    mark = uuid.uuid4().hex[:8]
    other, excluded = another(labels={"mark": mark}), another(labels={"mark": mark})
    web, sts = (make("web", uses="configmap/app") for make in (build.deployment, build.statefulset))
    for one in (other, excluded):
        one.make(build.configmap("app"), web, sts)
    controller(
        *("--auto-all", "--namespace-selector", f"mark={mark}"),
        *("--exclude-namespaces", f"kube-*,{excluded.namespace[:-1]}?"),
        *("--exclude-kinds", "statefulset"),
    )

    number = other.adopted(web)["n"]
    other.change("ConfigMap", "app", key="new")
    excluded.change("ConfigMap", "app", key="new")
    other.rolled(web, since=number)
    not_adopted(other, sts)
    not_adopted(excluded, web, sts)


def test_selectors_choose_workloads_and_sources_by_their_labels(
    stage: Stage, controller: Start
) -> None:
    chosen = build.deployment(
        "chosen", uses=["configmap/chosen", "secret/other"], annotations=ENABLED, labels={"a": "b"}
    )
    other = build.deployment("other", uses="configmap/chosen", annotations=ENABLED)
    stage.make(
        build.configmap("chosen", labels={"reload": "yes"}), build.secret("other"), chosen, other
    )
    controller("--workload-selector", "a in (b, c)", "--source-selector", "reload=yes")
    number = stage.adopted(chosen)["n"]

    stage.change("Secret", "other", password="new")
    stage.quiet(chosen)
    assert stage.record(chosen)["n"] == number
    stage.change("ConfigMap", "chosen", key="new")
    number = stage.rolled(chosen, since=number)["n"]
    not_adopted(stage, other)

    label(stage, other, a="c")
    label(stage, build.secret("other"), reload="yes")
    stage.adopted(other)
    eventually(lambda: len(stage.record(chosen)["s"]) == 2, "both sources count now")
    label(stage, chosen, a=None)
    later = build.deployment("later", uses="configmap/chosen", annotations=ENABLED)
    later["metadata"]["labels"] = {"a": "b"}
    heard_of_it(stage, later)
    number = stage.record(other)["n"]
    stage.change("ConfigMap", "chosen", key="newer")
    stage.rolled(other, since=number)
    before = stage.record(chosen)["n"]
    stage.quiet(chosen)
    assert stage.record(chosen)["n"] == before


@pytest.mark.parametrize("opted", ["by annotation", "by label"])
def test_a_namespace_that_is_heard_of_after_its_workloads_counts_all_the_same(
    stage: Stage,
    controller: Start,
    another: Another,
    fault_proxy: FaultProxy,
    reroll_kubeconfig: Path,
    opted: str,
) -> None:
    mark = uuid.uuid4().hex[:8]
    kubeconfig = fault_proxy.kubeconfig(reroll_kubeconfig)
    if opted == "by label":
        flags = ("--auto-all", "--namespace-selector", f"mark={mark}")
    else:
        flags = ("--namespace-selector", "", "--workload-selector", f"mark={mark}")
    controller(*flags, kubeconfig=kubeconfig)
    fault_proxy.inject(Silence(hold=True), Match(path="/api/v1/namespaces$", watch=True))

    new = another(labels={"mark": mark}, annotations=ENABLED)
    web = build.deployment(uses="configmap/app", labels={"mark": mark})
    new.make(build.configmap("app"), web)
    new.quiet(web, 0.5)
    not_adopted(new, web)
    fault_proxy.clear()

    number = new.adopted(web)["n"]
    new.change("ConfigMap", "app", key="new")
    new.rolled(web, since=number)


def test_a_list_of_namespaces_needs_no_right_outside_of_them(
    stage: Stage,
    controller: Start,
    another: Another,
    kubeconfig_for: Callable[..., Path],
) -> None:
    defaults = Settings()
    rules = [
        *rights.cluster(KINDS, namespaces=False),
        *rights.own(defaults.digest_key, defaults.lease),
    ]
    there = another()
    there.make(build.configmap("shared", annotations={"reroll.dev/allow-from": "*"}))
    lacking = build.deployment(
        "lacking",
        uses="configmap/app",
        annotations={**ENABLED, "reroll.dev/sources": f"configmap/{there.namespace}/shared"},
    )
    web = build.deployment(uses=["configmap/app", "secret/db#password"], annotations=ENABLED)
    stage.make(build.configmap("app"), build.secret("db"), web, lacking)
    only = ("--namespaces", stage.namespace, "--namespace-selector", "")
    running = controller(*only, kubeconfig=kubeconfig_for(rules, stage.namespace))

    number = stage.adopted(web)["n"]
    stage.change("ConfigMap", "app", key="new")
    number = stage.rolled(web, since=number)["n"]
    stage.change("Secret", "db", password="new")
    stage.rolled(web, since=number)
    # What it may not see elsewhere is told, and what it can do is done.
    number = stage.adopted(lacking)["n"]
    assert number
    told = eventually(lambda: stage.events(lacking, "InvalidAnnotation"), "an Event tells of it")
    assert "shared" in told[0]["message"]
    assert "--namespaces" in told[0]["message"]
    assert not [line for line in running.lines() if line["msg"] == "bug"]
