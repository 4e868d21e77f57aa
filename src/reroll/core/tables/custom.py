"""Rows for the tables of kinds, as a config file describes them.

    kinds:
      - group: monitoring.coreos.com
        version: v1
        kind: Prometheus
        resource: prometheuses
        references:
          - {source: Secret, path: "spec.secrets[*]"}
        stamp: {annotations: spec.podMetadata.annotations}

Pure. Everything that is wrong with a file is told at once, a sentence each.
"""

from collections.abc import Sequence
from typing import Any

from reroll.core.tables.catalog import Tables
from reroll.core.tables.custom_rows import KindRow, ReferenceRow, SourceRow, path, rows
from reroll.core.tables.kinds import (
    EACH,
    KINDS,
    ROLLS,
    Condition,
    Counts,
    Kind,
    Members,
    Naming,
    Path,
    Revisions,
    Stamp,
    Strategy,
)
from reroll.core.tables.source_kinds import SOURCE_KINDS, SourceKind, Watched

_NO_CONTENT = frozenset(("metadata", "apiVersion", "kind", "type", "immutable"))
_ROOTS = frozenset(("spec", "status"))
_ON_TEMPLATE = frozenset((Strategy.STAMP, Strategy.RESTART))
_ON_PODS = frozenset((Strategy.EVICT, Strategy.RELOAD))


def tables(kinds: Any, sources: Any, *, served: bool = True) -> tuple[Tables, list[str]]:
    """The tables with the rows of a file, and all that is wrong with those.

    `served`: the rows are for whoever asks an API server, who has to know how it calls them.
    """
    problems: list[str] = []
    source_rows = [
        _source(row, where, problems)
        for where, row in rows(sources, "sources", SourceRow, problems)
    ]
    _check_sources(source_rows, problems)
    known = Tables(sources=source_rows)
    kind_rows = [
        _Row(where, row, known, problems).kind(served=served)
        for where, row in rows(kinds, "kinds", KindRow, problems)
    ]
    _check_twice((*KINDS, *kind_rows), "kinds", problems)
    both = {row.name for row in kind_rows} & {row.name for row in source_rows}
    problems += [f"sources: {name} is a row of kinds, and cannot be both" for name in sorted(both)]
    return Tables(kind_rows, source_rows), problems


class _Row:
    """One row of `kinds:` on its way into the table."""

    def __init__(self, where: str, row: KindRow, known: Tables, problems: list[str]) -> None:
        self._where, self._row, self._known, self._problems = where, row, known, problems

    def kind(self, *, served: bool) -> Kind:
        row, health = self._row, self._row.health
        for field, value in (("version", row.version), ("resource", row.resource)):
            if served and not value:
                self._wrong(field, "is missing")
        template = self._path("template", row.template)
        stamp, members = self._stamp(), self._members()
        return Kind(
            named(row.kind, row.group),
            row.group,
            row.version or "",
            row.resource or "",
            template,
            self._strategies(),
            revisions=self._revisions(),
            still=self._path("paused", row.paused),
            update_strategy=self._path("updateStrategy", row.update_strategy),
            replicas=self._path("health.replicas", health.replicas),
            counts=self._counts(),
            names=tuple(self._naming(n, one) for n, one in enumerate(row.references)),
            stamp=stamp,
            members=members,
            well=Condition(health.condition.type, health.condition.status)
            if health.condition
            else None,
            observes=health.observed_generation,
            loose=True,
        )

    def _wrong(self, field: str, told: str) -> None:
        self._problems.append(f"{self._where}: {field}: {told}")

    def _path(self, field: str, text: str, *, each: bool = False, roots: Any = _ROOTS) -> Path:
        if not text:
            return ()
        try:
            steps = path(text)
        except ValueError as error:
            self._wrong(field, str(error))
            return ()
        if steps[0] not in roots:
            self._wrong(field, f"{text!r} has to begin with {' or '.join(sorted(roots))}")
            return ()
        if EACH in steps and not each:
            self._wrong(field, f"{text!r} has to lead to one place; take [*] out")
            return ()
        return steps

    def _naming(self, number: int, given: ReferenceRow) -> Naming:
        field = f"references[{number}]"
        source = self._known.source_kind(given.source)
        if source is None:
            names = ", ".join(row.aliases[0] for row in self._known.sources)
            self._wrong(f"{field}.source", f"{given.source!r} is not a kind of source; use {names}")
        steps = self._path(f"{field}.path", given.path, each=True)
        return Naming(source.name if source else "", steps, given.optional)

    def _stamp(self) -> Stamp | None:
        given = self._row.stamp
        if given is None:
            return None
        roots = frozenset(("spec", "metadata"))
        steps = self._path("stamp.annotations", given.annotations, roots=roots)
        if steps[:1] == ("metadata",) and steps != ("metadata", "annotations"):
            told = f"{given.annotations!r} can only be metadata.annotations there"
            self._wrong("stamp.annotations", told)
        return Stamp(steps, given.name or "", given.value)

    def _members(self) -> Members | None:
        given = self._row.pods
        if given is None:
            return None
        if bool(given.label) == bool(given.selector):
            self._wrong("pods", "give either a label or a selector")
        return Members(self._path("pods.selector", given.selector), given.label or "")

    def _counts(self) -> Counts | None:
        health = self._row.health
        given = {name: getattr(health, name) for name in ("current", "updated", "available")}
        if not any((*given.values(), health.partition)):
            return None
        missing = [
            name for name, text in (*given.items(), ("replicas", health.replicas)) if not text
        ]
        if missing:
            self._wrong("health", f"counts pods only with all of them; add {', '.join(missing)}")
        there, updated, available = (
            self._path(f"health.{name}", text) for name, text in given.items()
        )
        partition = self._path("health.partition", health.partition)
        return Counts(there, updated, available, partition=partition)

    def _strategies(self) -> tuple[Strategy, ...]:
        row = self._row
        able = {
            *(_ON_TEMPLATE if row.template or row.stamp else ()),
            *(_ON_PODS if row.template or row.pods else ()),
            *((Strategy.ENV,) if row.template else ()),
            Strategy.NOTIFY,
        }
        wanted = []
        for word in row.strategies:
            if word not in able:
                needs = _NEEDS.get(word, f"is not a strategy; use {', '.join(sorted(able))}")
                self._wrong("strategies", f"{word[:80]} {needs}")
            else:
                wanted.append(Strategy(word))
        usual = tuple(strategy for strategy in ROLLS if strategy in able)
        return tuple(dict.fromkeys(wanted)) or usual

    def _revisions(self) -> Revisions:
        given = self._row.revisions
        if given not in set(Revisions):
            known = " or ".join(filter(None, Revisions))
            self._wrong("revisions", f"{given!r} is nothing that keeps templates; use {known}")
            return Revisions.NONE
        return Revisions(given)


_FOR_JOBS = "is for CronJobs and Jobs only"
_NEEDS: dict[str, str] = {
    Strategy.STAMP: "needs a place to write to; add template or stamp",
    Strategy.RESTART: "needs a place to write to; add template or stamp",
    Strategy.ENV: "needs a pod template; add template",
    Strategy.EVICT: "needs to know the pods; add template or pods",
    Strategy.RELOAD: "needs to know the pods; add template or pods",
    Strategy.TRIGGER: _FOR_JOBS,
    Strategy.RECREATE: _FOR_JOBS,
    Strategy.NEXT_RUN: _FOR_JOBS,
}


def named(kind: str, group: str) -> str:
    """What a row of a file is called: two groups may have the same kind."""
    return f"{kind}.{group}" if group else kind


def _source(row: SourceRow, where: str, problems: list[str]) -> SourceKind:
    paths = []
    for number, text in enumerate(row.paths):
        try:
            paths.append(path(text))
        except ValueError as error:
            problems.append(f"{where}: paths[{number}]: {error}")
        else:
            if paths[-1][0] in _NO_CONTENT:
                told = f"{text!r} is not content; use e.g. spec"
                problems.append(f"{where}: paths[{number}]: {told}")
    if not row.paths:
        problems.append(f"{where}: paths: is empty; leave it out, and all of spec is content")
    name = named(row.kind, row.group)
    words = row.aliases or [row.kind, row.resource]
    aliases = tuple(dict.fromkeys(word.lower() for word in (*words, name)))
    watched = Watched.METADATA if row.secret else Watched.WHOLE
    return SourceKind(
        name, row.group, row.version, row.resource, aliases, watched,
        keyed=row.secret, paths=tuple(paths),
    )  # fmt: skip


def _check_sources(given: list[SourceKind], problems: list[str]) -> None:
    _check_twice((*SOURCE_KINDS, *given), "sources", problems)
    taken: dict[str, str] = {alias: row.name for row in SOURCE_KINDS for alias in row.aliases}
    for row in given:
        for alias in row.aliases:
            if taken.setdefault(alias, row.name) != row.name:
                problems.append(
                    f"sources ({row.kind}): aliases: {alias!r} means {taken[alias]} already; "
                    "give it another"
                )


def _check_twice(all_rows: Sequence[Kind | SourceKind], where: str, problems: list[str]) -> None:
    names = [named(row.kind, row.group) for row in all_rows]
    twice = sorted({name for name in names if names.count(name) > 1})
    problems += [f"{where}: {name} is in the table already; take one row out" for name in twice]
