"""How people name sources in an annotation: `configmap/app, secret/db#password, secret/ca-*`.

A pattern is a kind, an optional namespace, a name that may be a glob (`*`, `?`, `[abc]`), and an
optional key after `#`. A pattern that cannot be read is a problem, and the others still count.
"""

import re
from fnmatch import fnmatchcase

import msgspec

from reroll.core.model.key import Key, Problem
from reroll.core.policy.regexes import compiled
from reroll.core.tables.catalog import TABLES, Tables

_NAME = re.compile(r"[a-z0-9*?]([-a-z0-9.*?]*[a-z0-9*?])?")
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_DATA_KEY = re.compile(r"[-._a-zA-Z0-9]+")
_GLOB = re.compile(r"[*?\[]")
_BRACKETS = re.compile(r"\[!?[-a-z0-9.]+\]")


class Pattern(msgspec.Struct, frozen=True, gc=False):
    kind: str
    namespace: str | None
    name: str
    key: str | None = None
    regex: bool = False
    """Its name is a regular expression."""

    @property
    def is_glob(self) -> bool:
        """Whether it may mean several sources."""
        return self.regex or _GLOB.search(self.name) is not None

    def means(self, name: str) -> bool:
        return compiled(self.name).matches(name) if self.regex else fnmatchcase(name, self.name)

    def matches(self, source: Key, home: str) -> bool:
        """Whether it means `source` when it stands on an object of the namespace `home`."""
        return (
            self.kind == source.kind
            and (self.namespace or home) == source.namespace
            and self.means(source.name)
        )

    def __str__(self) -> str:
        namespace = f"{self.namespace}/" if self.namespace else ""
        key = f"#{self.key}" if self.key else ""
        return f"{self.kind.lower()}/{namespace}{'~' if self.regex else ''}{self.name}{key}"


def parse_patterns(
    text: str, where: str, tables: Tables = TABLES
) -> tuple[tuple[Pattern, ...], tuple[Problem, ...]]:
    """The patterns in a comma list, and a problem for each that is none. `where` names the list."""
    patterns: list[Pattern] = []
    problems: list[Problem] = []
    for part in text.split(","):
        item = part.strip()
        if not item:
            continue
        parsed = _parse(item, tables)
        if isinstance(parsed, Pattern):
            patterns.append(parsed)
        else:
            problems.append(Problem(f"{where}: {item[:80]!r} {parsed}"))
    return tuple(dict.fromkeys(patterns)), tuple(problems)


def _parse(item: str, tables: Tables) -> Pattern | str:
    """The pattern, or what is wrong with it and what to write instead."""
    path, _, key = item.partition("#")
    parts = path.split("/")
    if len(parts) not in {2, 3}:
        return 'is not a source; write e.g. "configmap/app" or "secret/other-namespace/db#password"'
    kind = tables.source_kind(parts[0])
    if kind is None:
        known = ", ".join(row.aliases[0] for row in tables.sources)
        return f"begins with no known kind; use one of {known}"
    namespace = parts[1] if len(parts) == 3 else None
    if namespace is not None and not _NAMESPACE.fullmatch(namespace):
        return "has a namespace that is not a plain name; globs are only for names"
    name = parts[-1]
    if not _is_name(name):
        return "has a name that is neither a name nor a glob of *, ? and [abc]"
    if "#" in item and not _DATA_KEY.fullmatch(key):
        return 'has no valid key after "#"; keys have letters, digits, "-", "_" and "."'
    return Pattern(kind.name, namespace, name, key or None)


def is_plain_name(text: str) -> bool:
    """Whether it can be the name of a source."""
    return _is_name(text) and not _GLOB.search(text)


def _is_name(name: str) -> bool:
    plain = _BRACKETS.sub("x", name)
    return len(name) <= 253 and _NAME.fullmatch(plain) is not None
