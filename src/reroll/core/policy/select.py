"""The references that count, and on whose terms: what the policy makes of a pod template."""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain

import msgspec

from reroll.core.model.content import Term
from reroll.core.model.key import Key
from reroll.core.model.reference import Reference
from reroll.core.policy.patterns import Pattern, PatternIndex
from reroll.core.policy.policy import Claim, Policy, joined, without_ignored
from reroll.core.policy.references import Use, references

Matching = Callable[[Pattern], Iterable[Key]]


def claimed(
    home: str, uses: Iterable[Use], policy: Policy, matching: Matching
) -> tuple[Reference, ...]:
    """One reference for each source; `matching` tells which sources a pattern means."""
    made = {
        ref.source: ref for ref in references(home, uses, mounts_are_live=policy.mounts_are_live)
    }
    found: dict[Key, Reference] = {}
    terms: dict[Key, list[Term]] = {}
    for claim in policy.claims:
        for source, pattern in _sources(claim, made, home, matching):
            known = found.get(source) or made.get(source)
            found[source] = joined(known, source, pattern) if pattern else known or made[source]
            terms.setdefault(source, []).append(claim.term)
    all_terms = {source: tuple(dict.fromkeys(each)) for source, each in terms.items()}
    kept = (
        msgspec.structs.replace(found[source], terms=all_terms[source]) for source in sorted(found)
    )
    return without_ignored(tuple(kept), policy, home)


def claimed_source(home: str, uses: Iterable[Use], policy: Policy, source: Key) -> Reference | None:
    """The one of `claimed` to this source, without a look at any other."""
    mine = [use for use in uses if (use.kind, home, use.name) == source]
    found = claimed(home, mine, policy, lambda one: (source,) if one.matches(source, home) else ())
    return found[0] if found else None


def _sources(
    claim: Claim, made: Iterable[Key], home: str, matching: Matching
) -> Iterator[tuple[Key, Pattern | None]]:
    """What a claim means, and the pattern that names it, if one does."""
    referred = ((source, None) for source in made if source.kind in claim.kinds)
    named = ((source, pattern) for pattern in claim.named for source in matching(pattern))
    but = PatternIndex(claim.but, home)
    for source, pattern in chain(referred, named):
        if not claim.but or not any(but.matching(source)):
            yield source, pattern
