"""Which features an installation has switched on, and the rights it needs for them. Pure."""

from reroll.core.model.gates import Analysis
from reroll.core.tables.rights import Feature
from reroll.features.checkup.access import Question, questions
from reroll.kube import resources, wire
from reroll.settings.table import SETTINGS, Settings

APIS: dict[Feature, tuple[wire.Resource, str]] = {
    Feature.INJECTIONS: (resources.INJECTIONS, "apply what `reroll crds` prints"),
    Feature.ANALYSIS: (resources.ANALYSIS_RUNS, "install Argo Rollouts"),
}
"""What must be served for a feature, of what a cluster may lack, and what to do where it does."""


def switched_on(settings: Settings) -> frozenset[Feature]:
    """Those whose rights it needs."""
    switches = {
        Feature.LEADER_ELECTION: settings.leader_election,
        Feature.WEBHOOK: bool(settings.webhook),
        Feature.INJECTIONS: settings.injections,
        Feature.ANALYSIS: any(isinstance(one.question, Analysis) for one in settings.gates),
    }
    others = (feature for feature, is_on in switches.items() if is_on)
    return frozenset((Feature.ROLLING, *map(Feature, settings.features), *others))


def questions_of(settings: Settings, home: str) -> list[Question]:
    """The rights that an installation with these settings needs."""
    left = {name.lower() for name in (*settings.exclude_kinds, *settings.exclude_sources)}
    return questions(
        [row for row in settings.tables.kinds if row.name.lower() not in left],
        [row for row in settings.tables.sources if row.name.lower() not in left],
        switched_on(settings),
        home=home,
        namespaces=settings.namespaces,
        names={row.name: str(getattr(settings, row.name)) for row in SETTINGS},
    )
