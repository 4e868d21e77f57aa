"""What the record of a roll says of its trial: what is on it, and what was good before it."""

import msgspec

from reroll.core.decide.case import Case
from reroll.core.model.record import BY_HAND, RecordFields, Trial
from reroll.core.observe.health import State
from reroll.core.propagation.member import JUDGED
from reroll.core.propagation.verdict import Verdict
from reroll.core.tables.annotations import STAMP

FINAL = frozenset((Verdict.HEALTHY.value, Verdict.UNJUDGED.value, BY_HAND))
"""Verdicts that stay as they are."""


def trial_fields(case: Case) -> RecordFields:
    """Of the record of a roll: what it is a trial of, and what was good before it."""
    snapshot, record = case.snapshot, case.record
    strategy = snapshot.policy.strategy_for(snapshot.kind)
    if not snapshot.governed or strategy not in JUDGED:
        return {"trial": None, "good": None, "mark": None}
    before = case.trial
    # A trial that said nothing is no excuse: whether it is healthy now tells.
    is_proved = before is None or before.sick or (before.v in FINAL and before.back is None)
    entries = {change.entry for change in case.comparison.changes}
    past = _past(case) - entries
    if before is not None and not is_proved:
        entries |= {entry for entry in before.of if entry in case.comparison.wanted}
    # What else was found healthy is so still, though this roll is for something else.
    proved = before.proved & case.comparison.wanted.keys() if before else frozenset[str]()
    trial = Trial(
        sorted(entries - past),
        sick=is_proved and not _is_well(case),
        past=sorted(past),
        ok=sorted(proved - entries - past),
    )
    if before and not case.comparison.changes:
        trial = msgspec.structs.replace(trial, was=before.was, why=before.why)
    if record is None or not is_proved or trial.sick:
        return {"trial": trial}
    workload = snapshot.workload
    good = snapshot.pins_text or (record.good if record.held else record.pins)
    return {"trial": trial, "good": good, "mark": workload.marks.get(STAMP) if good else None}


def carried_on(case: Case) -> Trial | None:
    """The trial of a roll of ours whose pods have a content that came while it was made.

    Of a template that another writer changed, or that nobody watched, nothing is on trial.
    """
    before, facts, wanted = case.trial, case.snapshot.rollout, case.comparison.wanted
    if before is None or before.back or not case.snapshot.governed:
        return None
    if facts is None or facts.is_foreign or facts.is_unwatched:
        return None
    entries = {change.entry for change in case.comparison.changes}
    proved = (before.proved & wanted.keys()) - entries
    entries |= {entry for entry in before.of if entry in wanted} - proved
    past = sorted({*before.past} - entries)
    return Trial(sorted(entries), sick=before.sick, past=past, ok=sorted(proved))


def _past(case: Case) -> set[str]:
    """The entries that failed, and that its pods go on without."""
    home = case.snapshot.workload.key.namespace
    left = case.pins.withdrawn
    return {one.entry(home) for one in case.snapshot.references if one.source in left}


def _is_well(case: Case) -> bool:
    """Whether it is healthy before the roll; in doubt, yes."""
    facts = case.snapshot.rollout
    if case.snapshot.staged:
        return True  # Its health is that of its canary, which is what is on trial.
    if facts is None:
        return True
    if facts.health.is_unnoticed:
        return facts.health.ready >= facts.health.total
    return facts.health.state is State.DONE
