"""The way back from a content that failed: to the pins, or to the template, of before.

A row of the second chain. Going back waits for nothing but a hold.
"""

import msgspec

from reroll.core.decide.actions import Edit, GoBack, NamePins, Patch, Pin, SetMarks, WriteRecord
from reroll.core.decide.case import Case
from reroll.core.decide.draft import Act, Draft
from reroll.core.decide.pin_state import Pins, text_of
from reroll.core.decide.plan import Plan
from reroll.core.decide.rollback import declined
from reroll.core.decide.spreading import flapping
from reroll.core.model.content import Content
from reroll.core.model.key import Key
from reroll.core.model.marks import Mark
from reroll.core.model.names import several
from reroll.core.model.record import Record, Todo, Trial, successor
from reroll.core.observe.spread import Spread
from reroll.core.propagation.member import goes_back
from reroll.core.propagation.verdict import LONGEST_WHY, Verdict
from reroll.core.revisions.pins import read_pins
from reroll.core.tables.annotations import STAMP
from reroll.core.tables.kinds import Revisions, Strategy
from reroll.core.tables.reasons import Reason

LASTING = frozenset((Strategy.EVICT, Strategy.RELOAD))
"""Strategies that are carried out pod by pod after the record is written."""


def went_bad(case: Case) -> Draft | None:
    """What it rolled with failed, here or elsewhere, and that takes it back."""
    record, trial = case.record, case.trial
    if record is None or trial is None or trial.back or not may_go_back(case):
        return None
    if case.snapshot.staged:
        return None  # That is put back first.
    sources = failed_sources(case, trial)
    if not sources or no_way_back(case, sources):
        return None
    why = _blame(case, trial, sources)
    if case.pins.applies:
        return _back_to_pins(case, record, sources, why)
    taken = declined(case.snapshot, case.now)
    if taken is None:
        return None
    after = msgspec.structs.replace(taken, why=Reason.ROLLED_BACK.word, trial=_gone_back(case, why))
    message = f"{Reason.ROLLED_BACK.sentence}: {why}; {UNPINNED}"
    return Draft(Act.BACK, Plan(Reason.ROLLED_BACK, message, (GoBack(after),)))


UNPINNED = (
    "pods that start from now on read the configuration that failed, because revisions are off"
)


def may_go_back(case: Case) -> bool:
    """Whether nothing else is about to be written that may be the repair.

    A change that was stopped, or that the breaker keeps, is none.
    """
    if case.pins.task is not None or case.is_released:
        return False
    stopped = {one.source for one in case.snapshot.spreads if one.stopped_by}
    changed = {change.reference.source for change in case.comparison.changes}
    return changed <= stopped or flapping(case) is not None


def no_way_back(case: Case, sources: set[Key]) -> str:
    """Why it cannot be taken back from the content of these; nothing if it can."""
    kind, record = case.snapshot.kind, case.record
    if record is not None and case.pins.applies:
        is_there = _good_pins(case, record, sources).items() - case.pins.template.items()
        return "" if is_there else "no copy of what it was last healthy with is left"
    strategy = case.snapshot.policy.strategy_for(kind)
    if strategy in LASTING:
        # With revisions, pods that are only evicted take a template that replaces none by itself.
        may_pin = strategy is Strategy.EVICT and not case.snapshot.workload.replaces_pods
        advice = "turn its revisions on" if may_pin else "use the strategy 'stamp' with revisions"
        return f"strategy {strategy.value!r} leaves its template as it is; {advice}"
    if kind.revisions is Revisions.NONE or not kind.template:
        return f"a {kind.name} keeps no earlier templates; turn its revisions on"
    return ""


def _back_to_pins(case: Case, record: Record, sources: set[Key], why: str) -> Draft:
    pins = case.pins.template | _good_pins(case, record, sources)
    names = several([f"{source.kind.lower()}/{source.name}" for source in sorted(sources)])
    strategy = case.snapshot.policy.strategy_for(case.snapshot.kind)
    after = successor(
        record, case.number, at=case.now, why=Reason.ROLLED_BACK.word, rolled=case.now,
        todo=Todo(strategy.value, case.now) if strategy in LASTING else None,
        held=case.now, trial=_gone_back(case, why), good=text_of(pins),
    )  # fmt: skip
    marks: tuple[Edit, ...] = ()
    if strategy is Strategy.STAMP and STAMP in case.snapshot.workload.marks:
        marks = (SetMarks((Mark(STAMP, record.mark),)),)
    patch = Patch((WriteRecord(after, unless_held=True), Pin(text_of(pins)), *marks))
    message = f"{Reason.ROLLED_BACK.sentence}: {names}; {why}"
    actions = (NamePins(text_of(pins)), patch)
    return Draft(Act.BACK, Plan(Reason.ROLLED_BACK, message, actions, strategy=strategy))


def _good_pins(case: Case, record: Record, sources: set[Key]) -> Pins:
    """Of these sources; a copy that is gone would keep every pod from starting."""
    snapshot = case.snapshot
    home, good = snapshot.workload.key.namespace, read_pins(record.good or "")
    return {
        source: good[source.kind, source.name]
        for source in sources
        if (source.kind, source.name) in good
        and Key(source.kind, home, good[source.kind, source.name]) not in snapshot.copies_missing
    }


def _gone_back(case: Case, why: str) -> Trial | None:
    trial = case.trial
    if trial is None:
        return None
    return msgspec.structs.replace(trial, back=case.now, why=trial.why or why[:LONGEST_WHY])


def failed_sources(case: Case, trial: Trial) -> set[Key]:
    """The sources on trial whose content failed, and that a workload is taken back from."""
    snapshot, home = case.snapshot, case.snapshot.workload.key.namespace
    elsewhere = {spread.source for spread in _failures(case)} if not trial.was else set()
    found = set()
    for reference in snapshot.references:
        source = reference.source
        if reference.entry(home) not in trial.of:
            continue
        content = snapshot.sources.get(source)
        pace = content.pace if isinstance(content, Content) else None
        has_failed = trial.v == Verdict.FAILED or source in elsewhere
        if has_failed and goes_back(snapshot.policy.pace, source, pace):
            found.add(source)
    return found


def _failures(case: Case) -> list[Spread]:
    """Contents that it has, and that definitely failed elsewhere."""
    changed = {change.reference.source for change in case.comparison.changes}
    return [
        spread
        for spread in case.snapshot.spreads
        if spread.stopped_by and spread.is_definite and spread.source not in changed
    ]


def _blame(case: Case, trial: Trial, sources: set[Key]) -> str:
    if trial.v == Verdict.FAILED:
        return trial.why
    spread = next(one for one in _failures(case) if one.source in sources)
    return spread.blame(case.snapshot.workload.key.namespace)
