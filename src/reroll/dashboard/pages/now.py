"""The first page: what is under way, and what needs somebody now. Pure."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from reroll.answers.documents import moment
from reroll.core.model.key import Key
from reroll.core.observe.pods import Progress
from reroll.core.tables.reasons import Reason
from reroll.dashboard.overview import Facts, Overview, Waits, key_of
from reroll.dashboard.paging import Query, paged
from reroll.dashboard.schema import ChangeUnderWay, Chip, Need, NowPage, Ref, Roll, Unapproved, Wave

CHANGES = 20
CHIPS = 24
"""Chips of one wave that are drawn."""
QUIET = frozenset(("healthy", "next"))
"""Stages that say nothing which the counts do not say."""
FEW = 6
"""Chips of those in a wave that has more than are drawn."""
ROLLS = 24
_URGENT = ("failed", "stuck", "rollback failed", "rolled back", "under way", "held", "next")
"""Stages, those that are drawn first at the front."""
_WORDS = {reason.word: reason for reason in Reason}
_FAILING = frozenset(one.word for one in (Reason.FAILING, Reason.ROLLBACK_FAILED, Reason.STUCK))
_BACK = Reason.ROLLED_BACK.word
_NOTICED = frozenset(one.word for one in (Reason.DECLINED, Reason.PODS_OLDER))
STATES = ("up to date", "rolling", "held", "failing", "rolled back", "behind")
_SEEN_FIRST = ("rolling", "failing")
"""States that are known before what workloads use is read."""
LEVELS = ("failing", "rolled back", "blocked", "notice")


def now_page(seen: Overview, query: Query) -> NowPage:
    facts = {key: one for key, one in seen.facts.items() if _counts(key, query)}
    changes = [change for change in seen.document["changes"] if _concerns(change, query)]
    spoken = {key_of(one) for change in changes for one in change["workloads"]}
    needs, paging = paged(sorted(_needs(facts, spoken), key=_order), query)
    rolls = [
        Roll(workload=Ref.of(key), state=one["rollout"]["state"], message=one["rollout"]["message"])
        for key, one in facts.items()
        if one["rollout"]["state"] == Progress.PROGRESSING and key not in spoken
    ]
    approvals = list(_approvals(seen, query))
    return NowPage(
        at=moment(seen.at) or "",
        workloads=len(facts),
        counts=_counts_of(facts, _SEEN_FIRST if seen.is_partial else STATES),
        changes=[change_under_way(one, seen.facts) for one in changes[:CHANGES]],
        more_changes=max(0, len(changes) - CHANGES),
        rolls=rolls[:ROLLS],
        more_rolls=max(0, len(rolls) - ROLLS),
        needs=needs,
        paging=paging,
        approvals=approvals[:CHANGES],
        more_approvals=max(0, len(approvals) - CHANGES),
        problems=list(seen.document["problems"]),
        notes=list(seen.notes),
    )


def _approvals(seen: Overview, query: Query) -> Iterator[Unapproved]:
    """What waits for a person, the longest first; what was rejected last."""
    for source, waits in sorted(seen.waiting.items(), key=_wait):
        if query.namespace in {"", source.namespace}:
            yield Unapproved(
                source=Ref.of(source),
                state=waits.state(seen.at),
                since=moment(waits.what.since),
                workloads=len(waits.workloads),
            )


def _wait(one: tuple[Key, Waits]) -> tuple[bool, str, Key]:
    source, waits = one
    return waits.what.rejected is not None, moment(waits.what.since) or "", source


def _counts(key: Key, query: Query) -> bool:
    return query.namespace in {"", key.namespace}


def _concerns(change: Facts, query: Query) -> bool:
    return not query.namespace or any(
        one["namespace"] == query.namespace for one in change["workloads"]
    )


def state_of(one: Facts) -> str:
    """A workload in a word, for counts and lists."""
    if one["rollout"]["state"] == Progress.FAILING or one["reason"] in _FAILING:
        return "failing"
    if one["rollout"]["state"] == Progress.PROGRESSING:
        return "rolling"
    if one["reason"] == _BACK:
        return "rolled back"
    if one["obstacle"]:
        return "held"
    return "up to date" if one["reason"] not in _NOTICED else "behind"


def _counts_of(facts: Mapping[Key, Facts], words: Sequence[str]) -> dict[str, int]:
    found = Counter(map(state_of, facts.values()))
    return {word: found[word] for word in words}


# Changes


def change_under_way(change: Facts, facts: Mapping[Key, Facts]) -> ChangeUnderWay:
    """With its waves as columns; of each wave, those that need attention come first."""
    waves: dict[int, list[Chip]] = {}
    for one in change["workloads"]:
        waves.setdefault(one["wave"], []).append(_chip(one, facts.get(key_of(one))))
    return ChangeUnderWay(
        source=Ref.of(key_of(change["source"])),
        stopped=change["stopped"],
        counts=change["counts"],
        waves=[
            Wave(number=number, total=len(all_), workloads=_drawn(all_))
            for number, all_ in sorted(waves.items())
        ],
    )


def _drawn(wave: list[Chip]) -> list[Chip]:
    first = sorted(wave, key=_urgency)
    if len(first) <= CHIPS:
        return first
    loud = [one for one in first if one.stage not in QUIET]
    quiet = [one for one in first if one.stage in QUIET]
    return (loud + quiet[:FEW])[:CHIPS]


def _chip(one: Facts, known: Facts | None) -> Chip:
    rollout = known["rollout"] if known else {"state": "", "message": ""}
    is_moving = rollout["state"] in {Progress.PROGRESSING, Progress.FAILING}
    return Chip(
        workload=Ref.of(key_of(one)),
        stage=one["stage"],
        wave=one["wave"],
        reason=one["reason"],
        message=one["message"],
        until=one["until"],
        progress=rollout["message"] if is_moving else "",
    )


def _urgency(chip: Chip) -> tuple[int, Key]:
    stage = chip.stage
    rank = _URGENT.index(stage) if stage in _URGENT else len(_URGENT)
    return rank, chip.workload.key


# What needs somebody


def _needs(facts: Mapping[Key, Facts], spoken: set[Key]) -> Iterator[Need]:
    """What a change under way already tells of a workload that only waits is not said again."""
    for key, one in facts.items():
        need = _need(key, one)
        if need is not None and not (need.level == "blocked" and key in spoken):
            yield need


def _need(key: Key, one: Facts) -> Need | None:
    rollout, obstacle, reason = one["rollout"], one["obstacle"], one["reason"]
    ref = Ref.of(key)
    if reason in _FAILING or reason == _BACK:
        level = "failing" if reason in _FAILING else "rolled back"
        return Need(
            workload=ref, level=level, reason=reason, message=one["message"],
            since=one["lastRoll"],
        )  # fmt: skip
    if rollout["state"] == Progress.FAILING:
        return Need(
            workload=ref, level="failing", reason="RolloutFailing", message=rollout["message"],
            since=one["lastRoll"],
        )  # fmt: skip
    row = _WORDS.get(obstacle["reason"]) if obstacle else None
    if obstacle and row and row.severity == "Warning" and not row.deliberate:
        return Need(
            workload=ref, level="blocked", reason=obstacle["reason"], message=obstacle["message"],
            since=obstacle["since"],
        )  # fmt: skip
    if reason in _NOTICED:
        return Need(workload=ref, level="notice", reason=reason, message=one["message"])
    return None


def _order(need: Need) -> tuple[int, Key]:
    return LEVELS.index(need.level), need.workload.key
