"""Metrics: what a report counts as, and what is read when the metrics are."""

import msgspec
from prometheus_client.parser import text_string_to_metric_families

from reroll.controller.metrics import Metrics
from reroll.controller.report import Report, Result
from reroll.core.model.key import Key, Problem
from reroll.core.propagation.group import Group
from reroll.core.propagation.member import Member, Stage
from reroll.core.tables.reasons import Reason

HELD = Report(Key("Job", "shop", "web"), "1", "batch/v1", Reason.HELD, "held", Result.HELD)
ROLLED = msgspec.structs.replace(
    HELD, reason=Reason.CONFIG_CHANGED, result=Result.DONE, strategy="recreate", seconds=2.0
)


def value(metrics: Metrics, name: str, **labels: str) -> float | None:
    families = text_string_to_metric_families(metrics.registry.render().decode())
    samples = {
        (s.name, tuple(sorted(s.labels.items()))): s.value for f in families for s in f.samples
    }
    return samples.get((name, tuple(sorted(labels.items()))))


def test_every_report_is_a_decision_and_what_rolled_is_a_roll() -> None:
    metrics = Metrics()
    for report in (HELD, HELD, ROLLED):
        metrics.report(report)
    assert value(metrics, "reroll_decisions_total", reason="Held", result="held") == 2
    assert value(metrics, "reroll_decisions_total", reason="ConfigChanged", result="done") == 1
    labels = {"strategy": "recreate", "kind": "Job", "result": "done"}
    assert value(metrics, "reroll_rolls_total", reason="ConfigChanged", **labels) == 1
    assert value(metrics, "reroll_change_to_patch_seconds_sum") == 2.0


def test_a_roll_that_failed_took_no_time() -> None:
    metrics = Metrics()
    metrics.report(msgspec.structs.replace(ROLLED, result=Result.FAILED))
    assert value(metrics, "reroll_change_to_patch_seconds_count") == 0


def test_a_problem_counts_by_where_it_stands() -> None:
    metrics = Metrics()
    metrics.problems(HELD, (Problem("bad"), Problem("worse")))
    assert value(metrics, "reroll_problems_total", kind="Job", namespace="shop") == 2


class Backlog(list[str]):
    oldest = 4.0


class Injections:
    def count(self, *, ready: bool) -> int:
        return 7 if ready else 1


def test_sizes_are_those_of_the_moment() -> None:
    metrics = Metrics()
    workloads: list[str] = []
    metrics.measure(workloads, ["app"], Backlog(["web", "api"]))
    metrics.count_injections(Injections())
    workloads.append("web")
    assert value(metrics, "reroll_workloads") == 1
    assert value(metrics, "reroll_sources") == 1
    assert value(metrics, "reroll_queue_depth") == 2
    assert value(metrics, "reroll_queue_age_seconds") == 4.0
    assert value(metrics, "reroll_injections", ready="true") == 7
    assert value(metrics, "reroll_injections", ready="false") == 1


def a_group(*members: Member) -> Group:
    group = Group(Key("ConfigMap", "shop", "app"))
    for number, member in enumerate(members):
        group.put(Key("Deployment", "shop", f"web-{number}"), member)
    return group


def test_changes_are_told_by_state_and_workloads_by_stage() -> None:
    metrics, settled = Metrics(), Member(Stage.SETTLED)
    groups = [
        a_group(settled),
        a_group(Member(Stage.BLOCKED)),
        a_group(Member(Stage.BEHIND), settled),
        a_group(Member(Stage.UNDER_WAY), Member(Stage.BEHIND)),
        a_group(Member(Stage.FAILED, stops=True), Member(Stage.BEHIND), Member(Stage.HEALTHY)),
    ]
    metrics.propagations(lambda: groups)
    assert value(metrics, "reroll_propagations", state="going on") == 2
    assert value(metrics, "reroll_propagations", state="stopped") == 1
    stages = {s: value(metrics, "reroll_propagation_workloads", stage=s.value) for s in Stage}
    assert stages == {
        Stage.BEHIND: 3, Stage.BLOCKED: 1, Stage.UNDER_WAY: 1, Stage.HEALTHY: 1, Stage.FAILED: 1,
        Stage.STUCK: 0, Stage.UNJUDGED: 0, Stage.SETTLED: 2,
    }  # fmt: skip
    groups.clear()
    assert value(metrics, "reroll_propagations", state="stopped") == 0


def test_what_holds_workloads_is_told_by_the_leader_alone() -> None:
    metrics = Metrics()
    metrics.report(HELD)
    assert value(metrics, "reroll_held_workloads", reason="Held") is None
    metrics.leader.set(1)
    assert value(metrics, "reroll_held_workloads", reason="Held") == 1
    assert value(metrics, "reroll_unhealthy_workloads", reason="Failing") == 0
    metrics.forget(HELD.key)
    assert value(metrics, "reroll_held_workloads", reason="Held") is None
