"""Who counts: which namespaces, workloads and sources, and what a Namespace says for all in it."""

from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase

import msgspec

from reroll.core.dialects.annotations import SourcePolicy
from reroll.core.dialects.rows import Options
from reroll.core.dialects.table import ALL, DIALECTS, Dialects
from reroll.core.model.gates import Gate
from reroll.core.model.key import Key
from reroll.core.model.metadata import Metadata
from reroll.core.model.pace import Limits, OnFailure, Pace
from reroll.core.model.windows import Calendar
from reroll.core.policy.notice import Notice
from reroll.core.policy.patterns import Pattern
from reroll.core.policy.policy import Policy
from reroll.core.policy.rows import Policies
from reroll.core.policy.selectors import Selector, parse_selector
from reroll.core.tables.annotations import DOMAIN
from reroll.core.tables.catalog import Tables
from reroll.core.tables.kinds import Strategy
from reroll.engine.defaults import UNSAID, Defaults
from reroll.settings.table import Settings


class Scope(msgspec.Struct, frozen=True):
    """Which namespaces count, and what their workloads do unless they say otherwise."""

    default: Policy
    dialects: Dialects = ALL
    namespaces: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    selector: Selector = Selector()
    workloads: Selector = Selector()
    sources: Selector = Selector()
    limits: Limits = Limits()
    gates: tuple[Gate, ...] = ()
    defaults: Defaults | None = None
    """Where rows of the settings say more than `default`."""
    calendar: Calendar = Calendar()
    notices: tuple[Notice, ...] = ()
    at_once: bool = False
    """Nobody waits for quiet: whoever looks does so once, and says when."""

    @property
    def tables(self) -> Tables:
        return self.dialects.options.tables

    def default_for(self, workload: Key, labels: Mapping[str, str]) -> Policy:
        """What a workload with these labels does unless its annotations say otherwise."""
        return self.default if self.defaults is None else self.defaults.of(workload, labels)

    def origins(self, workload: Key, labels: Mapping[str, str]) -> dict[str, str]:
        """Which rows of the settings that default comes from, by field."""
        return {} if self.defaults is None else self.defaults.origins(workload, labels)

    def default_for_source(self, source: Key) -> SourcePolicy:
        return UNSAID if self.defaults is None else self.defaults.of_source(source)

    def is_out_of_reach(self, pattern: Pattern) -> bool:
        """Whether it means a namespace that no watch tells about."""
        reach = self.namespaces
        return bool(reach and pattern.namespace) and pattern.namespace not in reach


def scope(settings: Settings, *, at_once: bool = False) -> Scope:
    default = Policy(
        enabled=True if settings.auto_all else None,
        mounts_are_live=settings.mounts == "live",
        strategy=Strategy(settings.strategy) if settings.strategy else None,
        debounce=settings.debounce,
        debounce_limit=settings.debounce_limit,
        pin=settings.pins,
        pace=_pace(settings),
    )
    rows, notices = settings.policies, settings.notices
    return Scope(
        at_once=at_once,
        default=default,
        defaults=Defaults(default, rows, notices) if notices or rows != Policies() else None,
        notices=notices,
        limits=settings.limits,
        calendar=settings.windows,
        gates=settings.gates,
        dialects=dialects(settings),
        namespaces=settings.namespaces,
        exclude=settings.exclude_namespaces,
        selector=parse_selector(settings.namespace_selector) or Selector(),
        workloads=parse_selector(settings.workload_selector) or Selector(),
        sources=parse_selector(settings.source_selector) or Selector(),
    )


def _pace(settings: Settings) -> Pace:
    return Pace(
        max_parallel=settings.max_parallel,
        soak=settings.soak,
        deadline=settings.deadline,
        on_failure=OnFailure(settings.on_failure) if settings.on_failure else None,
        cooldown=settings.cooldown,
        max_rolls=settings.max_rolls,
    )


def dialects(settings: Settings) -> Dialects:
    options = Options(
        names=dict(pair.split("=", 1) for pair in settings.annotation_names),
        tables=settings.tables,
        sources=frozenset(settings.tables.sources_by_name) - frozenset(settings.exclude_sources),
        annotate=settings.reloader_strategy == "annotations",
        on_create=settings.reload_on_create,
        on_delete=settings.reload_on_delete,
        plain=_plain(settings),
        features=frozenset(settings.features),
    )
    return Dialects([row for row in DIALECTS if row.name in settings.dialects], options)


def _plain(settings: Settings) -> frozenset[str]:
    """The kinds of sources whose hashes are written as other tools compute them."""
    rows = settings.tables.sources_by_name.values()
    if settings.foreign_hashes == "secrets-keyed":
        return frozenset(row.name for row in rows if not row.keyed)
    return frozenset(row.name for row in rows if settings.foreign_hashes == "same")


class NamespaceInfo(msgspec.Struct, frozen=True, gc=False):
    annotations: dict[str, str]
    included: bool = True
    """Its labels are those that were asked for, and it is not on its way out."""
    since: int = 0
    """The version of the Namespace that said so first."""
    labels: dict[str, str] = {}
    """Those of this product."""


NOWHERE = NamespaceInfo({})
"""A Namespace that says nothing."""


class Namespaces:
    """What Namespaces say. `changed(name)`: the workloads of one must be looked at anew."""

    def __init__(self, scope: Scope, changed: Callable[[str], None]) -> None:
        self._scope, self._changed = scope, changed
        self._known: dict[str, NamespaceInfo] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(tuple(self._known))

    def observe(self, metadata: Metadata) -> None:
        name = metadata.name
        annotations = self._scope.dialects.words.relevant(metadata.annotations or {})
        is_going = metadata.deletion_timestamp is not None
        included = not is_going and self._scope.selector.matches(metadata.labels or {})
        labels = {k: v for k, v in (metadata.labels or {}).items() if k.startswith(DOMAIN)}
        known, before = self._known.get(name), self.that_counts(name)
        if known is not None and (known.annotations, known.included) == (annotations, included):
            self._known[name] = msgspec.structs.replace(known, labels=labels)
            return
        self._known[name] = NamespaceInfo(annotations, included, metadata.version, labels)
        after = self.that_counts(name)
        # Its workloads may have been heard of before it was.
        if (before and before.annotations) != (after and after.annotations):
            self._changed(name)

    def gone(self, name: str) -> None:
        self._known.pop(name, None)

    def that_counts(self, name: str) -> NamespaceInfo | None:
        """What is known of a namespace that counts; `None` if it does not count."""
        if any(fnmatchcase(name, glob) for glob in self._scope.exclude):
            return None
        if self._scope.namespaces and name not in self._scope.namespaces:
            return None
        info = self._known.get(name)
        if info is None:
            return None if self._scope.selector.requirements else NOWHERE
        return info if info.included else None
