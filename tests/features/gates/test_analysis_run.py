"""The AnalysisRun of a gate: what is copied of templates, and what cannot be made of them."""

from typing import Any

import msgspec
import pytest

from reroll.core.model.gates import Analysis, Phase
from reroll.core.model.key import Key
from reroll.core.observe.analysis_answers import AnalysisTemplate
from reroll.engine.gates import GateId
from reroll.engine.ports import Roll
from reroll.features.gates.analysis_run import TemplateName, Waiting, referred, run_name, run_of

WEB = Key("Deployment", "shop", "web")
ONE = GateId("success", "shop", WEB, Phase.WAITING)
WAITING = Waiting(ONE, WEB, Roll("apps/v1", "Deployment", "uid-1", 7))
INSTANCE = {"argo-rollouts.argoproj.io/controller-instance-id": "blue"}


def template(name: str, labels: dict[str, str] | None = None, **spec: Any) -> AnalysisTemplate:
    metadata = {"name": name, "labels": labels}
    return msgspec.convert({"metadata": metadata, "spec": spec}, AnalysisTemplate)


def metric(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "provider": {"web": {"url": "{{args.service}}"}}, **more}


FIRST = TemplateName("a", False)


def made(question: Analysis, *templates: AnalysisTemplate, cluster: bool = False) -> Any:
    found = {TemplateName(one.metadata.name, cluster): one for one in templates}
    return run_of(question, found, WAITING)


def test_a_run_is_what_its_template_says_with_the_values_of_the_gate() -> None:
    retention = [{"metricName": "m", "limit": 3}]
    one = template(
        "a", INSTANCE, metrics=[metric("m", interval="1s", count=2)], dryRun=[{"metricName": "m"}],
        args=[
            {"name": "service"}, {"name": "port", "value": "80"},
            {"name": "token", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
        ],
        measurementRetention=retention,
    )  # fmt: skip
    found = made(Analysis("a", args={"service": "$workload.$namespace.$kind"}), one)
    assert found["spec"] == {
        "metrics": [metric("m", interval="1s", count=2)],
        "args": [
            {"name": "service", "value": "web.shop.Deployment"},
            {"name": "port", "value": "80"},
            {"name": "token", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
        ],
        "dryRun": [{"metricName": "m"}],
        "measurementRetention": retention,
        "ttlStrategy": {"secondsAfterCompletion": 3600},
    }
    assert found["metadata"] == {
        "name": run_name(ONE, WEB),
        "labels": {"reroll.dev/gate": "success", **INSTANCE},
        "annotations": {"reroll.dev/gate-roll": "7"},
        "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "uid-1"}
        ],
    }


def test_templates_that_it_refers_to_are_merged_as_argo_rollouts_does() -> None:
    refers = [{"templateName": "b"}, {"templateName": "c", "clusterScope": True}]
    one = template("a", metrics=[metric("m")], templates=refers, args=[{"name": "service"}])
    assert list(referred(one)) == [TemplateName("b", False), TemplateName("c", True)]
    other = template("c", metrics=[metric("n")], args=[{"name": "service", "value": "x"}])
    found = run_of(
        Analysis("c", is_cluster=True), {TemplateName("c", True): other, FIRST: one}, WAITING
    )
    assert [one["name"] for one in found["spec"]["metrics"]] == ["m", "n"]
    assert found["spec"]["args"] == [{"name": "service", "value": "x"}]


BAD: dict[str, tuple[Analysis, list[AnalysisTemplate], str]] = {
    "nothing to measure": (Analysis("a"), [template("a")], "AnalysisTemplate a has no metrics"),
    "two of one name": (
        Analysis("a"),
        [template("a", metrics=[metric("m")]), template("b", metrics=[metric("m")])],
        "two metrics of AnalysisTemplate a are called m",
    ),
    "no end": (
        Analysis("a"), [template("a", metrics=[metric("m", interval="1m")])],
        "has an interval and no count, so it never ends; give it a count",
    ),
    "a value is missing": (
        Analysis("a"), [template("a", metrics=[metric("m")], args=[{"name": "service"}])],
        "AnalysisTemplate a needs a value of service; add it to the gate's args",
    ),
    "a value of nothing": (
        Analysis("a", args={"servvice": "x"}), [template("a", metrics=[metric("m")])],
        "AnalysisTemplate a has no arg servvice; remove it",
    ),
    "two values": (
        Analysis("a"),
        [
            template("a", metrics=[metric("m")], args=[{"name": "x", "value": "1"}]),
            template("b", args=[{"name": "x", "value": "2"}]),
        ],
        "have two values for their arg x",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("question", "templates", "why"), BAD.values(), ids=BAD)
def test_what_no_run_can_be_made_of_is_a_sentence(
    question: Analysis, templates: list[AnalysisTemplate], why: str
) -> None:
    with pytest.raises(ValueError, match="AnalysisTemplate") as found:
        made(question, *templates)
    assert why in str(found.value)


def test_a_name_is_the_same_after_a_restart_and_for_nobody_else() -> None:
    long = WEB._replace(name="a.b" * 80)
    ids = [ONE, ONE._replace(gate="other"), ONE._replace(phase=Phase.PROGRESSING)]
    keys = [WEB, WEB._replace(kind="StatefulSet"), WEB._replace(name="web-success"), long]
    names = [run_name(one, key) for one in ids for key in keys]
    assert len(set(names)) == len(names)
    assert names == [run_name(one, key) for one in ids for key in keys]
    assert max(map(len, names)) <= 253
    assert not any("." in name for name in names)
    assert run_name(ONE, WEB).startswith("web-success-waiting-")
