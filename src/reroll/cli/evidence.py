"""What the times of pods and sources say of decisions that leave pods as they are.

The same evidence as `reroll audit` shows, so that no command says the opposite of another.
"""

from collections.abc import Iterable

from reroll.answers.audit.gather import audit
from reroll.core.decide.older_pods import is_open, is_told, older_than_content, weighed
from reroll.core.model.key import Key
from reroll.core.observe.evidence import Finding
from reroll.engine.listing import Listing
from reroll.engine.observer import Decision
from reroll.kube.view import View


async def weigh(view: View, listing: Listing, decisions: Iterable[Decision]) -> list[Decision]:
    """The decisions, with what is known of their pods; nothing is read if none leaves pods."""
    made = list(decisions)
    if not any(one.snapshot and is_open(one.plan) for one in made):
        return made
    # Who may not read pods is told what the records say.
    blind = View(view.client, view.namespace, view.home)
    audited = await audit(blind, None, mounts_are_live=True, read_certificates=False)
    findings: dict[Key, list[Finding]] = {}
    for pod in audited.pods:
        findings.setdefault(pod.workload, []).extend(pod.findings)
    if blind.gaps:
        listing.notes.append(f"whether pods are older than their configuration: {blind.gaps[0]}")
    return [_weighed(listing, one, findings) for one in made]


def _weighed(listing: Listing, one: Decision, findings: dict[Key, list[Finding]]) -> Decision:
    if one.snapshot is None:
        return one
    runner = listing.world.lenders.runner(one.key)
    found = [*findings.get(one.key, ()), *(findings.get(runner, ()) if runner != one.key else ())]
    older = older_than_content(one.snapshot, found)
    plan = weighed(one.plan, one.snapshot, older)
    return one._replace(plan=plan, older=older if is_told(plan) else ())
