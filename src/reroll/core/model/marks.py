"""Marks: what a roll writes into a pod template, so that the pods are replaced.

Which marks those are is up to the dialects that opted the workload in. Here is only how one is
written: into the environment of a container, or as an annotation of the template.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import msgspec

from reroll.core.tables.annotations import STAMP
from reroll.core.tables.kinds import HASH, TIME, Stamp


class Mark(msgspec.Struct, frozen=True, gc=False):
    name: str
    value: str | None
    """`None`: it is taken away."""
    container: int | None = None
    """A variable in the environment of this container; `None`: an annotation of the template."""


class Carrier(msgspec.Struct, frozen=True, gc=False):
    """A container, as far as marks go into its environment."""

    name: str
    env: tuple[str, ...] | None
    """The names of its variables, in order; `None` if there is no list."""


def own_mark(place: Stamp, stamp: str, at: datetime) -> Mark:
    """The mark of a kind that has a place of its own for it."""
    value = {HASH: stamp, TIME: written(at)}.get(place.value, place.value)
    return Mark(place.name or STAMP, value)


def written(at: datetime) -> str:
    """With microseconds, because a second roll in the same second has to be another value."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def write_marks(template: dict[str, Any], marks: Iterable[Mark]) -> None:
    """Put marks into a pod template that is a document."""
    for mark in marks:
        if mark.container is None:
            _annotate(template, mark)
        else:
            _set_variable(template["spec"]["containers"][mark.container], mark)


def _annotate(template: dict[str, Any], mark: Mark) -> None:
    metadata = template.setdefault("metadata", {})
    annotations = {**(metadata.get("annotations") or {}), mark.name: mark.value}
    metadata["annotations"] = {name: text for name, text in annotations.items() if text is not None}


def _set_variable(container: dict[str, Any], mark: Mark) -> None:
    env = [dict(variable) for variable in container.get("env") or ()]
    there = next((variable for variable in env if variable["name"] == mark.name), None)
    if mark.value is None:
        env = [variable for variable in env if variable is not there]
    elif there is None:
        env.append({"name": mark.name, "value": mark.value})
    else:
        there.pop("valueFrom", None)
        there["value"] = mark.value
    container["env"] = env
