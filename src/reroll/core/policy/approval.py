"""How people, and `reroll approve`, write about the approval of a content.

Each function returns a value, or a `ValueError` says what to write instead.
"""

import re
from datetime import timedelta

from reroll.core.model.approval import Ruling
from reroll.core.policy.durations import parse_duration

CONTENT = "[0-9a-f]{32}"
"""The id of a content, as a regular expression that Python and CEL read alike."""
LONGEST_WHY = 200
_LONGEST = timedelta(days=30)
_APPROVED = re.compile(f"({CONTENT}) by (\\S(?:.*\\S)?)")
_REJECTED = re.compile(f"({CONTENT}) by (\\S.*?): (.+)", re.DOTALL)


def parse_required(text: str) -> bool:
    match text.strip():
        case "required":
            return True
        case "none":
            return False
    raise ValueError('is neither "required" nor "none"')


def parse_required_of_source(text: str) -> bool:
    """A source cannot free itself of what the settings ask for."""
    if text.strip() == "required":
        return True
    raise ValueError('is not "required"; leave it out where no approval is needed')


def parse_timeout(text: str) -> timedelta:
    duration = parse_duration(text)
    if not duration or duration > _LONGEST:
        raise ValueError('is not a duration of at most 30 days; write e.g. "4h"')
    return duration


def parse_approved(text: str) -> Ruling:
    if found := _APPROVED.fullmatch(text.strip()):
        return Ruling(found[1], found[2])
    raise ValueError("names no content and no user; `reroll approve` writes it")


def parse_rejected(text: str) -> Ruling:
    if found := _REJECTED.fullmatch(text.strip()):
        return Ruling(found[1], found[2], found[3][:LONGEST_WHY])
    raise ValueError("names no content, no user or no reason; `reroll reject` writes it")


def approved_text(ruling: Ruling) -> str:
    return f"{ruling.content} by {ruling.by}"


def rejected_text(ruling: Ruling) -> str:
    return f"{ruling.content} by {ruling.by}: {ruling.why}"
