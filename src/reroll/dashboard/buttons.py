"""What can be done from a page: the words of each button, and what it says before it is pressed.

Pure. Whoever rolls pods is told how many, of which workloads, before anything happens.
"""

from collections.abc import Collection, Iterable
from typing import NamedTuple

from reroll.core.model.key import Key
from reroll.dashboard.overview import Overview
from reroll.dashboard.schema import Button
from reroll.kube import wire

NAMED = 3
"""Workloads that are named before the others are counted."""


class Words(NamedTuple):
    label: str
    asks: tuple[str, ...] = ()
    """Fields that a person fills in."""
    needs: tuple[str, ...] = ()
    """Those of them that cannot be left empty."""


WORDS = {
    "approve": Words("Approve"),
    "reject": Words("Reject", ("reason",), ("reason",)),
    "hold": Words("Hold", ("reason", "until")),
    "release": Words("Release"),
    "urgent": Words("Call urgent"),
    "calm": Words("No longer urgent"),
    "use": Words("Go back"),
    "promote": Words("Promote"),
    "abort": Words("Abort"),
    "restart": Words("Restart", ("reason",)),
}


def button(action: str, why: str = "", effect: str = "", **fields: str) -> Button:
    """`why` says why it may not be pressed; empty: it may."""
    words = WORDS[action]
    return Button(
        action=action, label=words.label, allowed=not why, why=why, effect=effect, fields=fields,
        asks=list(words.asks), needs=list(words.needs),
    )  # fmt: skip


def lacking(verb: str, resource: wire.Resource, namespace: str) -> str:
    name = resource.full_name if verb != "patch" else resource.plural
    return f"you may not {verb} {name} in namespace {namespace}"


def pods_of(seen: Overview, keys: Iterable[Key]) -> int:
    """How many pods these have, as far as that is known."""
    return sum(seen.facts[key]["pods"]["running"] or 0 for key in keys if key in seen.facts)


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def crowd(seen: Overview, keys: Collection[Key]) -> str:
    """`2 workloads with 5 pods (api, web)`."""
    names = sorted(key.name for key in keys)
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    told = f" ({', '.join(names[:NAMED])}{more})" if names else ""
    with_pods = f" with {counted(pods, 'pod')}" if (pods := pods_of(seen, keys)) else ""
    return f"{counted(len(names), 'workload')}{with_pods}{told}"


# Of a source


def approves(seen: Overview, waiting: Collection[Key]) -> str:
    return (
        f"Pods are replaced: {crowd(seen, waiting)} may roll with this content, at the pace that "
        "is set. It covers this content only; the next change waits again."
    )


def rejects(waiting: Collection[Key]) -> str:
    stay = "stays as it is" if len(waiting) == 1 else "stay as they are"
    return (
        f"Nothing rolls: {counted(len(waiting), 'workload')} {stay}, and your name and reason "
        "are shown. The next change waits for an approval of its own."
    )


def holds_source(rolled: int) -> str:
    return (
        f"None of the {counted(rolled, 'workload')} that a change of it rolls gets it, until it is "
        "released. A change is delayed, never lost."
    )


def releases_source(seen: Overview, behind: Collection[Key]) -> str:
    if not behind:
        return "Nothing rolls now: no workload waits for it."
    return f"Pods are replaced: {crowd(seen, behind)} may roll with what it holds."


def calls_urgent(seen: Overview, behind: Collection[Key]) -> str:
    now = f"Pods are replaced: {crowd(seen, behind)} may roll at once. " if behind else ""
    return (
        f"{now}Its changes pass windows, freezes, soak times, cooldowns and approvals, until that "
        "is removed; never a hold, and never a stop."
    )


CALMS = "Nothing rolls for that. From now on its changes wait as those of others do."


# Of a workload


def _pods(running: int | None) -> str:
    return (
        "its pods are"
        if running is None
        else f"{counted(running, 'pod')} of it " + ("is" if running == 1 else "are")
    )


HOLDS = (
    "It does not roll until it is released, or until a time comes. A change is delayed, never lost."
)


def releases(running: int | None, *, waits: bool) -> str:
    if not waits:
        return "Nothing rolls now: no change waits. The next one rolls it."
    return f"If a change waits, {_pods(running)} replaced, by its own strategy."


def restarts(running: int | None) -> str:
    how = "replaced by its own strategy, as kubectl rollout restart does"
    return f"{_sentence(_pods(running))} {how}."


def goes_back(running: int | None, revision: object) -> str:
    return (
        f"{_sentence(_pods(running))} replaced by pods with the content of revision {revision}. It "
        "stays there until a source changes again, or until it is released."
    )


def promotes(running: int | None) -> str:
    return (
        f"{_sentence(_pods(running))} replaced now, with what its canary tries: the canary is not "
        "waited for, and one that failed is passed over."
    )


def aborts(running: int | None) -> str:
    stay = "" if running is None else f"; {counted(running, 'pod')} of it stay as they are"
    return (
        f"The pods of the canary go{stay}. It does not roll with what was tried until its "
        "configuration changes again, or until it is promoted."
    )


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
