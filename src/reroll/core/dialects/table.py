"""The table of dialects, and the rows of it that are in use, taken together.

A workload that several dialects opt in rolls once, with the marks of each. Negative words of a
dialect concern what that dialect, or the setting that everybody is in, would count; those of the
first row count for all.
"""

from collections.abc import Callable, Collection, Iterable, Mapping

import msgspec

from reroll.core.dialects.own import REROLL
from reroll.core.dialects.reloader import RELOADER
from reroll.core.dialects.rows import Dialect, OfValues, Opinion, Options, Plain, PolicyInput, Roll
from reroll.core.dialects.wave import WAVE
from reroll.core.dialects.words import Place, Word
from reroll.core.model.content import Term
from reroll.core.model.key import Key, Problem, first_problems
from reroll.core.model.marks import Mark
from reroll.core.model.podspec import PodSpec
from reroll.core.observe.snapshot import Change, Snapshot
from reroll.core.policy.features import within
from reroll.core.policy.policy import Claim, Policy, for_kind, usual
from reroll.core.policy.vocabulary import Vocabulary
from reroll.core.tables.kinds import Strategy
from reroll.core.tables.reasons import Reason

DIALECTS: tuple[Dialect, ...] = (REROLL, RELOADER, WAVE)
MarksOfValues = Callable[[Key, PodSpec | None, Mapping[str, str]], OfValues]
_SAYS = (Place.WORKLOAD, Place.TEMPLATE)
_RIVAL = (
    "{0} was rolled by a controller for the annotations of {1}, and this one reads them too; "
    "stop that one, or leave {1} out of --dialects"
)


class Dialects:
    """The dialects in use."""

    def __init__(self, rows: Iterable[Dialect] = DIALECTS, options: Options | None = None) -> None:
        self.rows = tuple(rows)
        self.options = options or Options()
        words = [(row, word) for row in self.rows for word in row.words(self.options)]
        self.words = _vocabulary([word for _, word in words])
        self._quick = [row.quick for row in self.rows if row.quick]
        loud = [word for row, word in words if row.quick is None]
        self._on_workload = _keys(loud, Place.WORKLOAD, Place.RECORD)
        self._left = _keys(loud, Place.RECORD)
        self._on_template = _needles(_keys(loud, Place.TEMPLATE))
        self._ignored = frozenset(row.ignores for row in self.rows if row.ignores)

    def unread(self, annotations: Collection[str]) -> Mapping[str, tuple[str, ...]]:
        """Words of dialects that are not in use, by dialect: nothing follows from them."""
        others = [row for row in DIALECTS if row not in self.rows]
        said = ((row.name, _keys(row.words(self.options), *_SAYS)) for row in others)
        found = {name: tuple(sorted(keys.intersection(annotations))) for name, keys in said}
        return {name: keys for name, keys in found.items() if keys}

    def may_be_in(
        self, workload: Mapping[str, str], namespace: Mapping[str, str], spec: msgspec.Raw
    ) -> bool | None:
        """The quick answer, before anything is decoded; `None`: nobody says anything."""
        is_in = None
        for quick in self._quick:
            said = quick(workload, namespace)
            if said is False:
                # What an earlier roll left is brought to its end first.
                return not self._left.isdisjoint(workload)
            is_in = is_in or said
        if is_in or not self._on_workload.isdisjoint(workload):
            return True
        if self._on_template:
            text = bytes(spec)
            for needle in self._on_template:
                if needle in text:
                    return True
        return None

    def policy(self, told: PolicyInput) -> Policy:
        """What all of them together make of a workload."""
        told = told._replace(default=usual(told.default, told.kind))
        opinions = [(row, row.read(told, self.options)) for row in self.rows]
        base = next((said.base for _, said in opinions if said.base), told.default)
        claims = [self._counting(c) for _, said in opinions if said.enabled for c in said.claims]
        out = any(said.enabled is False for _, said in opinions)
        if any(row.vetoes and said.enabled is False for row, said in opinions):
            claims = []
        elif told.default.enabled and (rest := self._by_default(opinions, claims)):
            claims.append(rest)
        found = msgspec.structs.replace(
            base,
            enabled=True if claims else False if out else told.default.enabled,
            claims=tuple(claims),
            strategy=_strategy(told, [said for _, said in opinions]),
            pause=next((said.pause for _, said in opinions if said.pause), None),
            repair=next((said.repair for _, said in opinions if said.repair), None),
            problems=first_problems(
                (problem for _, said in opinions for problem in said.problems),
                f"what annotations say of {told.key}",
            ),
        )
        found = for_kind(found, told.kind, told.key)
        return within(found, told.kind, told.key, self.options.features)

    def _by_default(
        self, opinions: list[tuple[Dialect, Opinion]], claims: list[Claim]
    ) -> Claim | None:
        """What counts of what nobody speaks of, where every workload is in."""
        declined = frozenset().union(*(said.declines for _, said in opinions))
        kinds = self.options.sources.difference(declined, *(claim.kinds for claim in claims))
        row, said = next((one for one in opinions if one[1].enabled), opinions[0])
        usual = next((claim.term for claim in said.claims), Term(row.name))
        but = (pattern for _, said in opinions for claim in said.claims for pattern in claim.but)
        term = msgspec.structs.replace(usual, unless=self._ignored, needs="")
        return Claim(term, kinds, but=tuple(but)) if kinds else None

    def _counting(self, claim: Claim) -> Claim:
        """A claim less the kinds of sources that do not count."""
        kinds = self.options.sources
        if claim.kinds <= kinds and all(pattern.kind in kinds for pattern in claim.named):
            return claim
        named = tuple(pattern for pattern in claim.named if pattern.kind in kinds)
        return msgspec.structs.replace(claim, kinds=claim.kinds & kinds, named=named)

    def hashes(self, plain: Plain, wanted: frozenset[str]) -> tuple[tuple[str, str], ...]:
        """The hashes that the tools of these dialects make of a source."""
        rows = [row for row in self.rows if row.name in wanted and row.hash_source]
        return tuple((row.name, row.hash_source(plain)) for row in rows if row.hash_source)

    def source_marks(self, annotations: Mapping[str, str]) -> frozenset[str]:
        """What the annotations of a source say about it."""
        ask = [row.source_marks for row in self.rows if row.source_marks]
        return frozenset[str]().union(*(say(annotations, self.options) for say in ask))

    def rivals(self, seen: Snapshot, changes: tuple[Change, ...]) -> tuple[Problem, ...]:
        """Other controllers that roll the workload too, as their marks in its template tell."""
        if not seen.workload.remarked:
            return ()
        by = seen.policy.by
        rows = [row for row in self.rows if row.acted and row.name in by]
        return tuple(
            Problem(_RIVAL.format(seen.workload.key, row.name), Reason.OTHER_CONTROLLER)
            for row in rows
            if row.acted and row.acted(seen, changes, self.options)
        )

    def marks(self, roll: Roll) -> tuple[Mark, ...]:
        """What a roll writes: the marks of each dialect that the workload is in by."""
        by = roll.seen.policy.by
        rows = [row for row in self.rows if row.name in by]
        return tuple(
            mark
            for row in rows or self.rows[:1]
            for mark in row.marks(_counted_by(row.name, roll), self.options)
        )

    def of_values(
        self, by: Collection[str], strategy: Strategy | None
    ) -> tuple[MarksOfValues, ...]:
        """What makes more marks, out of values, for a workload that is in by these."""
        if strategy is not Strategy.STAMP or not self.options.plain:
            return ()
        return tuple(row.of_values for row in self.rows if row.of_values and row.name in by)


def _strategy(told: PolicyInput, opinions: list[Opinion]) -> Strategy | None:
    """What the workload says; else what the settings say for all; else what a dialect does."""
    said = [one.strategy for one in opinions if one.strategy]
    usual = [one.usual for one in opinions if one.enabled and one.usual]
    return next(iter([*said, *filter(None, [told.default.strategy]), *usual]), None)


def _counted_by(name: str, roll: Roll) -> Roll:
    return roll._replace(changes=tuple(c for c in roll.changes if _counts(name, c)))


def _counts(name: str, change: Change) -> bool:
    return not change.by or name in change.by


def _vocabulary(words: list[Word]) -> Vocabulary:
    marks = [word for word in words if Place.MARK in word.places]
    return Vocabulary(
        annotations=_keys(words, Place.WORKLOAD, Place.NAMESPACE, Place.RECORD),
        template=_keys(words, Place.TEMPLATE),
        marks=frozenset(word.key for word in marks if not word.prefix),
        mark_prefixes=tuple(word.key for word in marks if word.prefix),
    )


def _keys(words: Iterable[Word], *places: Place) -> frozenset[str]:
    return frozenset(word.key for word in words if not set(places).isdisjoint(word.places))


def _needles(keys: frozenset[str]) -> tuple[bytes, ...]:
    """What the bytes of a spec hold that has one of these keys: few things, to look for quickly."""
    domains = {".".join(key.partition("/")[0].rsplit(".", 3)[-3:]) for key in keys}
    return tuple(sorted(domain.encode() for domain in domains))


ALL = Dialects()
