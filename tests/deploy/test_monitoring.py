"""Alerts and dashboard name metrics and labels that exist, and every alert has a runbook."""

import json
import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families
from tests.support.known_metrics import known_metrics
from tests.support.promql import Matcher, Query, parse

from reroll.controller.metrics import GOING_ON, STOPPED, Metrics
from reroll.controller.report import Report, Result
from reroll.controller.standings import ROLLBACKS, ROLLOUTS, UNHEALTHY
from reroll.core.model.gates import Answer
from reroll.core.model.key import Key
from reroll.core.propagation.group import Group
from reroll.core.propagation.member import Member, Stage
from reroll.core.tables.reasons import Reason
from reroll.core.tables.rights import Feature
from reroll.features.notices.courier import DROPPED, FAILED, SENT
from reroll.kube.steps import Health

ROOT = Path(__file__).parents[2]
RULES = yaml.safe_load((ROOT / "deploy" / "alerts" / "reroll.yaml").read_text())
ALERTS: list[dict[str, Any]] = [rule for group in RULES["groups"] for rule in group["rules"]]
DASHBOARD = json.loads((ROOT / "deploy" / "grafana" / "reroll.json").read_text())
EVERY_PANEL: list[dict[str, Any]] = DASHBOARD["panels"]
PANELS = [panel for panel in EVERY_PANEL if panel["type"] != "row"]
RUNBOOKS = ROOT / "docs" / "runbooks"

TARGET = {"namespace", "job", "instance", "pod"}
"""What Prometheus adds to everything it scrapes."""
PROCESS = {
    "process_cpu_seconds_total",
    "process_resident_memory_bytes",
    "process_start_time_seconds",
}
METRICS = {name: set(known.labels) for name, known in known_metrics().items()}
METRICS |= {
    f"{name}_{part}": {*known.labels, *(["le"] if part == "bucket" else [])}
    for name, known in known_metrics().items()
    if known.type == "histogram"
    for part in ("bucket", "sum", "count")
}
METRICS |= {name: set() for name in PROCESS}
VALUES: dict[str, set[str]] = {
    "state": set(get_args(Health)),
    "result": {result.value for result in Result},
    "reason": {reason.word for reason in Reason},
    "feature": {feature.value for feature in Feature},
    "ready": {"true", "false"},
    "stage": {stage.value for stage in Stage},
    "code": {"200", "201", "404", "409", "429", "500", "503", "none"},
}
OWN: dict[tuple[str, str], set[str]] = {
    ("reroll_propagations", "state"): {GOING_ON, STOPPED},
    ("reroll_gates", "answer"): {*map(str, Answer), "asked"},
    ("reroll_rollouts_total", "result"): set(ROLLOUTS.values()),
    ("reroll_rollbacks_total", "result"): set(ROLLBACKS.values()),
    ("reroll_notices_total", "result"): {SENT, FAILED, DROPPED},
    ("reroll_unhealthy_workloads", "reason"): {reason.word for reason in UNHEALTHY},
}
"""Values of a label that means something else in this metric than in others."""


def check(text: str) -> Query:
    """That a query names only what there is."""
    query = parse(text)
    assert query.selectors, "it names no metric"
    known: set[str] = set(TARGET)
    for metric, matchers in query.selectors:
        assert metric in METRICS, f"there is no metric {metric}"
        known |= METRICS[metric]
        for matcher in matchers:
            assert matcher.label in METRICS[metric] | TARGET, f"{metric} has no {matcher.label}"
            values = OWN.get((metric, matcher.label)) or VALUES.get(matcher.label)
            if values and "$" not in matcher.value:
                pattern = matcher.value if "~" in matcher.operator else re.escape(matcher.value)
                fits = [v for v in values if re.fullmatch(pattern, v)]
                assert fits, f"{matcher.label} is never {matcher.value}"
                for part in matcher.value.split("|"):
                    assert any(re.fullmatch(part, v) for v in values), part
    for labels in query.groupings:
        assert labels <= known, f"nothing has the labels {labels - known}"
    return query


def queries() -> Iterator[tuple[str, str]]:
    for alert in ALERTS:
        yield alert["alert"], alert["expr"]
    for panel in PANELS:
        for target in panel["targets"]:
            yield panel["title"], target["expr"]


@pytest.mark.parametrize("text", [text for _, text in queries()], ids=[at for at, _ in queries()])
def test_a_query_names_metrics_labels_and_values_that_exist(text: str) -> None:
    check(text)


@pytest.mark.parametrize(
    "text",
    [
        "reroll_leaders == 0",
        'reroll_watch_state{state="fine"} == 1',
        'reroll_watch_state{kind="x"} == 1',
        "sum by (colour) (reroll_leader)",
        "sum(reroll_leader",
        "sums(reroll_leader)",
        "rate(reroll_rolls_total[5x])",
        'reroll_feature_up{feature=~"evict|fly"}',
        'reroll_propagations{state="watching"} > 0',
        'reroll_watch_state{state="stopped"} == 1',
        'reroll_unhealthy_workloads{reason="Held"} > 0',
        'reroll_rollouts_total{result="done"}',
        'reroll_propagation_workloads{stage="lost"}',
        "1 > 0",
    ],
)
def test_a_query_with_a_slip_is_noticed(text: str) -> None:
    with pytest.raises((AssertionError, ValueError)):
        check(text)


@pytest.mark.parametrize("alert", ALERTS, ids=[alert["alert"] for alert in ALERTS])
def test_an_alert_says_how_bad_it_is_what_it_means_and_where_its_runbook_is(
    alert: dict[str, Any],
) -> None:
    assert alert["labels"]["severity"] in {"info", "warning", "critical"}
    said = alert["annotations"]
    assert said["summary"]
    assert said["description"].endswith(".")
    assert said["runbook_url"] == f"docs/runbooks/{alert['alert']}.md"
    page = (ROOT / said["runbook_url"]).read_text(encoding="utf-8")
    assert page.startswith(f"# {alert['alert']}\n")
    for heading in ("## What it means", "## What to do"):
        assert heading in page
    assert alert["labels"]["severity"] in page
    query = parse(alert["expr"])
    labels = set().union(*query.groupings) | (TARGET if not query.groupings else set())
    labels |= TARGET if "changes(" in alert["expr"] else set()
    for text in said.values():
        assert set(re.findall(r"\$labels\.(\w+)", text)) <= labels


def test_every_runbook_is_of_an_alert_and_is_listed() -> None:
    names = {page.stem for page in RUNBOOKS.glob("*.md")} - {"index"}
    assert names == {alert["alert"] for alert in ALERTS}
    index = (RUNBOOKS / "index.md").read_text(encoding="utf-8")
    assert [name for name in names if f"]({name}.md)" not in index] == []


def test_every_metric_of_ours_is_on_the_dashboard() -> None:
    shown = " ".join(target["expr"] for panel in PANELS for target in panel["targets"])
    assert [name for name in known_metrics() if name not in shown] == []


def test_the_panels_of_the_dashboard_stand_beside_each_other_and_show_labels_that_are_there() -> (
    None
):
    assert len({panel["id"] for panel in EVERY_PANEL}) == len(EVERY_PANEL)
    for one, other in combinations((panel["gridPos"] for panel in EVERY_PANEL), 2):
        apart = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
        below = one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
        assert apart or below, (one, other)
    for panel in PANELS:
        for target in panel["targets"]:
            shown = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
            groupings = parse(target["expr"]).groupings
            assert shown <= (set().union(*groupings) if groupings else TARGET)
            assert target["datasource"]["uid"] == "${datasource}"


WEB = Key("Deployment", "shop", "web")
APP = Group(Key("ConfigMap", "shop", "app"))
APP.put(WEB, Member(Stage.FAILED, stops=True))


def selected(metrics: Metrics, metric: str, matchers: tuple[Matcher, ...]) -> float:
    """The sum of the samples that a selector finds."""
    families = text_string_to_metric_families(metrics.registry.render().decode())
    return sum(
        sample.value
        for family in families
        for sample in family.samples
        if sample.name == metric
        and all(re.fullmatch(one.value, sample.labels[one.label]) for one in matchers)
    )


@pytest.mark.parametrize(
    ("alert", "told"),
    [
        ("RerollRolloutsFail", (Reason.FAILING, Result.DONE)),
        ("RerollRolloutsFail", (Reason.STUCK, Result.NOTHING)),
        ("RerollRollbackFailed", (Reason.ROLLBACK_FAILED, Result.DONE)),
        ("RerollFlapping", (Reason.FLAPPING, Result.HELD)),
        ("RerollWritesFail", (Reason.REJECTED, Result.FAILED)),
        ("RerollStopped", None),
    ],
)
def test_an_alert_on_rolls_finds_what_it_is_for_and_nothing_else(
    alert: str, told: tuple[Reason, Result] | None
) -> None:
    """No alert of another trouble is raised by it."""
    metrics, groups = Metrics(), list[Group]()
    metrics.leader.set(1)
    metrics.propagations(lambda: groups)
    before, report = raised(metrics), Report(WEB, "1", "apps/v1", *WELL)
    if told:
        reason, result = told
        metrics.report(msgspec.structs.replace(report, reason=reason, result=result))
    else:
        groups.append(APP)
    assert before == set()
    assert raised(metrics) == {alert}


WELL = (Reason.UP_TO_DATE, Reason.UP_TO_DATE.sentence, Result.NOTHING)
ON_ROLLS = (
    "RerollRolloutsFail", "RerollRollbackFailed", "RerollFlapping", "RerollWritesFail",
    "RerollStopped",
)  # fmt: skip


def raised(metrics: Metrics) -> set[str]:
    """Alerts whose one selector finds more than nothing."""
    rules = {alert["alert"]: parse(alert["expr"]).selectors for alert in ALERTS}
    return {name for name in ON_ROLLS for one in rules[name] if selected(metrics, *one) > 0}
