"""Gates of the config file, and the workloads that name them. Pure."""

from collections.abc import Iterator, Sequence

from reroll.answers.doctor.findings import Check, Finding
from reroll.core.model.gates import NO_NAMES, Analysis, Gate
from reroll.core.model.key import Key
from reroll.core.model.names import several
from reroll.core.policy.policy import Policy
from reroll.core.tables.annotations import DOMAIN

GATES = Check("gates")


def with_analysis(rows: Sequence[Gate]) -> list[str]:
    """The gates that need Argo Rollouts."""
    return [row.name for row in rows if isinstance(row.question, Analysis)]


def judge_gates(
    rows: Sequence[Gate], paced: Sequence[tuple[Key, Policy]], *, has_analysis: bool = True
) -> Iterator[Finding]:
    """`paced`: the workloads that ask for more than all at once, those with gates among them.

    `has_analysis`: AnalysisRuns are served.
    """
    if not has_analysis and (names := with_analysis(rows)):
        yield GATES.problem(
            f"AnalysisRuns are not served, so nothing rolls that names {several(names)}",
            "install Argo Rollouts, or remove these gates",
        )
    known = {row.name for row in rows}
    named = {name for _, policy in paced for name in policy.pace.gates} - {NO_NAMES}
    for name in sorted(named - known):
        users = [str(key) for key, policy in paced if name in policy.pace.gates]
        yield GATES.problem(
            f"the config file has no gate {name}, so nothing rolls that names it: {several(users)}",
            f"add it to `gates:`, or correct {DOMAIN}gates",
        )
    if unused := sorted(known - named):
        yield GATES.note(f"nobody names these gates: {several(unused)}")
    if known and named <= known:
        yield GATES.ok(f"every gate that a workload names is there: {several(sorted(named))}")
