"""Contents that wait for an approval, and who waits for them. Pure."""

from collections.abc import Iterable

from reroll.core.model.key import Key
from reroll.core.observe.approval import Waiting, waiting
from reroll.core.observe.compare import compare
from reroll.engine.observer import Decision


def gathered(decisions: Iterable[Decision]) -> dict[Key, tuple[Waiting, list[Key]]]:
    """By source: what waits there, and who waits for it."""
    found: dict[Key, tuple[Waiting, list[Key]]] = {}
    for one in decisions:
        snapshot = one.snapshot
        if snapshot is None or not snapshot.policy.enabled:
            continue
        for waits in waiting(snapshot, compare(snapshot)):
            found.setdefault(waits.source, (waits, []))[1].append(one.key)
    return found
