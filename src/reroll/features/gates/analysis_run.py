"""The AnalysisRun that is made for a gate, out of templates of Argo Rollouts.

Pure. It is made as the controller of Argo Rollouts makes those of its Rollouts: what templates
measure is copied, and what they refer to is merged. A `ValueError` says why there can be none.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from reroll.core.model.gates import Analysis
from reroll.core.model.key import Key
from reroll.core.model.names import several
from reroll.core.model.podspec import given
from reroll.core.observe.analysis_answers import AnalysisTemplate
from reroll.core.tables.annotations import GATE, GATE_ROLL
from reroll.engine.gates import GateId
from reroll.engine.ports import Roll
from reroll.features.gates.questions import named
from reroll.kube.resources import ANALYSIS_RUNS

Document = dict[str, Any]
MOST_TEMPLATES = 16
KEPT = 3600
"""Seconds after its end, then Argo Rollouts deletes it."""
_INSTANCE = "argo-rollouts.argoproj.io/controller-instance-id"
_LONGEST_NAME = 200


class TemplateName(NamedTuple):
    name: str
    is_cluster: bool

    def __str__(self) -> str:
        return f"{'Cluster' if self.is_cluster else ''}AnalysisTemplate {self.name}"


class Waiting(NamedTuple):
    """Who waits for a run."""

    one: GateId
    key: Key
    roll: Roll


def run_name(one: GateId, key: Key) -> str:
    """The same after a restart: there is one run for a gate, a workload and a phase."""
    phase = str(one.phase or "").lower()
    whole = f"{key.kind}/{key.namespace}/{key.name}/{one.gate}/{phase}"
    digest = hashlib.sha256(whole.encode()).hexdigest()[:8]
    return f"{key.name.replace('.', '-')}-{one.gate}-{phase}"[:_LONGEST_NAME] + f"-{digest}"


def referred(template: AnalysisTemplate) -> Iterator[TemplateName]:
    """The templates that it is combined with."""
    for row in given(template.spec.templates):
        yield TemplateName(str(row.get("templateName", "")), bool(row.get("clusterScope")))


def run_of(
    question: Analysis, found: Mapping[TemplateName, AnalysisTemplate], waiting: Waiting
) -> Document:
    """`found`: the template that the gate names first, and those that it refers to."""
    templates = [found[name] for name in sorted(found, key=lambda name: name.is_cluster)]
    metrics = [one for template in templates for one in given(template.spec.metrics)]
    _check(metrics, next(iter(found)))
    merged = {
        "metrics": metrics,
        "args": _args(templates, question, waiting.one, next(iter(found))),
        "dryRun": [one for each in templates for one in given(each.spec.dry_run)],
        "measurementRetention": [
            one for each in templates for one in given(each.spec.measurement_retention)
        ],
    }
    spec = {name: value for name, value in merged.items() if value}
    return {
        "apiVersion": ANALYSIS_RUNS.api_version,
        "kind": ANALYSIS_RUNS.kind,
        "metadata": _metadata(waiting, templates),
        "spec": {**spec, "ttlStrategy": {"secondsAfterCompletion": KEPT}},
    }


def _metadata(waiting: Waiting, templates: Sequence[AnalysisTemplate]) -> Document:
    roll, labels = waiting.roll, {GATE: waiting.one.gate}
    for each in templates:
        if instance := (each.metadata.labels or {}).get(_INSTANCE):
            labels[_INSTANCE] = instance
    # Not as its controller: the runs that a Rollout controls are its own, and it ends others.
    owner = {
        "apiVersion": roll.api_version,
        "kind": roll.kind,
        "name": waiting.key.name,
        "uid": roll.uid,
    }
    return {
        "name": run_name(waiting.one, waiting.key),
        "labels": labels,
        "annotations": {GATE_ROLL: str(roll.number)},
        "ownerReferences": [owner],
    }


def _check(metrics: Sequence[Document], first: TemplateName) -> None:
    names = Counter(str(one.get("name", "")) for one in metrics)
    if not metrics:
        raise ValueError(f"{first} has no metrics")
    if twice := [name for name, times in names.items() if times > 1]:
        raise ValueError(f"two metrics of {first} are called {several(twice)}; rename one")
    endless = [str(one.get("name", "")) for one in metrics if _is_endless(one)]
    if endless:
        raise ValueError(
            f"{several(endless)} of {first} has an interval and no count, so it never ends; "
            "give it a count"
        )


def _is_endless(metric: Document) -> bool:
    return bool(metric.get("interval")) and metric.get("count") in (None, 0, "0", "")


def _args(
    templates: Iterable[AnalysisTemplate], question: Analysis, one: GateId, first: TemplateName
) -> list[Document]:
    found: dict[str, Document] = {}
    for arg in (arg for template in templates for arg in given(template.spec.args)):
        name, value = str(arg.get("name", "")), arg.get("value")
        before = found.get(name, {}).get("value")
        if before is not None and value is not None and before != value:
            raise ValueError(f"templates of {first} have two values for their arg {name}")
        if before is None:
            found[name] = arg
    if strange := sorted(question.args.keys() - found.keys()):
        raise ValueError(f"{first} has no arg {several(strange)}; remove it from the gate's args")
    for name, text in question.args.items():
        found[name] = {"name": name, "value": named(text, one)}
    lacking = [name for name, arg in found.items() if not ("value" in arg or arg.get("valueFrom"))]
    if lacking:
        raise ValueError(f"{first} needs a value of {several(lacking)}; add it to the gate's args")
    return list(found.values())
