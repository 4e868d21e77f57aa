"""How one workload is treated, whoever decided it: what the dialects' annotations come to.

A bad value is a problem, never an exception and never silence; everything else of the policy still
applies.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import msgspec

from reroll.core.model.approval import Approval
from reroll.core.model.canary import CanaryPolicy
from reroll.core.model.content import Term
from reroll.core.model.key import Key, Problem
from reroll.core.model.pace import Pace
from reroll.core.model.reference import ALWAYS, Reference
from reroll.core.model.timing import Hold
from reroll.core.model.windows import ALWAYS_OPEN, Windows
from reroll.core.policy.patterns import Pattern, PatternIndex
from reroll.core.tables.annotations import DOMAIN
from reroll.core.tables.kinds import Kind, Strategy

_LAST = datetime.max.replace(tzinfo=UTC)


class Reload(msgspec.Struct, frozen=True, gc=False):
    """Where a pod listens for the request to read its configuration again, and when it is asked."""

    path: str = "/-/reload"
    port: int = 8080
    again: timedelta = timedelta(seconds=90)
    """How long a kubelet takes at most to bring a changed file: then it is asked again."""
    method: str = "POST"
    scheme: str = "http"


class Claim(msgspec.Struct, frozen=True, gc=False):
    """Sources that a dialect wants a workload to roll for."""

    term: Term = ALWAYS[0]
    kinds: frozenset[str] = frozenset()
    """Whatever the template refers to of these kinds."""
    named: tuple[Pattern, ...] = ()
    """Whether or not the template refers to them."""
    but: tuple[Pattern, ...] = ()
    """Never these."""


class Repair(msgspec.Struct, frozen=True, gc=False):
    """What another tool did to a workload so that its pods do not start, to be undone."""

    annotation: str
    """On the workload, with `text`: it tells that there is something to undo."""
    text: str
    field: str
    """Of the pod spec."""
    broken: str
    whole: str
    """What the field is set to, where it is `broken`."""
    waits: bool = False
    """Only once all is there that its pods need."""


class Pause(msgspec.Struct, frozen=True, gc=False):
    """Changes are gathered for a while: a roll is kept back so long, or the next one is."""

    period: timedelta
    mark: str
    """The annotation that tells since when."""
    since: datetime | None = None

    @property
    def until(self) -> datetime | None:
        if self.since is None:
            return None
        # A time that somebody wrote may be the last one there is.
        return self.since + min(self.period, _LAST - self.since)


class Policy(msgspec.Struct, frozen=True, gc=False):
    enabled: bool | None = None
    """`None`: nobody said anything."""
    claims: tuple[Claim, ...] = ()
    sources: tuple[Pattern, ...] = ()
    """Named by our own annotation; a part of a claim."""
    ignore: tuple[Pattern, ...] = ()
    mounts_are_live: bool = False
    strategy: Strategy | None = None
    """`None`: what its kind does by default."""
    debounce: timedelta = timedelta(seconds=1)
    debounce_limit: timedelta = timedelta(seconds=10)
    pause: Pause | None = None
    hold: Hold | None = None
    revisions: bool = False
    """Its pods use copies of its sources, those of its own revision."""
    pin: str = "auto"
    """Who has pods use them: `admission` when they are made, `template` by names in it."""
    reload: Reload = Reload()
    pace: Pace = Pace()
    approval: Approval = Approval()
    canary: CanaryPolicy = CanaryPolicy()
    window: Windows = ALWAYS_OPEN
    """When its rolls may begin."""
    before_expiry: timedelta | None = None
    """So long before a certificate that it uses runs out, no window keeps it from rolling."""
    notice: tuple[str, ...] = ()
    """The rows of `notices:` that it names."""
    notices: tuple[str, ...] = ()
    """The rows that get news of it."""
    repair: Repair | None = None
    problems: tuple[Problem, ...] = ()

    def strategy_for(self, kind: Kind) -> Strategy:
        return self.strategy or kind.default_strategy

    @property
    def by(self) -> tuple[str, ...]:
        """The dialects that opted it in."""
        return tuple(dict.fromkeys(claim.term.dialect for claim in self.claims))

    @property
    def named(self) -> Iterator[Pattern]:
        """All that annotations name, whoever wants it."""
        return (pattern for claim in self.claims for pattern in claim.named)


def usual(default: Policy, kind: Kind) -> Policy:
    """The default policy for a kind: a strategy that it cannot do is not meant for it."""
    if default.strategy is None or default.strategy in kind.strategies:
        return default
    return msgspec.structs.replace(default, strategy=None)


def for_kind(found: Policy, kind: Kind, where: Key) -> Policy:
    """The policy as far as this kind can follow it."""
    if found.strategy is None or found.strategy in kind.strategies:
        return found
    sentence = (
        f"annotation {DOMAIN}strategy for {where}: a {kind.name} cannot do "
        f"{found.strategy.value!r}; it does {kind.default_strategy.value!r} instead; use one of "
        f"{', '.join(kind.strategies)}"
    )
    return msgspec.structs.replace(
        found, strategy=None, problems=(*found.problems, Problem(sentence))
    )


def without_ignored(
    found: tuple[Reference, ...], policy: Policy, home: str
) -> tuple[Reference, ...]:
    """The references less what the policy ignores, whole sources or single keys."""
    if not policy.ignore:
        return found
    kept, index = [], PatternIndex(policy.ignore, home)
    for reference in found:
        ignored = tuple(index.matching(reference.source))
        if any(pattern.key is None for pattern in ignored):
            continue
        keys = frozenset(pattern.key for pattern in ignored if pattern.key)
        kept.append(msgspec.structs.replace(reference, without=keys) if keys else reference)
    return tuple(kept)


def joined(ref: Reference | None, source: Key, pattern: Pattern) -> Reference:
    """What the template uses of a source, together with what an annotation adds."""
    keys = frozenset((pattern.key,)) if pattern.key else None
    glob = str(pattern) if pattern.is_glob else ""
    if ref is None:
        return Reference(source, keys=keys, added=True, pattern=glob)
    if ref.keys is None or keys is None:
        return msgspec.structs.replace(ref, keys=None)
    return msgspec.structs.replace(ref, keys=ref.keys | keys)
