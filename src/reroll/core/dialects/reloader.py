"""The dialect of Reloader: its annotations and their precedence.

The annotations of a workload count; those of its pod template only where the workload has none of
them, and that for each kind of source apart. What excludes beats what names, what names beats
`auto`, and a typed `auto` counts whatever `auto` says.
"""

# ruff: noqa: E501  the table reads best one row a line

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import msgspec

from reroll.core.dialects.reloader_marks import (
    LAST_RELOADED,
    NAME,
    VARIABLE,
    acted,
    hash_source,
    marks,
)
from reroll.core.dialects.rows import Dialect, Opinion, Options, PolicyInput
from reroll.core.dialects.words import Place, Word
from reroll.core.model.content import Term
from reroll.core.model.key import Problem
from reroll.core.model.record import Time
from reroll.core.policy.durations import parse_duration
from reroll.core.policy.patterns import Pattern, is_plain_name, items_of
from reroll.core.policy.policy import Claim, Pause
from reroll.core.policy.regexes import compiled, is_plain
from reroll.core.tables import limits
from reroll.core.tables.kinds import Strategy
from reroll.core.tables.reasons import Reason
from reroll.core.tables.source_kinds import SOURCE_KINDS, SourceKind

DOMAIN = "reloader.stakater.com/"
AUTO, SEARCH = DOMAIN + "auto", DOMAIN + "search"
MATCH, IGNORE = DOMAIN + "match", DOMAIN + "ignore"
ROLLOUT_STRATEGY = DOMAIN + "rollout-strategy"
PAUSE_PERIOD = "deployment." + DOMAIN + "pause-period"
PAUSED_AT = "deployment." + DOMAIN + "paused-at"
WINDOWS = (DOMAIN + "restart-window", DOMAIN + "sync-windows")
"""Forms that were proposed, and are in no release."""
IGNORED, MATCHED = NAME + "/ignore", NAME + "/match"

LONGEST_PAUSE = timedelta(days=365)
_TRUE = frozenset(("1", "t", "T", "TRUE", "true", "True"))
_FALSE = frozenset(("0", "f", "F", "FALSE", "false", "False", ""))
_USUAL = (Strategy.TRIGGER, Strategy.RECREATE)


def auto(row: SourceKind) -> str:
    return f"{row.aliases[0]}.{AUTO}"


def reload(row: SourceKind) -> str:
    return f"{row.aliases[0]}.{DOMAIN}reload"


def exclude(row: SourceKind) -> str:
    return f"{row.plural}.exclude.{DOMAIN}reload"


class _Reading:
    """The annotations of one workload on their way to an opinion."""

    def __init__(self, told: PolicyInput, options: Options) -> None:
        self._told, self._options = told, options
        self.problems: dict[Problem, None] = {}
        self._regexes, self._budget = 0, limits.REGEX_COST.number
        self.auto: set[str] = set()
        self.searched: set[str] = set()
        self.declined: set[str] = set()
        self.named: list[Pattern] = []
        self.but: list[Pattern] = []

    def read(self, row: SourceKind) -> None:
        """What is said about one kind of source."""
        name = self._options.name
        keys = [name(reload(row)), name(AUTO), name(auto(row)), name(SEARCH)]
        own = self._told.workload
        said = own if any(key in own for key in keys) else self._told.template
        self.but += self._excluded(exclude(row), row)
        self.named += self._named(said, keys[0], row)
        texts = [(key, said[key]) for key in keys[1:3] if key in said]
        # Each is looked at, so that none of them is bad in silence.
        if True in [self._is_true(key, text) for key, text in texts]:
            self.auto.add(row.name)
        if any(text for _, text in texts):
            self.declined.add(row.name)
        if self._is_exactly_true(said, keys[3]):
            self.searched.add(row.name)

    def pause(self) -> Pause | None:
        """A mark without a period is what somebody left: that pause is over."""
        key, mark = self._options.name(PAUSE_PERIOD), self._options.name(PAUSED_AT)
        text, since = self._told.workload.get(key), None
        period = parse_duration(text or "0")
        if text is not None and (period is None or period > LONGEST_PAUSE):
            self._problem(key, text, 'is not a duration of at most a year; write e.g. "5m"')
            period = None
        if self._told.kind.keeps_back and (at := self._told.workload.get(mark)) is not None:
            since = _time(at)
            if since is None:
                self._problem(mark, at, "is not a time; the Deployment is left paused")
        return Pause(period or timedelta(), mark, since) if period or since else None

    def windows(self) -> None:
        """Who sets one means that nothing rolls outside of it, so silence would be wrong."""
        for key in WINDOWS:
            if key in self._told.workload or key in self._told.template:
                self._tell(
                    key, "is not read, so it keeps nothing; write reroll.dev/window, "
                    'e.g. "daily 02:00+1h Europe/Oslo"'
                )  # fmt: skip

    def strategy(self) -> Strategy | None:
        """A Rollout may say how it rolls."""
        text = self._told.workload.get(ROLLOUT_STRATEGY)
        if text is None or not self._told.kind.restart_at:
            return None
        if text not in {"restart", "rollout"}:
            self._problem(ROLLOUT_STRATEGY, text, 'is neither "rollout" nor "restart"')
        return Strategy.RESTART if text == "restart" else None

    def _problem(self, key: str, text: str, why: str) -> None:
        self._tell(key, f"{text[:80]!r} {why}")

    def _tell(self, key: str, why: str, reason: Reason = Reason.INVALID_ANNOTATION) -> None:
        self.problems[Problem(f"annotation {key} on {self._told.key}: {why}", reason)] = None

    def _is_true(self, key: str, text: str) -> bool:
        if text not in _TRUE | _FALSE:
            self._problem(key, text, 'is neither "true" nor "false"')
        return text in _TRUE

    def _is_exactly_true(self, said: Mapping[str, str], key: str) -> bool:
        text = said.get(key, "")
        if text not in {"true", "false", ""}:
            self._problem(key, text, 'is not exactly "true"')
        return text == "true"

    def _named(self, said: Mapping[str, str], key: str, row: SourceKind) -> list[Pattern]:
        found = []
        for text in self._items(said, key):
            if is_plain(text):
                found.append(Pattern(row.name, None, text))
            elif self._is_usable(key, text):
                found.append(Pattern(row.name, None, text, regex=True))
        return found

    def _is_usable(self, key: str, text: str) -> bool:
        """Whether it is a regular expression, and not one too many."""
        if self._regexes == limits.GLOBS.number:
            why = f"names more than {self._regexes} regular expressions; the others do not count"
            self._tell(key, why, Reason.TOO_MANY_PATTERNS)
            return False
        self._regexes += 1
        try:
            cost = compiled(text).cost
        except ValueError as error:
            self._problem(key, text, f"is no regular expression that can be used: {error}")
            return False
        if cost > self._budget:
            why = f"{text[:80]!r} does not count: its repetitions cost too much; use fewer of them"
            self._tell(key, why, Reason.TOO_MANY_PATTERNS)
            return False
        self._budget -= cost
        return True

    def _excluded(self, key: str, row: SourceKind) -> list[Pattern]:
        names = self._items(self._told.workload, key)
        for name in names:
            if not is_plain_name(name):
                self._problem(key, name, "is not a name; what is excluded is no pattern")
        return [Pattern(row.name, None, name) for name in names if is_plain_name(name)]

    def _items(self, said: Mapping[str, str], key: str) -> list[str]:
        items, rest = items_of(said.get(key), f"annotation {key} on {self._told.key}")
        self.problems |= dict.fromkeys(rest)
        return items


def _time(text: str) -> datetime | None:
    try:
        return msgspec.convert(text, Time).astimezone(UTC)
    except (msgspec.ValidationError, OverflowError):
        return None


def _read(told: PolicyInput, options: Options) -> Opinion:
    reading = _Reading(told, options)
    for row in SOURCE_KINDS:
        reading.read(row)
    reading.windows()
    counts, matches = _terms(options)
    but = tuple(reading.but)
    claims = [Claim(counts, frozenset(reading.auto), tuple(dict.fromkeys(reading.named)), but)]
    if reading.searched:
        claims.append(Claim(matches, frozenset(reading.searched), but=but))
    anything = reading.auto or reading.searched or reading.named
    return Opinion(
        enabled=True if anything else False if reading.declined else None,
        claims=tuple(claims),
        declines=frozenset(reading.declined),
        strategy=reading.strategy(),
        usual=next((each for each in _USUAL if each in told.kind.strategies), None),
        pause=reading.pause(),
        problems=tuple(reading.problems),
    )


def _terms(options: Options) -> tuple[Term, Term]:
    """For what counts anyway, and for what counts if it carries the mark that is searched for."""
    ignored = frozenset((IGNORED,))
    on_create, on_delete, hashed = options.on_create, options.on_delete, bool(options.plain)
    counts = Term(NAME, ignored, "", on_create, on_delete, hashed)
    return counts, Term(NAME, ignored, MATCHED, on_create, on_delete, hashed)


def _source_marks(annotations: Mapping[str, str], options: Options) -> frozenset[str]:
    known = {options.name(IGNORE): IGNORED, options.name(MATCH): MATCHED}
    return frozenset(mark for key, mark in known.items() if annotations.get(key) == "true")


def _words(options: Options) -> tuple[Word, ...]:
    anywhere, workload, source = (
        (Place.WORKLOAD, Place.TEMPLATE),
        (Place.WORKLOAD,),
        (Place.SOURCE,),
    )
    words = [
        Word(AUTO, anywhere, "roll for every source that the pod template refers to", '"true"', renamed=True),
        Word(SEARCH, anywhere, f"roll for those of them that carry `{MATCH}`", '"true"', renamed=True),
    ]  # fmt: skip
    for row in SOURCE_KINDS:
        renamed = row.watched_plural == ""
        words += [
            Word(auto(row), anywhere, f"roll for every {row.name} that the pod template refers to", '"true"', renamed=renamed),
            Word(reload(row), anywhere, f"roll for each {row.name} of these names or regular expressions, whether or not the template refers to it", "app, feature-.*", renamed=renamed),
            Word(exclude(row), workload, f"never roll for a {row.name} of one of these names", "app, flags"),
        ]  # fmt: skip
    words += [
        Word(ROLLOUT_STRATEGY, workload, "on a Rollout: `restart` sets `spec.restartAt` and leaves the template alone", "restart"),
        Word(PAUSE_PERIOD, workload, "gather changes for so long: a Deployment is paused with the first of them, other kinds hold the next roll", "5m", renamed=True),
        Word(MATCH, source, f"what `{SEARCH}` looks for", '"true"', renamed=True),
        Word(IGNORE, source, "this source rolls nothing", '"true"', renamed=True),
        Word(PAUSED_AT, (Place.RECORD,), "since when a Deployment is paused for its `pause-period`", renamed=True),
        Word(VARIABLE, (Place.MARK,), "`STAKATER_<NAME>_<KIND>`, a variable for each source that changed: the hash of its content", prefix=True),
        Word(LAST_RELOADED, (Place.MARK,), "with `--reloader-strategy annotations`: the source that changed last, as JSON"),
    ]  # fmt: skip
    return tuple(word._replace(key=options.name(word.key)) for word in words)


RELOADER = Dialect(
    name=NAME,
    help="the annotations of Stakater Reloader",
    words=_words,
    read=_read,
    marks=marks,
    ignores=IGNORED,
    source_marks=_source_marks,
    hash_source=hash_source,
    acted=acted,
)
