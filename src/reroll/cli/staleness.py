"""What the times of pods and sources say of decisions that leave pods as they are.

They are judged as `reroll audit` judges them, so that no command says the opposite of another.
"""

from collections.abc import Iterable

from reroll.answers.audit.gather import judged
from reroll.answers.configs import writes_of
from reroll.core.decide.older_pods import is_open, is_told, older_than_content, sources_of, weighed
from reroll.core.model.key import Key
from reroll.core.observe.provenance import Writes
from reroll.core.observe.staleness import Finding
from reroll.engine.listing import Listing
from reroll.engine.observer import Decision
from reroll.kube.view import View


async def weigh(view: View, listing: Listing, decisions: Iterable[Decision]) -> list[Decision]:
    """The decisions, with what is known of their pods; nothing is read if none leaves pods."""
    made = list(decisions)
    if not any(one.snapshot and is_open(one.plan) for one in made):
        return made
    apart = View(view.client, view.namespace, view.home)
    seen = [one.snapshot for one in made if one.snapshot and is_open(one.plan)]
    sources = {reference.source for snapshot in seen for reference in snapshot.references}
    written = await writes_of(apart, sources)

    def known(source: Key) -> Writes | None:
        if source not in sources:
            raise KeyError(source)
        return written.get(source)

    findings: dict[Key, list[Finding]] = {}
    for pod in await judged(apart, None, known):
        findings.setdefault(pod.workload, []).extend(pod.findings)
    if apart.gaps:  # Who may not read pods is told what the records say.
        listing.notes.append(f"whether pods are older than their configuration: {apart.gaps[0]}")
    return [_weighed(listing, one, findings) for one in made]


def _weighed(listing: Listing, one: Decision, findings: dict[Key, list[Finding]]) -> Decision:
    if one.snapshot is None:
        return one
    runner = listing.world.lenders.runner(one.key)
    found = [*findings.get(one.key, ()), *(findings.get(runner, ()) if runner != one.key else ())]
    older = older_than_content(one.snapshot, found)
    plan = weighed(one.plan, one.snapshot, older)
    return one._replace(plan=plan, older=sources_of(older) if is_told(plan) else ())
