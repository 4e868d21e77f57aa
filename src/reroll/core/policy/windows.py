"""How people write windows: `Mon-Fri 09:00-17:00 Europe/Oslo`, `daily 02:00+3h UTC`, or dates.

Each function returns values of `core.model.windows`, or a `ValueError` says what to write instead.
"""

import re
from datetime import datetime, timedelta

import msgspec

from reroll.core.model.windows import ALWAYS_OPEN, DAY, EVERY_DAY, Window, Windows
from reroll.core.policy.durations import parse_duration
from reroll.core.policy.zones import zone

UTC = "UTC"
MOST = 16
"""Windows of one value."""
LONGEST = 7 * DAY
EXAMPLES = '"Mon-Fri 09:00-17:00 Europe/Oslo" or "daily 02:00+3h UTC"'
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?")
_DAY_ONLY = len("2026-11-23")
_DATE = r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2})?"
_ONCE = re.compile(rf"({_DATE})(?:\s+to\s+({_DATE}))?")
_HOURS = re.compile(r"(\d{1,2}):(\d{2})(?:-(\d{1,2}):(\d{2})|\+(\S+))")


def parse_windows(text: str) -> Windows:
    """Of an annotation: windows, names of rows, or both; `;` between them."""
    if text.strip().lower() == "always":
        return ALWAYS_OPEN
    own: list[Window] = []
    names: list[str] = []
    parts = [part.strip() for part in text.split(";") if part.strip()]
    for part in parts:
        listed = [name.strip() for name in part.split(",")]
        if all(map(_is_name, listed)):
            names += listed
        else:
            own.append(parse_window(part, own[-1].zone if own else UTC))
    if not own and not names:
        raise ValueError(f"is no window; write e.g. {EXAMPLES}")
    if len(own) + len(names) > MOST:
        raise ValueError(f"has more than {MOST} windows")
    return Windows(tuple(own), tuple(dict.fromkeys(names)))


def parse_name(text: str) -> str:
    if not _is_name(text):
        raise ValueError(
            f"{text[:80]!r} cannot be the name of a window; use small letters, digits and `-`, and "
            "no word of windows, such as `daily`, `always` or a day"
        )
    return text


def parse_window(text: str, usual_zone: str = UTC) -> Window:
    """One window; without a zone of its own, it is in the usual one."""
    said = " ".join(text.split())
    if len(said) > 200:
        raise ValueError("is too long for a window")
    word, _, rest = said.partition(" ")
    denies = word.lower() == "deny"
    when, name = _zoned(rest if word.lower() in {"allow", "deny"} else said, usual_zone)
    once = _ONCE.fullmatch(when)
    found = _once(said, once[1], once[2]) if once else _weekly(said, when)
    return msgspec.structs.replace(found, zone=name, denies=denies)


def _is_name(text: str) -> bool:
    first = text.split("-", 1)[0]
    reserved = text in {"daily", "always", "allow", "deny"} or first in _DAYS
    return bool(_NAME.fullmatch(text)) and not reserved and not _ONCE.fullmatch(text)


def _zoned(said: str, usual: str) -> tuple[str, str]:
    """What is left without its zone, and the zone."""
    rest, _, last = said.rpartition(" ")
    is_time = _ONCE.fullmatch(said) or ":" in last or last[:1].isdigit() or not rest
    when, name = (said, usual) if is_time else (rest, last)
    if zone(name) is None:
        raise ValueError(
            f"names the time zone {name[:64]!r}, which is not known here; write one like "
            '"Europe/Oslo" or "UTC"'
        )
    return when, name


def _weekly(said: str, when: str) -> Window:
    days, _, hours = when.partition(" ")
    begins, ends, lasts = _hours(hours) if hours else (0, DAY, False)
    return Window(said, UTC, _days(days), begins, ends, lasts)


def _days(text: str) -> frozenset[int]:
    if text.lower() == "daily":
        return EVERY_DAY
    found: set[int] = set()
    for part in text.lower().split(","):
        first, dash, last = part.partition("-")
        if first not in _DAYS or (dash and last not in _DAYS):
            raise ValueError(
                f"begins with {text[:40]!r}, which are no days; write e.g. {EXAMPLES}, or the name "
                "of a window of the config file"
            )
        day = _DAYS.index(first)
        found.add(day)
        while dash and day != _DAYS.index(last):
            day = (day + 1) % 7
            found.add(day)
    return frozenset(found)


def _hours(text: str) -> tuple[int, int, bool]:
    """When it begins and ends, in minutes; and whether that is how long it lasts."""
    found = _HOURS.fullmatch(text)
    if found is None:
        raise ValueError(
            f'has the time {text[:40]!r}, which cannot be read; write e.g. "09:00-17:00" or '
            '"02:00+3h"'
        )
    begins = _minute(found[1], found[2], most=DAY - 1)
    if found[5] is not None:
        return begins, begins + whole_minutes(found[5], LONGEST), True
    ends = _minute(found[3], found[4], most=DAY)
    if begins == ends:
        raise ValueError('begins when it ends; write "00:00-24:00" for a whole day')
    return begins, ends if ends > begins else ends + DAY, False


def _minute(hours: str, minutes: str, most: int) -> int:
    minute = int(hours) * 60 + int(minutes)
    if int(minutes) > 59 or minute > most:
        raise ValueError(
            f"has the time {hours}:{minutes}, which no clock shows; write one up to "
            f"{most // 60:02}:{most % 60:02}"
        )
    return minute


def whole_minutes(text: str, most: int) -> int:
    """A duration in minutes: between one, and so many."""
    duration = parse_duration(text)
    minutes, left = divmod(duration or timedelta(), timedelta(minutes=1))
    if duration is None or left or not 1 <= minutes <= most:
        raise ValueError(
            f"has the duration {text[:40]!r}; write whole minutes, at most {most // 60}h, e.g. "
            '"3h" or "90m"'
        )
    return minutes


def _once(said: str, first: str, last: str | None) -> Window:
    if last is None and len(first) > _DAY_ONLY:
        raise ValueError("has a beginning and no end; write `to` and when it ends")
    try:
        begins, ends = datetime.fromisoformat(first), datetime.fromisoformat(last or first)
    except ValueError:
        raise ValueError("has a date that no calendar shows; write e.g. 2026-12-24") from None
    if not 1970 < begins.year <= ends.year < 9000:
        raise ValueError("has a year that is too far away; write one from 1971 on")
    if len(last or first) == _DAY_ONLY:
        ends += timedelta(days=1)  # The last day is a part of it.
    if begins >= ends:
        raise ValueError("ends before it begins; write the earlier one first")
    return Window(said, UTC, first=begins, last=ends)
