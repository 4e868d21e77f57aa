"""How people name sources in an annotation: `configmap/app, secret/db#password, secret/ca-*`.

A pattern is a kind, an optional namespace, a name that may be a glob (`*`, `?`, `[abc]`), and an
optional key after `#`. A pattern that cannot be read is a problem, and the others still count.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from fnmatch import translate
from functools import lru_cache

import msgspec

from reroll.core.model.key import Key, Problem
from reroll.core.policy.regexes import compiled
from reroll.core.tables import limits
from reroll.core.tables.catalog import TABLES, Tables
from reroll.core.tables.reasons import Reason

_ITEM = re.compile(r"[^,\s][^,]*")
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
        if self.regex:
            return compiled(self.name).matches(name)
        return _glob(self.name)(name) if _GLOB.search(self.name) else name == self.name

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


@lru_cache(maxsize=2048)
def _glob(text: str) -> Callable[[str], bool]:
    head, star, tail = text.partition("*")
    if not star or _GLOB.search(tail) or _GLOB.search(head):
        match = re.compile(translate(text)).match
        return lambda name: match(name) is not None
    # As nearly all are written: one that has to be made again takes a microsecond.
    least = len(head) + len(tail)
    return lambda name: len(name) >= least and name.startswith(head) and name.endswith(tail)


class PatternIndex:
    """Patterns of one object by what they can mean: a lookup costs what it touches."""

    def __init__(self, patterns: Iterable[Pattern], home: str) -> None:
        self._plain: dict[Key, list[Pattern]] = {}
        self._globs: dict[tuple[str, str], list[Pattern]] = {}
        for pattern in patterns:
            namespace = pattern.namespace or home
            if pattern.is_glob:
                self._globs.setdefault((pattern.kind, namespace), []).append(pattern)
            else:
                key = Key(pattern.kind, namespace, pattern.name)
                self._plain.setdefault(key, []).append(pattern)

    def matching(self, source: Key) -> Iterator[Pattern]:
        """Those that mean this source."""
        yield from self._plain.get(source, ())
        for pattern in self._globs.get((source.kind, source.namespace), ()):
            if pattern.means(source.name):
                yield pattern


def items_of(text: str | None, where: str) -> tuple[list[str], tuple[Problem, ...]]:
    """The items of a comma list, as many as are read, and what to tell of the rest."""
    items: list[str] = []
    for found in _ITEM.finditer(text or ""):
        if len(items) == limits.PATTERNS.number:
            sentence = (
                f"{where}: has more than {len(items)} items; those after "
                f"{items[-1][:80]!r} do not count; shorten the list, or use a glob"
            )
            return items, (Problem(sentence, Reason.TOO_MANY_PATTERNS),)
        items.append(found[0].strip())
    return items, ()


def parse_patterns(
    text: str, where: str, tables: Tables = TABLES
) -> tuple[tuple[Pattern, ...], tuple[Problem, ...]]:
    """The patterns in a comma list, and a problem for each that is none. `where` names the list."""
    patterns: list[Pattern] = []
    items, rest = items_of(text, where)
    problems = [*rest]
    for item in items:
        parsed = _parse(item, tables)
        if isinstance(parsed, Pattern):
            patterns.append(parsed)
        else:
            problems.append(Problem(f"{where}: {item[:80]!r} {parsed}"))
    kept, rest = _few_globs(dict.fromkeys(patterns), where)
    return kept, (*problems, *rest)


def _few_globs(
    patterns: Iterable[Pattern], where: str
) -> tuple[tuple[Pattern, ...], tuple[Problem, ...]]:
    """Names, and as many globs as are matched; what to tell of the rest."""
    kept: list[Pattern] = []
    left = limits.GLOBS.number
    for pattern in patterns:
        left -= pattern.is_glob
        if left >= 0 or not pattern.is_glob:
            kept.append(pattern)
    if left >= 0:
        return tuple(kept), ()
    sentence = (
        f"{where}: has more than {limits.GLOBS.number} globs; the last {-left} do not count; "
        "use fewer that mean more"
    )
    return tuple(kept), (Problem(sentence, Reason.TOO_MANY_PATTERNS),)


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
