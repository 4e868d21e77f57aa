"""The kinds that one installation knows: the rows of ours, and those of its config file."""

from collections.abc import Iterable

from reroll.core.tables.kinds import KINDS, Kind
from reroll.core.tables.source_kinds import SOURCE_KINDS, SourceKind


class Tables:
    """The rows that one installation has: built once, from the settings, and passed on."""

    __slots__ = ("by_name", "custom", "kinds", "owners", "sources", "sources_by_name")

    def __init__(self, kinds: Iterable[Kind] = (), sources: Iterable[SourceKind] = ()) -> None:
        """Ours, and these."""
        more, more_sources = tuple(kinds), tuple(sources)
        self.kinds = (*KINDS, *more)
        self.sources = (*SOURCE_KINDS, *more_sources)
        self.custom: dict[str, Kind | SourceKind] = {row.name: row for row in more}
        self.custom |= {row.name: row for row in more_sources}
        self.by_name = {row.name: row for row in self.kinds}
        self.sources_by_name = {row.name: row for row in self.sources}
        self.owners = {(row.group, row.kind): row.name for row in self.kinds}
        """What makes and unmakes other objects, by group and kind."""

    def source_kind(self, alias: str) -> SourceKind | None:
        """The one that somebody means by `alias`, as written in an annotation or a record."""
        wanted = alias.lower()
        return next((kind for kind in self.sources if wanted in kind.aliases), None)


TABLES = Tables()
"""The rows that every installation has."""


def source_kind(alias: str) -> SourceKind | None:
    """The one of these that somebody means by `alias`."""
    return TABLES.source_kind(alias)
