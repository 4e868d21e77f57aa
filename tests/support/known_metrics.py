"""Every metric that the controller serves, with its labels: out of its own registry."""

from typing import NamedTuple

from prometheus_client.metrics import MetricWrapperBase

from reroll.controller.metrics import Metrics, Watched


class Known(NamedTuple):
    type: str
    labels: tuple[str, ...]
    text: str


def known_metrics() -> dict[str, Known]:
    """By name, as people write it in a query; a histogram by the name of its family."""
    metrics = Metrics()
    metrics.watches(lambda: [Watched("configmaps", 0.0, "watching")])
    declared = {
        one._name: tuple(one._labelnames)
        for one in metrics.registry._collector_to_names
        if isinstance(one, MetricWrapperBase)
    }
    found = {}
    for family in metrics.registry.collect():
        if not family.name.startswith("reroll_"):
            continue  # of the process, which every program has
        labels = declared.get(family.name)
        if labels is None:
            labels = tuple(dict.fromkeys(name for s in family.samples for name in s.labels))
        name = f"{family.name}_total" if family.type == "counter" else family.name
        found[name] = Known(family.type, labels, family.documentation)
    return dict(sorted(found.items()))
