"""What a workload may refer to and what is watched at all; and what to tell of the rest."""

from collections.abc import Iterable, Mapping, Sequence

from reroll.core.model.content import Content
from reroll.core.model.key import Key, Problem
from reroll.core.model.reference import Reference
from reroll.core.observe.snapshot import Absence
from reroll.core.policy.patterns import Pattern
from reroll.core.tables import limits
from reroll.core.tables.annotations import ALLOW_FROM
from reroll.core.tables.reasons import Reason
from reroll.core.tables.source_kinds import SourceKind
from reroll.engine.globs import Place
from reroll.engine.scope import Scope
from reroll.engine.sources import Sources


def consented(
    references: Iterable[Reference], home: str, sources: Sources
) -> tuple[tuple[Reference, ...], tuple[Problem, ...]]:
    """Without the sources of other namespaces that do not let this one refer to them.

    Nothing is told of those: whether there is one is nobody's business here.
    """
    kept, problems = [], []
    for ref in references:
        there = sources.content(ref.source)
        if there is Absence.FORBIDDEN:
            problems.append(_forbidden(ref.source, sources.rows[ref.source.kind]))
        if not (ref.source.namespace == home or there is Absence.UNREAD or _allows(there, home)):
            continue
        kept.append(ref)
        for annotation, told in there.problems if isinstance(there, Content) else ():
            problems.append(Problem(f"annotation {annotation} on {ref.source}: {told}"))
        if isinstance(there, Content) and there.wholes and ref.keys is None and ref.without:
            problems.append(_counts_whole(ref.source))
    return tuple(kept), tuple(problems)


def unreachable(
    named: Iterable[Pattern],
    home: str,
    scope: Scope,
    sources: Sources,
    kept: Sequence[Reference],
) -> tuple[Problem, ...]:
    """Patterns that mean what is not watched, or nothing that lets this namespace refer to it.

    What does not exist and what does not let it are told alike: otherwise anybody could learn the
    names of all Secrets of the cluster by asking.
    """
    problems = []
    reached: dict[Place, set[str]] = {}
    for ref in kept:
        reached.setdefault((ref.source.kind, ref.source.namespace), set()).add(ref.source.name)
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
        elif pattern.namespace not in {None, home} and not _reaches(pattern, reached):
            problems.append(
                Problem(
                    f"{pattern} does not exist, or does not let namespace {home} refer to it; its "
                    f"owner annotates it with {ALLOW_FROM}: {home!r}"
                )
            )
    return tuple(problems)


def _reaches(pattern: Pattern, reached: Mapping[Place, set[str]]) -> bool:
    """Whether a pattern that names a namespace means one of these."""
    names = reached.get((pattern.kind, pattern.namespace or ""), ())
    return any(map(pattern.means, names)) if pattern.is_glob else pattern.name in names


def _counts_whole(source: Key) -> Problem:
    return Problem(
        f"{source} has more than {limits.KEYS.number} keys, so a change of any of them counts; to "
        "ignore single keys, move the others to a source of their own",
        Reason.TOO_MANY_KEYS,
    )


def _allows(source: Content | Absence, namespace: str) -> bool:
    return isinstance(source, Content) and source.allows(namespace)


def _forbidden(what: object, row: SourceKind) -> Problem:
    reason = Reason.SOURCE_FORBIDDEN
    return Problem(
        f"{what} may not be read, so its changes roll nothing; grant `get`, `list` and `watch` on "
        f"{row.plural_to_watch}",
        reason,
    )
