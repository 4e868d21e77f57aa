"""Which Injections are in the way of one: among those that are allowed to do what they ask for.

An Injection of another namespace is in nobody's way without the consent of what it names, and is
not named to anyone outside its namespace.
"""

from reroll.core.dialects.reroll import consents
from reroll.core.model.fieldpaths import text
from reroll.core.model.injection import Injection
from reroll.core.model.key import Key
from reroll.core.model.metadata import Metadata
from reroll.core.tables.annotations import INJECTION_WRITERS
from reroll.core.tables.reasons import Reason
from reroll.features.injection import decide
from reroll.features.injection.consent import Consents
from reroll.features.injection.decide import MOST_CLAIMS, BlockedError, Consent, Hop, Target
from reroll.features.injection.registry import Registry
from reroll.kube import wire


class Conflicts:
    def __init__(self, registry: Registry, allowed: Consents) -> None:
        self._registry, self._consents = registry, allowed

    async def check(
        self,
        injection: Injection,
        resource: wire.Resource,
        target: Target,
        observed: Metadata | None,
    ) -> None:
        """`BlockedError` if others are in its way. `observed`: the target, if it was looked at."""
        if target.is_source:
            await self._check_loop(injection, target)
        homes = set(self._registry.claims.homes(target))
        if homes - {injection.key.namespace} and observed is None:
            observed = await self._consents.metadata(resource, target)
        self.check_claims(injection, target, observed)

    def check_claims(self, injection: Injection, target: Target, observed: Metadata | None) -> None:
        """The same, of those that may write to the target as it was observed."""
        home = injection.key.namespace
        annotations = observed.annotations if observed else None
        rivals = [
            rival
            for other in self._registry.claims.homes(target)
            if not self._consents.is_needed(target, other)
            or consents(annotations, other, INJECTION_WRITERS)
            for rival in self._registry.claimants(injection, target, other)
        ]
        if first := decide.first_claim(injection, rivals):
            raise _claimed(injection, first, target)
        if self._registry.claims.rank(injection, target, home) >= MOST_CLAIMS:
            raise BlockedError(
                Reason.TOO_MANY_INJECTIONS,
                f"namespace {home} has more than {MOST_CLAIMS} Injections for {target}, and only "
                f"the oldest {MOST_CLAIMS} are carried out; delete some",
            )

    async def _check_loop(self, injection: Injection, target: Target) -> None:
        given: set[Consent] = set()
        refused: set[Consent] = set()
        writers = self._registry.writers
        while True:
            hops = decide.loop(target.key, injection.sources, writers, refused)
            if hops is None:
                return
            # From what is read: a namespace that may not write there is ruled out at once.
            needed = [consent for hop in reversed(hops) for consent in hop.consents]
            first = await self._consents.first_refused(needed, given)
            if first is None:
                raise _loop(injection, target.key, hops)
            refused.add(first)


def _claimed(injection: Injection, first: Injection, target: Target) -> BlockedError:
    if first.key.namespace == injection.key.namespace:
        sentence = f"{first.key} came first and already writes to {text(first.path)} of {target}"
    else:
        sentence = (
            f"an Injection of another namespace came first and already writes to "
            f"{text(injection.path)} of {target}, or around it"
        )
    return BlockedError(Reason.CLAIMED, sentence, by=(first.key,))


def _loop(injection: Injection, target: Key, hops: list[Hop]) -> BlockedError:
    way = [target, *(hop.target for hop in hops)]
    named = {*injection.sources, target}
    home = injection.key.namespace
    steps = " to ".join(
        str(step) if step in named or step.namespace == home else "an object of another namespace"
        for step in way
    )
    return BlockedError(
        Reason.LOOP,
        f"it reads {way[-1]} and would write back to it: {steps}",
        by=(hop.by for hop in hops),
    )
