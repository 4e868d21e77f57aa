"""The documents of pages about one object: a source, a workload, what is near it."""

from typing import Any

from reroll.dashboard.schema import Button, ChangeUnderWay, Document, Paging, Ref


class SourceWrite(Document):
    """The last time that one manager changed a source."""

    by: str
    at: str
    keys: list[str] | None
    """The keys that are its own; `null` if the user may not know them."""


class SourceUser(Document):
    """A workload that uses a source."""

    workload: Ref
    how: list[str]
    rolls: bool
    """Whether a change of the source rolls it."""
    behind: bool
    """Whether it has not rolled yet with what the source holds now."""
    stage: str
    reason: str = ""
    message: str = ""


class SourceHold(Document):
    """A hold on a source: nothing rolls for it."""

    by: str
    since: str | None
    until: str | None
    why: str


class SourceApproval(Document):
    """What a source holds waits for an approval, or was rejected."""

    content: str
    """The id of the content that is approved or rejected; empty where it must not be shown."""
    state: str
    """`waits`, `overdue` or `rejected`."""
    since: str | None
    workloads: int
    """How many wait for it."""
    by: str = ""
    """Who rejected it."""
    why: str = ""
    guarded: bool | None = None
    """Whether the API server lets only approvers approve; `null`: that may not be looked at."""


class SourcePage(Document):
    """`/api/v1/source/KIND/NAMESPACE/NAME`: who changed it, whom that concerns, who is behind."""

    source: Ref
    missing: bool
    hold: SourceHold | None
    urgent: bool
    """Its changes pass windows, soak times, cooldowns and approvals."""
    approval: SourceApproval | None
    created: str | None
    writes: list[SourceWrite]
    change: ChangeUnderWay | None
    """If a change of it is under way."""
    users: list[SourceUser]
    behind: int
    rolled: int
    """How many users a change rolls."""
    pods: int
    """How many pods those have, as far as that is known."""
    past: list[dict[str, Any]]
    """What rolled for it, as `reroll history -o json` has it, the newest first."""
    paging: Paging
    buttons: list[Button]


class WorkloadPage(Document):
    """`/api/v1/workload/KIND/NAMESPACE/NAME`: all about one workload."""

    workload: Ref
    explain: dict[str, Any]
    """As `reroll explain -o json` has it."""
    history: list[dict[str, Any]]
    """As `reroll history -o json` has it."""
    revisions: list[dict[str, Any]]
    """As `reroll revisions -o json` has them; empty where there are none."""
    buttons: list[Button]
    back: list[Button]
    """One for each revision that it can go back to."""


class GraphNode(Document):
    node: Ref
    source: bool
    missing: bool


class GraphUse(Document):
    source: Ref
    workload: Ref
    how: list[str]
    rolls: bool


class GraphPage(Document):
    """`/api/v1/graph/KIND/NAMESPACE/NAME`: what is near one object, at most 200 objects."""

    root: Ref
    nodes: list[GraphNode]
    uses: list[GraphUse]
    left_out: int
