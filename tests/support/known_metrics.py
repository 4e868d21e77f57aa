"""Every metric that the controller serves, with its labels: out of its own registry."""

from typing import NamedTuple

from reroll.controller.metrics import Metrics


class Known(NamedTuple):
    type: str
    labels: tuple[str, ...]
    text: str


def known_metrics() -> dict[str, Known]:
    """By name, as people write it in a query; a histogram by the name of its family."""
    return {
        family.name: Known(family.kind, family.labels, family.text)
        for family in sorted(Metrics().registry.families, key=lambda family: family.name)
        if family.name.startswith("reroll_")  # the rest is of the process, as every program has it
    }
