"""What can be done to a workload: hold, release, restart, go back, decide on its canary. Pure."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from reroll.core.model.record import ABORTED, PROMOTED
from reroll.core.tables.kinds import Kind, Strategy
from reroll.core.tables.reasons import Reason
from reroll.dashboard import buttons
from reroll.dashboard.buttons import button
from reroll.dashboard.overview import Facts
from reroll.dashboard.schema import Button

ON_CANARY = frozenset((Reason.ON_CANARY.word, Reason.STOPPED.word))
"""Where a canary may have something to do with it."""
_WORDS = {PROMOTED: ("promote", buttons.promotes), ABORTED: ("abort", buttons.aborts)}
NOT_PINNED = 'it has no revisions; annotate it with reroll.dev/revisions: "true"'


def workload_buttons(kind: Kind, told: Facts, lacking: str) -> list[Button]:
    """`lacking`: the right that the user has not; empty: they have it."""
    obstacle, running = told["obstacle"], told["pods"]["running"]
    is_held = bool(obstacle and obstacle["reason"] == Reason.HELD.word)
    is_at = told["reason"] == Reason.HELD_AT.word or bool((told["record"] or {}).get("heldSince"))
    restart = "it is held" if is_held else ""
    if Strategy.RESTART not in kind.strategies:
        restart = f"a {kind.name} cannot be restarted"
    found = [] if is_held else [button("hold", lacking, buttons.HOLDS)]
    if is_held or is_at:
        waits = is_at or any(one["content"] != "as recorded" for one in told["sources"])
        found.append(button("release", lacking, buttons.releases(running, waits=waits)))
    found.append(button("restart", lacking or restart, buttons.restarts(running)))
    return found


def canary_buttons(words: Collection[str], told: Facts, lacking: str) -> list[Button]:
    """`words`: what can be said of its canary now."""
    running = told["pods"]["running"]
    return [
        button(action, lacking, effect(running))
        for word, (action, effect) in _WORDS.items()
        if word in words
    ]


def ways_back(
    revisions: Sequence[Mapping[str, Any]], told: Facts, lacking: str
) -> dict[int, Button]:
    """By the number of a revision: those with a content that is kept, but for the one it has."""
    running = told["pods"]["running"]
    found = {}
    for one in revisions:
        if one["current"] or not one["pins"]:
            continue
        gone = next((pin["copy"] for pin in one["pins"] if pin["missing"]), None)
        why = lacking or (f"{gone} is gone" if gone else "")
        number = one["revision"]
        effect = buttons.goes_back(running, number)
        found[number] = button("use", why, effect, revision=str(number))
    return found


def previous_button(back: Mapping[int, Button], previous: int | None, reason: str) -> Button:
    """To the revision before; grey, with the reason, where there is none."""
    if previous is not None and previous in back:
        return back[previous]
    return button("use", reason or NOT_PINNED)
