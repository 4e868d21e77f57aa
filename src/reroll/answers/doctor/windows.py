"""Windows that never open, names that mean none, freezes that are over. Pure."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from reroll.answers.doctor.findings import Check, Finding
from reroll.core.decide.timing import for_namespace, named_windows, unknown_names
from reroll.core.model.key import Key
from reroll.core.model.names import several
from reroll.core.model.windows import ALWAYS_OPEN, WindowRow
from reroll.core.policy.openings import Group, opening
from reroll.core.policy.policy import Policy
from reroll.core.tables.annotations import DOMAIN

WINDOWS = Check("windows")
YEAR = timedelta(days=365)


def judge_windows(
    rows: Sequence[WindowRow], asked: Sequence[tuple[Key, Policy]], now: datetime
) -> Iterator[Finding]:
    """`asked`: workloads, of which those count that have windows."""
    said = [(key, policy.window) for key, policy in asked if policy.window != ALWAYS_OPEN]
    found = [*_of_rows(rows, now)]
    unread = [f"{key} ({told.problem})" for key, told in said if told.problem]
    if unread:
        found.append(
            WINDOWS.problem(
                f"a window that cannot be read is closed: {several(unread)}",
                f"correct the annotation {DOMAIN}window",
            )
        )
    lost = [f"{key} ({why})" for key, told in said if (why := unknown_names(told, rows))]
    if lost:
        found.append(
            WINDOWS.problem(
                f"a window that does not exist is closed: {several(lost)}",
                "add a row to `windows:` of the config file, or correct the annotation",
            )
        )
    shut = [
        str(key)
        for key, told in said
        if not told.problem
        and not unknown_names(told, rows)
        and _never_opens(key, named_windows(told, rows), rows, now)
    ]
    if shut:
        found.append(
            WINDOWS.warning(
                f"no roll can begin within a year, because of their windows: {several(shut)}",
                "look at them with `reroll windows`, and change one",
            )
        )
    if not found and (rows or said):
        found.append(WINDOWS.ok("every window opens, and every name of one means one"))
    yield from found


def _never_opens(key: Key, own: Group, rows: Sequence[WindowRow], now: datetime) -> bool:
    groups = tuple(filter(None, (for_namespace(rows, key.namespace), own)))
    found = opening(groups, now)
    return not found.is_open and (found.opens is None or found.opens > now + YEAR)


def _of_rows(rows: Sequence[WindowRow], now: datetime) -> Iterator[Finding]:
    for row in rows:
        found = opening((row.windows,), now)
        denies = any(window.denies for window in row.windows)
        if denies and found.is_open and found.until is None:
            yield WINDOWS.note(
                f"the freeze {row.name} is over, and does not come again",
                "remove its row from `windows:`, or give it other dates",
            )
        elif denies and not found.is_open and (found.until or now + 2 * YEAR) > now + YEAR:
            yield WINDOWS.warning(
                f"the freeze {row.name} does not end within a year",
                "give its row in `windows:` other times; `reroll hold --all` stops everything",
            )
        elif not denies and not found.is_open and found.opens is None:
            yield WINDOWS.warning(
                f"the window {row.name} does not open any more",
                "remove its row from `windows:`, or give it other times",
            )
