"""What a person does from a page: as the user, by the commands' code.

Each action is a row: what does it, and to what it can be done.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple

from reroll.answers.errors import AnswerError
from reroll.core.model.key import Key
from reroll.core.model.record import ABORTED, PROMOTED
from reroll.core.policy.approval import LONGEST_WHY
from reroll.dashboard.buttons import WORDS
from reroll.dashboard.desk import Desk
from reroll.dashboard.overview import Overview
from reroll.dashboard.sessions import Notice
from reroll.kube import resources, wire
from reroll.kube.errors import ApiError
from reroll.pipeline.hold import HoldError, value_of
from reroll.pipeline.refused import RefusedError

LONGEST = 500
"""Characters of a reason that somebody gives."""
Form = Mapping[str, str]


class Subject(NamedTuple):
    """What something is done to."""

    resource: wire.Resource
    key: Key
    is_workload: bool


Act = Callable[[Desk, Subject, Form], Awaitable[Notice]]


class Action(NamedTuple):
    act: Act
    to_workloads: bool = True
    to_sources: bool = True


async def act(desk: Desk, seen: Overview, action: str, form: Form) -> Notice:
    """Do it, and say in a sentence what came of it."""
    key = Key(form.get("kind", ""), form.get("namespace", ""), form.get("name", ""))
    row, subject = ACTIONS[action], _subject(seen, key)
    if subject is None or not (row.to_workloads if subject.is_workload else row.to_sources):
        return Notice(f"There is no {key} any more; nothing was done.", is_bad=True)
    if len(form.get("reason", "")) > LONGEST:
        return Notice(f"A reason has at most {LONGEST} characters.", is_bad=True)
    for field in WORDS[action].needs:
        if not form.get(field, "").strip():
            return Notice(f"{field}: say it in words; nothing was done.", is_bad=True)
    try:
        return await row.act(desk, subject, form)
    except HoldError as error:
        field, _, said = str(error).partition(": ")
        return Notice(f"{field.removeprefix('--')}: {said}.", is_bad=True)
    except (ApiError, AnswerError, RefusedError) as error:
        return Notice(f"{error}", is_bad=True)


def _subject(seen: Overview, key: Key) -> Subject | None:
    """A workload, or a source that a workload uses."""
    kind = seen.kinds.get(key.kind)
    if kind is not None and key in seen.graph.workloads:
        return Subject(resources.of(kind), key, is_workload=True)
    is_used = any(edge.source == key for edge in seen.graph.edges)
    resource = resources.CONFIGS.get(key.kind)
    return Subject(resource, key, is_workload=False) if resource and is_used else None


def _reason(form: Form) -> str:
    return " ".join(form.get("reason", "").split())


# Holds


async def _hold(desk: Desk, subject: Subject, form: Form) -> Notice:
    value = value_of(form.get("until") or None, form.get("reason", ""), desk.clock.now())
    return await _annotate(desk, subject, value)


async def _release(desk: Desk, subject: Subject, form: Form) -> Notice:  # noqa: ARG001
    return await _annotate(desk, subject, None)


async def _annotate(desk: Desk, subject: Subject, value: str | None) -> Notice:
    resource, key, _ = subject
    result = await desk.write(lambda cluster: cluster.hold(resource, key, value))
    if result.problem:
        return Notice(result.problem, is_bad=True)
    return Notice(f"{'Released' if value is None else 'Held'}: {key}.")


# Sources


async def _approve(desk: Desk, subject: Subject, form: Form) -> Notice:
    return await _rule(desk, subject, form, "")


async def _reject(desk: Desk, subject: Subject, form: Form) -> Notice:
    return await _rule(desk, subject, form, _reason(form)[:LONGEST_WHY])


async def _rule(desk: Desk, subject: Subject, form: Form, why: str) -> Notice:
    """Only of the content that the page showed."""
    content = form.get("content", "")
    await desk.write(lambda cluster: cluster.rule(subject.key, content, why))
    return Notice(f"{'Rejected' if why else 'Approved'}: {subject.key}.")


async def _urgent(desk: Desk, subject: Subject, form: Form) -> Notice:  # noqa: ARG001
    await desk.write(lambda cluster: cluster.call_urgent(subject.key, is_urgent=True))
    return Notice(f"Urgent from now on: {subject.key}.")


async def _calm(desk: Desk, subject: Subject, form: Form) -> Notice:  # noqa: ARG001
    await desk.write(lambda cluster: cluster.call_urgent(subject.key, is_urgent=False))
    return Notice(f"No longer urgent: {subject.key}.")


# Workloads


async def _restart(desk: Desk, subject: Subject, form: Form) -> Notice:
    key, why = subject.key, _reason(form)
    problem = await desk.write(lambda cluster: cluster.restart(key, why))
    return Notice(f"{problem}.", is_bad=True) if problem else Notice(f"Restarted: {key}.")


async def _use(desk: Desk, subject: Subject, form: Form) -> Notice:
    key, revision = subject.key, form.get("revision", "")
    return Notice(await desk.write(lambda cluster: cluster.use(key, revision)))


async def _promote(desk: Desk, subject: Subject, form: Form) -> Notice:  # noqa: ARG001
    await desk.write(lambda cluster: cluster.decide_canary(subject.key, PROMOTED))
    return Notice(f"Promoted: {subject.key} rolls with what its canary tries.")


async def _abort(desk: Desk, subject: Subject, form: Form) -> Notice:  # noqa: ARG001
    await desk.write(lambda cluster: cluster.decide_canary(subject.key, ABORTED))
    return Notice(f"Aborted: the canary of {subject.key} goes.")


ACTIONS: Mapping[str, Action] = {
    "hold": Action(_hold),
    "release": Action(_release),
    "approve": Action(_approve, to_workloads=False),
    "reject": Action(_reject, to_workloads=False),
    "urgent": Action(_urgent, to_workloads=False),
    "calm": Action(_calm, to_workloads=False),
    "restart": Action(_restart, to_sources=False),
    "use": Action(_use, to_sources=False),
    "promote": Action(_promote, to_sources=False),
    "abort": Action(_abort, to_sources=False),
}
