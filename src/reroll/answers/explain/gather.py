"""Gathers what is told of one workload: who wrote what it uses, and what decided what."""

from datetime import datetime

from reroll.answers.errors import AnswerError
from reroll.answers.explain.document import Explained
from reroll.answers.explain.explain import explain
from reroll.answers.explain.provenance import provenance
from reroll.core.dialects.rows import PolicyInput
from reroll.core.model.key import Key
from reroll.core.observe.snapshot import Absence
from reroll.engine.circumstances import Judged
from reroll.engine.configs import writes_of
from reroll.engine.listing import Listing
from reroll.engine.scope import scope
from reroll.kube.view import View
from reroll.settings.table import Settings


async def explained(
    view: View, listing: Listing, one: Judged, settings: Settings, now: datetime
) -> Explained:
    key, snapshot, situation = one.key, one.decision.snapshot, one.situation
    if snapshot is None or situation is None:
        raise AnswerError(f"{key} is gone, or the workload of another one")
    listed, world, workload = listing.workloads[key], listing.world, snapshot.workload
    used = {Key(use.kind, key.namespace, use.name) for use in workload.uses}
    used |= {reference.source for reference in snapshot.references}
    refused = {key for key, held in snapshot.sources.items() if held is Absence.FORBIDDEN}
    known = await writes_of(view, used - refused)
    info = world.namespaces.that_counts(key.namespace)
    usual, labels = scope(settings), listed.manifest.metadata.labels or {}
    told = PolicyInput(
        key,
        listed.kind,
        workload.annotations,
        workload.template_annotations,
        info.annotations if info else {},
        usual.default_for(key, labels),
    )
    rows = usual.origins(key, labels)
    because = provenance(told, listed.policy, world.dialects, rows)
    explanation = explain(snapshot, situation.plan, known, now, world.dialects)
    return Explained(snapshot, explanation, situation, because, now)
