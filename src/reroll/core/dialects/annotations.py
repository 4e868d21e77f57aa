"""The annotations of this product that have a value: a table each for workloads and sources.

Each row says what a value means; rows `policies:` of a config file have the same keys.
"""

# ruff: noqa: E501  the tables read best one row a line

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any, TypeVar

import msgspec

from reroll.core.model.approval import Approval
from reroll.core.model.gates import NO_NAMES
from reroll.core.model.names import quoted
from reroll.core.model.pace import SourcePace
from reroll.core.model.timing import ANY_TIME, Hold, SourceTiming
from reroll.core.model.windows import Windows
from reroll.core.policy.approval import (
    parse_approved,
    parse_rejected,
    parse_required,
    parse_required_of_source,
    parse_timeout,
)
from reroll.core.policy.canary import parse_pause, parse_size
from reroll.core.policy.durations import parse_duration, parse_time
from reroll.core.policy.gates import parse_names
from reroll.core.policy.pace import (
    parse_group,
    parse_on_failure,
    parse_parallel,
    parse_rolls,
    parse_wave,
)
from reroll.core.tables.annotations import DOMAIN, PIN_MODES
from reroll.core.tables.kinds import Strategy

S = TypeVar("S", bound=msgspec.Struct)


class Annotation(msgspec.Struct, frozen=True):
    """One key of the reroll dialect."""

    name: str
    field: str
    parse: Callable[[str], Any]
    """The value, or a `ValueError` whose text says what to write instead."""
    help: str
    example: str
    otherwise: Callable[[str], Any] | None = None
    """What a value that cannot be used comes to; without it, nothing was said."""

    @property
    def key(self) -> str:
        return DOMAIN + self.name


def boolean(text: str) -> bool:
    match text.strip().lower():
        case "true":
            return True
        case "false":
            return False
    raise ValueError('is neither "true" nor "false"')


def _duration(text: str) -> timedelta:
    duration = parse_duration(text)
    if duration is None or duration > timedelta(days=1):
        raise ValueError('is not a duration of at most a day; write e.g. "1s" or "500ms"')
    return duration


def _deadline(text: str) -> timedelta:
    if duration := _duration(text):
        return duration
    raise ValueError('is no time at all; write e.g. "10m"')


def _unpinned(text: str) -> bool:
    return not boolean(text)


def _strategy(text: str) -> Strategy:
    try:
        return Strategy(text.strip())
    except ValueError:
        raise ValueError(f"is no strategy; use one of {', '.join(Strategy)}") from None


def _mounts(text: str) -> bool:
    match text.strip():
        case "live":
            return True
        case "frozen":
            return False
    raise ValueError('is neither "frozen" nor "live"')


def _pin(text: str) -> str:
    if (mode := text.strip()) in PIN_MODES:
        return mode
    raise ValueError(f"is none of {', '.join(PIN_MODES)}")


def _port(text: str) -> int:
    digits = text.strip()
    if digits.isdecimal() and len(digits) <= 5 and 0 < int(digits) < 65536:
        return int(digits)
    raise ValueError("is not a port number between 1 and 65535")


def _path(text: str) -> str:
    if text.startswith("/") and text.isascii() and text.isprintable() and " " not in text:
        return text
    raise ValueError('is not an absolute URL path; write e.g. "/-/reload"')


def _names(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if len(names) > 10 or any("/" in name or ":" in name or len(name) > 40 for name in names):
        raise ValueError(
            "is no list of at most ten names; name rows of `notices:`, e.g. team-shop, never a URL"
        )
    return names


def parse_hold(text: str) -> Hold | None:
    """`until TIME reason`, or a reason, or just `true`. What is no time is a reason to hold too."""
    said = text.strip()
    if said.lower() in {"", "false"}:
        return None
    if said.lower() == "true":
        return Hold()
    word, _, rest = said.partition(" ")
    moment, _, why = rest.strip().partition(" ")
    until = parse_time(moment.rstrip(":,;")) if word.lower() == "until" else None
    return Hold(until, why.strip()) if until else Hold(why=said[:200])


def _required(_: str) -> bool:
    """Who asks for an approval in words that nobody knows gets one."""
    return True


def _no_gate(_: str) -> tuple[str, ...]:
    """A gate of which nothing can be known: who asks for one does not roll without."""
    return (NO_NAMES,)


def _windows(text: str) -> Windows:
    from reroll.core.policy.windows import parse_windows  # Few workloads have one.

    return parse_windows(text)


def _closed(told: str) -> Windows:
    return Windows(problem=told)


def _before_expiry(text: str) -> timedelta | None:
    if text.strip().lower() in {"true", "false"}:
        return ANY_TIME if boolean(text) else None
    duration = parse_duration(text)
    if not duration or duration > timedelta(days=365):
        raise ValueError('is neither "true", "false" nor a time like "48h"')
    return duration


ANNOTATIONS: tuple[Annotation, ...] = (
    Annotation("enabled", "enabled", boolean, "opt in, or out", '"true"'),
    Annotation("mounts", "mounts_are_live", _mounts, "`live`: the application reads mounted files again itself, so plain mounts do not roll it", "live"),
    Annotation("strategy", "strategy", _strategy, "how it gets its new configuration", "evict"),
    Annotation("debounce", "debounce", _duration, "quiet time before a roll, so that one `apply` of five objects is one roll", "5s"),
    Annotation("hold", "hold", parse_hold, "do not roll it now: `true`, a reason, or `until` a time and a reason; on a workload, `false` lets it go although its Namespace is held", "until 2026-11-16T09:00:00Z incident 42"),
    Annotation("revisions", "revisions", boolean, "pods use immutable copies of its ConfigMaps and Secrets, those of their own revision", '"true"'),
    Annotation("pin", "pin", _pin, "how they come to use them: `admission` when a pod is made, `template` by names in the pod template, `auto` by what is installed", "template"),
    Annotation("reload-port", "reload.port", _port, "strategy `reload`: the port that each pod listens on", '"9090"'),
    Annotation("reload-path", "reload.path", _path, "strategy `reload`: the path of the request", "/-/reload"),
    Annotation("reload-again", "reload.again", _duration, "strategy `reload`: after how long each pod is asked a second time, because the kubelet has brought its files by then", "90s"),
    Annotation("wave", "pace.wave", parse_wave, "workloads of lower waves get a change first; the next wave begins when those below are healthy", '"1"'),
    Annotation("max-parallel", "pace.max_parallel", parse_parallel, "how many of those that a change concerns may be under way at once: `all`, `one`, a number, a percentage, or `doubling` for 1, 2, 4 and so on", "10%"),
    Annotation("soak", "pace.soak", _duration, "how long it has to stay healthy before it counts as healthy with a change", "2m"),
    Annotation("deadline", "pace.deadline", _deadline, "an unfinished rollout counts as failed after this time; without it, by `progressDeadlineSeconds`, else after ten minutes", "10m"),
    Annotation("on-failure", "pace.on_failure", parse_on_failure, "what it means if it fails with a change: `hold` the others back, `rollback` those that have it, or `continue`", "rollback"),
    Annotation("exclusive", "pace.exclusive", parse_group, "the name of a group, of which no two are under way at once", "databases"),
    Annotation("cooldown", "pace.cooldown", _duration, "least time between two of its rolls", "1h"),
    Annotation("max-rolls", "pace.max_rolls", parse_rolls, "most rolls in a time: beyond it, what its sources hold rolls once they keep still; `0/1h` for any number", "20/1h"),
    Annotation("approval", "approval.required", parse_required, "`required`: a content that it would roll with waits until somebody approves that very content", "required", _required),
    Annotation("approval-timeout", "approval.timeout", parse_timeout, "after how long people are told again that a content waits for approval; it does not roll for that", "4h"),
    Annotation("canary", "canary.size", parse_size, "a Deployment with revisions gets a change only after so many extra pods with it were healthy, a StatefulSet after so many of its last pods: a number, a percentage of its replicas, or `none`", '"1"'),
    Annotation("canary-pause", "canary.manual", parse_pause, "`manual`: a healthy canary waits for `reroll promote` or `reroll abort`", "manual"),
    Annotation("window", "window", _windows, "its rolls begin only then: days, times and a zone, or names of windows of the config file; `;` between several, `always` for none", "Mon-Fri 09:00-17:00 Europe/Oslo", _closed),
    Annotation("urgent-before-expiry", "before_expiry", _before_expiry, "no window holds it if a certificate that it uses runs out before the next one opens: `true`, or only from a time before that on", "48h"),
    Annotation("gates", "pace.gates", parse_names, "names of gates of the config file: all have to be open before it rolls, and while it soaks", "errors, shop-alerts", _no_gate),
    Annotation("notice", "notice", _names, "the rows of `notices:` that are told of it, those that have to be named; names, with commas", "team-shop"),
)  # fmt: skip

SOURCE_ANNOTATIONS: tuple[Annotation, ...] = (
    Annotation("max-parallel", "pace.max_parallel", parse_parallel, "how many of the workloads that use it may be under way with a change of it at once: `all`, `one`, a number, a percentage, or `doubling`", "doubling"),
    Annotation("soak", "pace.soak", _duration, "how long each of them has to stay healthy with a change of it", "5m"),
    Annotation("on-failure", "pace.on_failure", parse_on_failure, "what it means if one of them fails with a change of it: `hold`, `rollback` or `continue`; a Secret goes back only if it says so itself", "rollback"),
    Annotation("revisions", "unpinned", _unpinned, "`false`: workloads with revisions roll for it, and use no copy of it, because its old content must not be used any more", '"false"'),
    Annotation("approval", "approval.required", parse_required_of_source, "`required`: what it holds rolls nothing until somebody approves that very content", "required"),
    Annotation("approval-timeout", "approval.timeout", parse_timeout, "after how long people are told again that what it holds waits for approval", "4h"),
    Annotation("approved", "approval.approved", parse_approved, "the content that was approved, and by whom; `reroll approve` writes it", "5f9c2d1a7b0e4c6d8f1a2b3c4d5e6f70 by alice"),
    Annotation("rejected", "approval.rejected", parse_rejected, "the content that was rejected, by whom and why; `reroll reject` writes it", '"5f9c2d1a7b0e4c6d8f1a2b3c4d5e6f70 by bob: wrong pool size"'),
    Annotation("hold", "timing.hold", parse_hold, "nothing rolls for it now: `true`, a reason, or `until` a time and a reason", "until 2026-11-16T09:00:00Z incident 42"),
    Annotation("window", "timing.window", _windows, "rolls for it begin only then, as on a workload; where both say something, both have to be open", "daily 02:00+3h UTC", _closed),
    Annotation("urgent", "timing.urgent", boolean, "changes of it pass windows, soak times, cooldowns and approvals; never a hold, and never a stop", '"true"'),
)  # fmt: skip

# These two are lists: each item is judged on its own.
SOURCE_LISTS = {"sources": "sources", "ignore": "ignore"}


class SourcePolicy(msgspec.Struct, frozen=True, gc=False):
    """What is said of a source, by its own annotations or by rows of the settings."""

    pace: SourcePace = SourcePace()
    timing: SourceTiming = SourceTiming()
    unpinned: bool = False
    approval: Approval = Approval()


def parsed(
    rows: Sequence[Annotation], annotations: Mapping[str, str], values: dict[str, Any]
) -> Iterator[tuple[str, str]]:
    """Put what annotations say into `values`, by field; yield each bad one with what is wrong."""
    for row in rows:
        if (text := annotations.get(row.key)) is None:
            continue
        try:
            values[row.field] = row.parse(text)
        except ValueError as error:
            told = f"{quoted(text)} {error}"
            if row.otherwise is not None:
                values[row.field] = row.otherwise(told)
            yield row.key, told


def with_values(default: S, values: Mapping[str, Any]) -> S:
    """A struct with other values; `pace.wave` is a field of a field."""
    flat: dict[str, Any] = {}
    nested: dict[str, dict[str, Any]] = {}
    for field, value in values.items():
        outer, _, inner = field.partition(".")
        if inner:
            nested.setdefault(outer, {})[inner] = value
        else:
            flat[outer] = value
    for outer, fields in nested.items():
        flat[outer] = msgspec.structs.replace(getattr(default, outer), **fields)
    return msgspec.structs.replace(default, **flat)
