"""Which features an installation has switched on, by its settings. Pure."""

from reroll.core.rights import DEFAULT, Feature
from reroll.features.doctor.access import Question, questions
from reroll.features.doctor.server import INJECTIONS
from reroll.kube import wire
from reroll.settings import Settings

APIS: dict[Feature, wire.Resource] = {Feature.INJECTIONS: INJECTIONS}
"""What must be served for a feature, of what a cluster may lack."""


def switched_on(settings: Settings) -> frozenset[Feature]:
    """Those whose rights it needs."""
    features = set(DEFAULT)
    if not settings.leader_election:
        features.discard(Feature.LEADER_ELECTION)
    return frozenset(features)


def names_of(settings: Settings) -> dict[str, str]:
    """The names of its own objects, as the rows of `core.rights` ask for them."""
    return {"digest_key": settings.digest_key, "lease": settings.lease}


def questions_of(settings: Settings, home: str) -> list[Question]:
    """The rights that an installation with these settings needs."""
    left = {name.lower() for name in settings.exclude_kinds}
    return questions(
        [kind for kind in settings.tables.kinds if kind.name.lower() not in left],
        settings.tables.sources,
        switched_on(settings),
        home=home,
        namespaces=settings.namespaces,
        names=names_of(settings),
    )
