"""What came of one reconciliation, and what one step of it ended with."""

from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple

from reroll.controller.report import Report, Result, change_id
from reroll.core.decide.actions import Action
from reroll.core.decide.plan import Plan
from reroll.core.decide.roll import done
from reroll.core.model.content import Content
from reroll.core.model.digest import content_digest
from reroll.core.model.key import Key, Problem
from reroll.core.observe.snapshot import Snapshot
from reroll.core.tables.kinds import Strategy
from reroll.core.tables.reasons import Reason
from reroll.engine.concern import concerned
from reroll.engine.strategies.job_documents import name_of_run
from reroll.kube import resources
from reroll.kube.errors import ApiError

SLOWLY = 30.0
"""Seconds to wait at least before asking again for what a person has to allow."""


class Outcome(NamedTuple):
    reports: tuple[Report, ...] = ()
    delay: float | None = None
    """Seconds until it is worth another look; `None`: an event says when."""
    error: ApiError | None = None
    """Why it failed, if it did."""
    gone: bool = False
    """There is no such workload, or it is not managed any more."""
    late: float | None = None
    """Seconds until a rollout takes too long, for whoever is there then."""

    @property
    def report(self) -> Report | None:
        """The last one, which says what came of it."""
        return self.reports[-1] if self.reports else None


class Turn(NamedTuple):
    """A plan that is being carried out."""

    snapshot: Snapshot
    plan: Plan
    pods: int | None = None
    """How many pods there were when it was written, where that is known."""
    answered: datetime | None = None
    """When that was; `None`: nothing was written."""

    @property
    def key(self) -> Key:
        return self.snapshot.workload.key


# How an action ends


class Done(NamedTuple):
    """The next action follows."""

    again: float | None = None
    """Look again after so many seconds, once all is done."""
    pods: int | None = None
    answered: datetime | None = None
    """See `Turn` for both."""


class Amended(NamedTuple):
    """Done, and now it is known what the actions after it have to be."""

    amend: Callable[[tuple[Action, ...]], tuple[Action, ...]] = lambda rest: rest
    problems: tuple[Problem, ...] = ()


class Later(NamedTuple):
    """It is not done yet, and there is nothing to report."""

    seconds: float


class Blocked(NamedTuple):
    """Something that people should know stands in the way."""

    reason: Reason
    message: str
    seconds: float


class TakenOver(NamedTuple):
    """Another worker brings it to its end, and reports."""


Step = Done | Amended | Later | Blocked | TakenOver


# Reports


def report_of(turn: Turn, result: Result) -> Report:
    """What there is to say about a plan that came to this."""
    snapshot, plan = turn.snapshot, turn.plan
    sources = concerned(snapshot, plan)
    starts_job = plan.strategy is Strategy.TRIGGER
    job = name_of_run(snapshot.workload, plan.changes) if starts_job and plan.changes else ""
    return Report(
        key=turn.key,
        uid=snapshot.workload.uid,
        api_version=resources.of(snapshot.kind).api_version,
        reason=plan.reason,
        message=plan.message,
        result=result,
        done=done(plan, job, turn.pods) if result is Result.DONE else "",
        strategy=plan.strategy.value if plan.strategy else "",
        sources=sources,
        stamp=plan.stamp,
        problems=plan.problems,
        change=change_of(snapshot, sources),
        calls=plan.calls,
    )


def change_of(snapshot: Snapshot, sources: tuple[Key, ...]) -> str:
    """The change that it is about, by what the sources hold as a whole."""
    contents = []
    for source in sources:
        content, key_id = snapshot.sources.get(source), snapshot.keys.current
        digest = content_digest(source, content, key_id) if isinstance(content, Content) else None
        contents.append((source, digest or ""))
    return change_id(contents)


def words_of(error: Exception) -> str:
    """What people are told of an error; one that nothing expected may quote a value."""
    if isinstance(error, ApiError):
        return str(error)
    return f"{type(error).__name__}, which is a bug; the log line `bug` has the place in the code"
