"""What a workload may refer to and what is watched at all; and what to tell of the rest."""

from collections.abc import Iterable
from fnmatch import fnmatchcase

from reroll.core.compare import Absence
from reroll.core.kinds import SourceKind
from reroll.core.objects import Content, Problem, Reference
from reroll.core.patterns import Pattern
from reroll.core.policy import ALLOW_FROM, IGNORE
from reroll.core.reasons import Reason
from reroll.features.rollout.scope import Scope
from reroll.features.rollout.sources import Sources


def consented(
    references: Iterable[Reference], home: str, sources: Sources
) -> tuple[tuple[Reference, ...], tuple[Problem, ...]]:
    """Without the sources of other namespaces that do not let this one refer to them."""
    kept, problems = [], []
    for ref in references:
        there = sources.content(ref.source)
        if there is Absence.FORBIDDEN:
            problems.append(_forbidden(ref.source, sources.rows[ref.source.kind]))
        elif isinstance(there, Content) and there.problem:
            where = f"annotation {IGNORE} on {ref.source}"
            problems.append(Problem(f"{where}: {there.problem}"))
        if ref.source.namespace == home or there is Absence.UNREAD or _allows(there, home):
            kept.append(ref)
        elif isinstance(there, Content):
            problems.append(
                Problem(
                    f"{ref.source} does not let namespace {home} refer to it; annotate it with "
                    f"{ALLOW_FROM}: {home!r}"
                )
            )
    return tuple(kept), tuple(problems)


def unreachable(
    named: Iterable[Pattern], home: str, scope: Scope, sources: Sources
) -> tuple[Problem, ...]:
    """Patterns that mean what is not watched, because of a setting or a missing right."""
    problems = []
    for pattern in named:
        if scope.is_out_of_reach(pattern):
            problems.append(
                Problem(
                    f"{pattern} is in a namespace that is not watched; add "
                    f"{pattern.namespace} to --namespaces"
                )
            )
        elif pattern.is_glob and sources.is_refused(pattern.kind, pattern.namespace or home):
            problems.append(_forbidden(pattern, sources.rows[pattern.kind]))
    return tuple(problems)


def _allows(source: Content | Absence, namespace: str) -> bool:
    return isinstance(source, Content) and any(
        fnmatchcase(namespace, glob) for glob in source.allow_from
    )


def _forbidden(what: object, row: SourceKind) -> Problem:
    reason = Reason.SOURCE_FORBIDDEN
    return Problem(
        f"{what} may not be read, so its changes roll nothing; grant `get`, `list` and `watch` on "
        f"{row.plural_to_watch}",
        reason,
    )
