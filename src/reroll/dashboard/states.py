"""How a state is drawn: a sign, a word and a tone, so that no state is told by colour alone."""

from typing import NamedTuple

from reroll.core.tables.reasons import Reason


class Drawn(NamedTuple):
    sign: str
    tone: str
    """The class of the style sheet: good, busy, wait, held, bad, back or quiet."""


_TONES = {
    "good": "●",
    "busy": "◐",
    "wait": "○",
    "held": "■",
    "bad": "✖",
    "back": "↩",
    "quiet": "·",
}
_WORDS = {
    "good": ("healthy", "up to date", "complete", "ok", "current", "open"),
    "busy": (
        "under way",
        "rolling",
        "progressing",
        "Soaking",
        "Debouncing",
        "Paced",
        "behind",
        "OnCanary",
        "urgent",
    ),
    "wait": (
        *("next", "closed", "note", "AfterOthers", "Crowded", "CoolingDown", "Resting", "Waiting"),
        *("WindowClosed", "GateAsked", "Unapproved"),
    ),
    "held": (
        *("held", "frozen", "blocked", "unknown", "warning"),
        *("Held", "HeldAt", "Paused", "Frozen", "Declined", "ApprovalOverdue"),
    ),
    "bad": (
        *("failed", "failing", "stuck", "missing", "stale", "problem", "rollback failed"),
        *("Failing", "Stopped", "Stuck", "RollbackFailed", "SourceMissing", "Flapping", "stopped"),
        *("RolloutFailing", "Rejected", "rejected", "Forbidden", "Failed"),
    ),
    "back": ("rolled back", "RolledBack", "Undone"),
    "quiet": ("no freeze", "unjudged", "settled", "not managed", "notice"),
}
_TABLE = {word: Drawn(_TONES[tone], tone) for tone, words in _WORDS.items() for word in words}
_REASONS = {reason.word: reason for reason in Reason}


def drawn(word: str) -> Drawn:
    """Of a stage, a state or a reason; of a reason that has no row, by its severity."""
    if word in _TABLE:
        return _TABLE[word]
    reason = _REASONS.get(word)
    tone = "quiet" if reason is None else "held" if reason.severity == "Warning" else "good"
    return Drawn(_TONES[tone], tone)
