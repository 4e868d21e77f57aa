"""Stories: a fleet, what happens to it and when, and how it must end."""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import NamedTuple

import msgspec
from tests.simulation.deployments import Values
from tests.simulation.laws import BrokenLawError, record
from tests.simulation.model import NAMESPACE, Model
from tests.simulation.virtual_time import run

from reroll.controller import bugs
from reroll.core.model.pace import Limits
from reroll.settings.table import Settings


class Step(NamedTuple):
    wait: float
    """Seconds until it happens."""
    what: str
    which: int = 0
    """The workload, or the content."""


@dataclass
class Story:
    size: int = 4
    pace: dict[str, str] = field(default_factory=dict)
    """Annotations of all workloads."""
    source: dict[str, str] = field(default_factory=dict)
    """And of the source."""
    waves: int = 1
    limits: Limits = field(default_factory=Limits)
    second: bool = False
    """Every other workload uses another source too."""
    standby: bool = False
    faults: float = 0.0
    steps: tuple[Step, ...] = ()
    seed: int = 0


def tell(story: Story) -> Model:
    """The model at the end; `BrokenLawError` if it went wrong."""
    before = dict(bugs.counts())
    model = run(_told(story))
    if bugs.counts() != before:
        raise BrokenLawError("the controller met an error that no code expected")
    return model


async def _told(story: Story) -> Model:
    model = await stage(story)
    for step in story.steps:
        await model.pass_time(step.wait)
        await _ACTS[step.what](model, story, step.which)
    await model.settle()
    check_quiet(model, story)
    heal(model)
    await model.settle()
    check_healed(model)
    return model


async def stage(story: Story) -> Model:
    """The fleet, adopted and at rest."""
    settings = msgspec.structs.replace(
        Settings(), limits=story.limits, debounce=timedelta(seconds=0.5)
    )
    model = Model(settings, seed=story.seed)
    model.deployments.is_well = is_well
    model.source("app", **story.source)
    model.source("other")
    for number in range(story.size):
        _add(model, story, number)
    await model.start(standby=story.standby)
    await model.settle(quiet=60)
    faults = model.faults
    faults.lost = faults.unanswered = faults.conflict = story.faults
    return model


def is_well(name: str, values: Values) -> bool:
    """`bad` is bad for all, `bad-3` for those whose number ends so."""
    return not any(
        text.startswith("bad") and name.endswith(text.removeprefix("bad").removeprefix("-"))
        for text in values.values()
    )


def _add(model: Model, story: Story, number: int) -> None:
    uses = ("app", "other") if story.second and number % 2 else ("app",)
    wave = {"wave": str(number % story.waves)} if story.waves > 1 else {}
    model.workload(_name(number), uses, replicas=1 + number % 2, **story.pace, **wave)


def _name(number: int) -> str:
    return f"web-{number}"


# What happens


async def _good(model: Model, _: Story, which: int) -> None:
    model.change(f"good-{which}")


async def _bad(model: Model, story: Story, which: int) -> None:
    model.change(f"bad-{which % story.size}" if which % 3 else "bad")


async def _other(model: Model, _: Story, which: int) -> None:
    model.change(f"other-{which}", "other")


async def _kill(model: Model, *_: object) -> None:
    await model.kill()


async def _delete(model: Model, story: Story, which: int) -> None:
    model.delete(_name(which % story.size))


async def _make(model: Model, story: Story, which: int) -> None:
    if _name(which % story.size) not in model.names():
        _add(model, story, which % story.size)


async def _scale(model: Model, story: Story, which: int) -> None:
    model.edit(_name(which % story.size), {"spec": {"replicas": which % 3}})


async def _pause(model: Model, story: Story, which: int) -> None:
    model.edit(_name(which % story.size), {"spec": {"paused": True}})


async def _go_on(model: Model, story: Story, which: int) -> None:
    model.edit(_name(which % story.size), {"spec": {"paused": None}})


async def _hold(model: Model, story: Story, which: int) -> None:
    model.annotate(_name(which % story.size), hold="true")


async def _let_go(model: Model, story: Story, which: int) -> None:
    model.annotate(_name(which % story.size), hold=None)


async def _deploy(model: Model, story: Story, which: int) -> None:
    model.deploy(_name(which % story.size), which)


async def _deploy_meanwhile(model: Model, story: Story, which: int) -> None:
    await model.kill(lambda: model.deploy(_name(which % story.size), which))


_ACTS = {
    "good": _good, "bad": _bad, "other": _other, "kill": _kill, "delete": _delete, "make": _make,
    "scale": _scale, "pause": _pause, "go on": _go_on, "hold": _hold, "let go": _let_go,
}  # fmt: skip
ACTS = tuple(_ACTS)
"""What stories that are known by a number are made of."""
_ACTS |= {"deploy": _deploy, "deploy meanwhile": _deploy_meanwhile}
ALL_ACTS = tuple(_ACTS)
LIMITS = ("all", "one", "2", "50%", "doubling")


# How it ends


def heal(model: Model) -> None:
    """Nothing is in the way any more, and what the sources hold is good for all."""
    for name in model.names():
        body = {"metadata": {"annotations": {"reroll.dev/hold": None}}}
        model.edit(name, {**body, "spec": {"paused": None, "replicas": 1}})
    model.change("healed")
    model.change("healed too", "other")


def check_healed(model: Model) -> None:
    """None is left behind, and none is still waited for."""
    for name in model.names():
        document = model.store.all("deployments")[NAMESPACE, name]
        found, trial = model.values(name), record(document).get("trial") or {}
        wanted = {key: text for key, text in _WANTED.items() if key in (found or {})}
        if not found or found != wanted:
            raise BrokenLawError(f"{name} was left behind with {found}: {record(document)}")
        if trial and not (trial.get("v") or trial.get("sick")):
            raise BrokenLawError(f"nothing became of the trial of {name}: {record(document)}")


_WANTED = {"app": "healed", "other": "healed too"}


def check_quiet(model: Model, story: Story) -> None:
    """What failed is undone where that was asked for; nothing serves what hurts it."""
    for name in model.names():
        state = model.deployments.states[NAMESPACE, name]
        document = model.store.all("deployments")[NAMESPACE, name]
        found = record(document)
        trial = found.get("trial") or {}
        is_people = name in model.laws.people or document["spec"].get("paused")
        if is_people or not document["spec"]["replicas"] or trial.get("sick"):
            continue
        is_sick = state.now is not None and not state.now.ready
        if is_sick and trial and not (trial.get("b") or trial.get("v")):
            raise BrokenLawError(f"{name} is sick, and has no verdict: {found}")
        goes_back = story.pace.get("on_failure") == "rollback" and "revisions" in story.pace
        if is_sick and goes_back:
            raise BrokenLawError(f"{name} failed, and was not taken back: {found}")
