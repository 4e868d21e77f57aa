"""What `reroll doctor` says of windows."""

from datetime import UTC, datetime

import pytest

from reroll.answers.doctor.windows import judge_windows
from reroll.core.model.key import Key
from reroll.core.model.windows import Windows
from reroll.core.policy.policy import Policy
from reroll.core.policy.window_rows import windows
from reroll.core.policy.windows import parse_windows

NOW = datetime(2026, 11, 17, 12, tzinfo=UTC)
WEB = Key("Deployment", "shop", "web")
NIGHTS = {"name": "nights", "allow": "daily 02:00+3h"}
FINE = "ok", "every window opens, and every name of one means one"

TOLD = {
    "nothing": ([], Windows(), []),
    "a good row": ([NIGHTS], Windows(), [FINE]),
    "a good annotation": ([], parse_windows("daily 02:00+3h"), [FINE]),
    "a name": ([NIGHTS], parse_windows("nights"), [FINE]),
    "a name that means none": (
        [NIGHTS], parse_windows("night"),
        [("problem", "Deployment shop/web (no window is called 'night'")],
    ),
    "what cannot be read": (
        [], Windows(problem="'noon' is odd"), [("problem", "Deployment shop/web ('noon' is odd)")],
    ),
    "a freeze that is over": (
        [{"name": "black-week", "deny": "2025-11-24 to 2025-12-01"}], Windows(),
        [("note", "the freeze black-week is over")],
    ),
    "a freeze that is to come": (
        [{"name": "black-week", "deny": "2026-11-24 to 2026-12-01"}], Windows(), [FINE],
    ),
    "a freeze without an end": (
        [{"name": "stop", "deny": "daily"}], Windows(), [("warning", "does not end within a year")],
    ),
    "a window that is over": (
        [{"name": "once", "allow": "2025-11-24"}], Windows(),
        [("warning", "does not open any more")],
    ),
    "windows that are never open together": (
        [{**NIGHTS, "namespaces": ["sh*"]}], parse_windows("Mon-Fri 09:00-17:00"),
        [("warning", "no roll can begin within a year, because of their windows: Deployment")],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("given", "said", "told"), TOLD.values(), ids=TOLD)
def test_what_is_told(given: list[object], said: Windows, told: list[tuple[str, str]]) -> None:
    calendar, problems = windows(given)
    assert problems == []
    found = list(judge_windows(calendar.rows, [(WEB, Policy(window=said))], NOW))

    assert [one.level for one in found] == [level for level, _ in told]
    for one, (level, sentence) in zip(found, told, strict=True):
        assert sentence in one.sentence
        assert level == "ok" or one.todo
