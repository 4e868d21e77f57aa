"""What a container has of a source, by the times that the API server keeps.

Pure. A container gets its environment and its `subPath` files when it starts, and keeps them; the
kubelet renews plain mounts. So what counts is when each container started, which is later than its
pod did if it was restarted. An init container that has ended read what it read, and no more.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from enum import StrEnum

import msgspec

from reroll.core.model.key import Key
from reroll.core.observe.provenance import Writes
from reroll.core.policy.references import Use


class Verdict(StrEnum):
    STALE = "stale"
    CURRENT = "current"
    LIVE = "live"
    """It changed after the container started, and the kubelet renews the mounted files."""
    MISSING = "missing"
    """A new pod could not start."""
    UNKNOWN = "unknown"


class Finding(msgspec.Struct, frozen=True, gc=False):
    """One use of a source by one container that runs, or did its part before the others started."""

    source: Key
    use: Use
    verdict: Verdict
    started: datetime
    """When the container got what it has."""
    changed: datetime | None = None
    by: str = ""
    certain: bool = False
    """Nothing else than what it uses can have been written then."""
    why: str = ""


class HeldSince(msgspec.Struct, frozen=True, gc=False):
    """Since when a container has what it has; `ended`: and it reads nothing any more."""

    since: datetime
    ended: bool = False


Known = Callable[[Key], Writes | None]
"""The writes of a source; `None`: it does not exist. A `KeyError`: it may not be listed."""


def judge(
    namespace: str,
    uses: Iterable[Use],
    starts: Mapping[str, HeldSince],
    known: Known,
    *,
    mounts_are_live: bool = True,
) -> Iterator[Finding]:
    """Every use of a ConfigMap or Secret by the containers that started, in their order."""
    for use in uses:
        held = starts.get(use.container)
        source = Key(use.kind, namespace, use.name)
        if held is None or use.kind not in _KINDS:
            continue
        frozen = not use.live or held.ended or not mounts_are_live
        since = held.since
        try:
            there = known(source)
        except KeyError:
            why = f"{use.kind}s may not be listed"
            yield Finding(source, use, Verdict.UNKNOWN, since, why=why)
            continue
        yield _judged(source, use, since, there, frozen=frozen)


_KINDS = frozenset(("ConfigMap", "Secret"))
GONE = "it does not exist: a new pod could not start"


def _judged(
    source: Key, use: Use, since: datetime, there: Writes | None, *, frozen: bool
) -> Finding:
    def found(verdict: Verdict, why: str = "") -> Finding:
        return Finding(source, use, verdict, since, why=why)

    if there is None:
        return found(Verdict.CURRENT) if use.optional else found(Verdict.MISSING, GONE)
    if there.copy:
        return found(Verdict.CURRENT)
    if there.created and there.created > since:
        return _made_since(found, there, there.created, frozen=frozen)
    if not there.known:
        return found(Verdict.UNKNOWN, "its managedFields say nothing about its data")
    last = there.last(use.keys)
    if last is None and use.needs - there.keys and not use.optional:
        keys = ", ".join(sorted(use.needs - there.keys))
        return found(Verdict.MISSING, f"it has no {keys}: a new pod could not start")
    if last is None or last.at <= since:
        return found(Verdict.CURRENT)
    return msgspec.structs.replace(
        found(Verdict.STALE if frozen else Verdict.LIVE),
        changed=last.at,
        by=last.by,
        certain=last.is_sure_for(use.keys),
        why="" if last.is_sure_for(use.keys) else _unsure(last.by, last.only_data),
    )


def _unsure(by: str, only_data: bool) -> str:
    other = "other keys" if only_data else "labels or annotations"
    return f"unless {by} changed only {other} then"


def _made_since(
    found: Callable[..., Finding], there: Writes, created: datetime, *, frozen: bool
) -> Finding:
    """The source is younger than the container: it appeared, or was deleted and made again.

    The kubelet does not look again at a source that was immutable, so its mounts stay as they are.
    """
    last = there.last()
    stays = frozen or there.immutable
    why = "it was made after the container started, unless with the same content as one before"
    return msgspec.structs.replace(
        found(Verdict.STALE if stays else Verdict.LIVE, why),
        changed=last.at if last else created,
        by=last.by if last else "",
    )
