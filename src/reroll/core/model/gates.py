"""Gates: questions to something outside, whose answers let a roll begin and count as healthy."""

from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

import msgspec

NO_NAMES = "?"
"""Stands for the names of an annotation that cannot be read."""


class NoData(StrEnum):
    """What it means if there is nothing to measure."""

    WAIT = "wait"
    PASS = "pass"  # noqa: S105  a word of the config file
    FAIL = "fail"


class Phase(StrEnum):
    """When a gate is asked; the words are those of Flagger's canaries."""

    WAITING = "Waiting"
    """Before a roll begins."""
    PROGRESSING = "Progressing"
    """While it soaks."""


class Server(msgspec.Struct, frozen=True):
    """Where something is asked, and how we show who we are."""

    url: str
    token_file: str = ""
    ca_file: str = ""


class Matcher(NamedTuple):
    """One condition on the labels of an alert."""

    label: str
    operator: str
    value: str

    def __str__(self) -> str:
        escaped = self.value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return f'{self.label}{self.operator}"{escaped}"'


class Alerts(msgspec.Struct, frozen=True, tag=True):
    """It is closed while an alert fires that all of these match."""

    server: Server
    matchers: tuple[Matcher, ...]
    is_alertmanager: bool = False
    """Ask an Alertmanager, which knows silences, and not a Prometheus."""


class Query(msgspec.Struct, frozen=True, tag=True):
    """It is closed while a value of a query is out of bounds."""

    server: Server
    text: str
    least: float | None = None
    most: float | None = None
    no_data: NoData = NoData.WAIT


class Webhook(msgspec.Struct, frozen=True, tag=True):
    """It is closed unless this says otherwise, in Flagger's protocol."""

    server: Server
    metadata: dict[str, str] = {}


class Analysis(msgspec.Struct, frozen=True, tag=True):
    """It is what an AnalysisRun of Argo Rollouts comes to, made of this template."""

    template: str
    is_cluster: bool = False
    """It is a ClusterAnalysisTemplate."""
    args: dict[str, str] = {}


Question = Alerts | Query | Webhook | Analysis


class Gate(msgspec.Struct, frozen=True):
    """One row of `gates:`."""

    name: str
    question: Question
    every: timedelta = timedelta(seconds=30)
    """From one question to the next; from the end of an AnalysisRun to the next one."""
    timeout: timedelta = timedelta(seconds=10)
    failures: int = 1
    """So many bad answers in a row are a failure of what soaks."""
    per_namespace: bool = False
    """The question names the namespace of the workload."""
    per_workload: bool = False
    """It names the workload itself."""


class Answer(StrEnum):
    OPEN = "open"
    CLOSED = "closed"
    UNKNOWN = "unknown"
    """It could not be measured, which is neither good nor bad."""


class Measured(msgspec.Struct, frozen=True, gc=False):
    """What one question came to."""

    answer: Answer
    why: str = ""
    """What was measured, or why nothing was."""
    is_failure: bool = False
    """It is evidence against what soaks, and not only a reason to wait."""


class GateReading(msgspec.Struct, frozen=True, gc=False):
    """The state of one gate, for one workload."""

    gate: str
    answer: Answer | None = None
    """`None`: it has just been asked."""
    why: str = ""
    at: datetime | None = None
    """Of the last answer."""
    since: datetime | None = None
    """Of the first of those like it in a row."""
    failed: bool = False
    """It was bad so often in a row as its row says."""
    phase: Phase | None = None
    """When it was asked, where the question tells."""
