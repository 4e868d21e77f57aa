"""What can be done to a source: approve, reject, hold, release, call it urgent or no longer so."""

from typing import NamedTuple

from reroll.answers.documents import moment
from reroll.core.model.key import Key
from reroll.dashboard import buttons
from reroll.dashboard.buttons import button, lacking
from reroll.dashboard.cluster import SourceFacts
from reroll.dashboard.desk import Desk
from reroll.dashboard.overview import Overview, Waits
from reroll.dashboard.schema import Button
from reroll.dashboard.schema_objects import SourceApproval
from reroll.engine.approval_objects import GROUP, RESOURCE, VERB
from reroll.kube import resources
from reroll.kube.wire import Resource

APPROVALS = Resource(GROUP, "v1", RESOURCE, "Approval")
"""A name for RBAC alone: there is no such API."""
GUARDED_FOR = 60.0


class Rights(NamedTuple):
    """Why the user may not do something; empty: they may."""

    patch: str
    approve: str
    guarded: bool | None


async def rights(desk: Desk, key: Key, facts: SourceFacts) -> Rights:
    resource = resources.CONFIGS.get(key.kind)
    if resource is None:
        why = f"a {key.kind} cannot be changed from here"
        return Rights(why, why, None)
    if facts.writes is None:
        why = "it is not there, or may not be read"
        return Rights(why, why, None)
    guarded = await desk.ask("guarded", GUARDED_FOR, lambda cluster: cluster.guarded())
    patches, approves = await desk.may(
        [("patch", resource, key.namespace), (VERB, APPROVALS, key.namespace)]
    )
    patch = "" if patches else lacking("patch", resource, key.namespace)
    is_kept_out = guarded is not False and not approves
    approve = lacking(VERB, APPROVALS, key.namespace) if is_kept_out else ""
    return Rights(patch, patch or approve, guarded)


def source_buttons(
    seen: Overview, key: Key, facts: SourceFacts, may: Rights, rolled: int
) -> list[Button]:
    """Pure."""
    behind = seen.behind.get(key, frozenset())
    found = _of_approval(seen, key, may)
    if facts.holder:
        found.append(button("release", may.patch, buttons.releases_source(seen, behind)))
    else:
        found.append(button("hold", may.patch, buttons.holds_source(rolled)))
    if facts.is_urgent:
        found.append(button("calm", may.approve, buttons.CALMS))
    else:
        found.append(button("urgent", may.approve, buttons.calls_urgent(seen, behind)))
    return found


def _of_approval(seen: Overview, key: Key, may: Rights) -> list[Button]:
    waits = seen.waiting.get(key)
    if waits is None:
        return []
    content = waits.what.content
    why = may.approve or ("" if content else "its content must not be named here")
    effect = buttons.approves(seen, waits.workloads)
    found = [button("approve", why, effect, content=content)]
    if not waits.what.rejected:
        found.append(button("reject", why, buttons.rejects(waits.workloads), content=content))
    return found


def approval_of(desk: Desk, waits: Waits | None, guarded: bool | None) -> SourceApproval | None:
    if waits is None:
        return None
    what = waits.what
    return SourceApproval(
        content=what.content,
        state=waits.state(desk.clock.now()),
        since=moment(what.since),
        by=what.rejected.by if what.rejected else "",
        why=what.rejected.why if what.rejected else "",
        workloads=len(waits.workloads),
        guarded=guarded,
    )
