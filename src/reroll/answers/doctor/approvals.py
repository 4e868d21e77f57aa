"""Whether approvals that are asked for are guarded, and hold what they promise."""

from collections.abc import Iterator, Sequence

from reroll.answers.controllers import Survey
from reroll.answers.doctor.findings import Check, Finding
from reroll.core.model.key import Key
from reroll.core.model.names import several
from reroll.core.tables.annotations import APPROVAL, DOMAIN
from reroll.engine.approval_guard import is_guarded
from reroll.engine.configs import every_config
from reroll.kube.view import View
from reroll.settings.table import Settings

APPROVALS = Check("approvals")


async def guarding(view: View, surveyed: Survey, settings: Settings) -> list[Finding]:
    """Whether somebody asks for approvals, and what guards them."""
    near = view.again()
    configs = (await every_config(near)).there
    asking = [str(key) for key, one in configs.items() if APPROVAL in (one.annotations or {})]
    asking += [str(key) for key, _ in surveyed.approved]
    rows = settings.policies.sources
    asking += [row.place for row in rows if row.values.get("approval.required")]
    unpinned = [key for key, policy in surveyed.approved if not policy.revisions]
    return list(judge(asking, unpinned, await is_guarded(view.client) if asking else None))


def judge(
    asking: Sequence[str], unpinned: Sequence[Key], guarded: bool | None
) -> Iterator[Finding]:
    """What to say of approvals.

    `asking`: sources, workloads and rows for which one is required; `unpinned`: of these, the
    workloads without revisions.
    """
    if not asking:
        return
    if guarded is None:
        yield APPROVALS.note("whether the API server guards approvals was not checked")
    elif guarded:
        yield APPROVALS.ok("the API server lets only those approve who have the right")
    else:
        names = several(list(asking))
        yield APPROVALS.problem(
            f"nothing guards the approvals that {names} ask for: whoever may write a source may "
            "approve it",
            "`reroll approvals install`, or the value approvals.enabled of the chart",
        )
    if unpinned:
        yield APPROVALS.note(
            "without revisions, a pod that starts while a content waits for approval reads it "
            f"already: {several([str(key) for key in unpinned])}",
            f'set {DOMAIN}revisions: "true" on them',
        )
