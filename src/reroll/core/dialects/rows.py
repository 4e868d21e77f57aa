"""What a row of the table of dialects is made of.

A dialect is whose annotations people write: which words it reads and where, what they come to, and
which marks it leaves in a pod template. The engine asks each row that is in use, and knows none of
them by name.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import msgspec

from reroll.core.dialects.words import Word
from reroll.core.model.key import Key, Problem
from reroll.core.model.marks import Mark
from reroll.core.model.podspec import PodSpec
from reroll.core.model.record import Record
from reroll.core.observe.snapshot import Change, Snapshot
from reroll.core.policy.policy import Claim, Pause, Policy, Repair
from reroll.core.tables.catalog import TABLES, Tables
from reroll.core.tables.kinds import Kind, Strategy
from reroll.core.tables.rights import OPTIONAL
from reroll.core.tables.source_kinds import SOURCE_KINDS


class Options(msgspec.Struct, frozen=True):
    """What settings say about dialects."""

    names: Mapping[str, str] = {}
    """Annotations that go by another name here."""
    tables: Tables = TABLES
    sources: frozenset[str] = frozenset(TABLES.sources_by_name)
    """The kinds of sources that count at all."""
    annotate: bool = False
    """Reloader's marks are annotations, not variables."""
    on_create: bool = False
    on_delete: bool = False
    """Whether sources that appear or go away roll what Reloader's annotations opted in."""

    plain: frozenset[str] = frozenset(row.name for row in SOURCE_KINDS if not row.keyed)
    """The kinds of sources whose hashes are written as other tools compute them. For the others,
    digests of ours stand in, which give no weak password away."""

    features: frozenset[str] = frozenset(OPTIONAL)
    """What workloads may ask for beside rolling: what is off is said, and done without."""

    def is_keyed(self, source: Key, home: str) -> bool:
        """Whether no plain hash of a source may get into a workload of this namespace.

        A source of another namespace let it be named; that is no consent to have it guessed.
        """
        return source.namespace != home or source.kind not in self.plain

    def name(self, key: str) -> str:
        return self.names.get(key, key)


class PolicyInput(NamedTuple):
    """What people wrote about one workload."""

    key: Key
    kind: Kind
    workload: Mapping[str, str]
    template: Mapping[str, str]
    namespace: Mapping[str, str]
    default: Policy
    """What the settings say, for this kind."""


class Opinion(msgspec.Struct, frozen=True, gc=False):
    """What one dialect makes of it."""

    enabled: bool | None = None
    """Whether it opts the workload in, or out; `None`: it says nothing."""
    claims: tuple[Claim, ...] = ()
    """What the workload shall roll for, if it is in."""
    declines: frozenset[str] = frozenset()
    """Kinds of sources that do not count just because every workload is in."""
    strategy: Strategy | None = None
    """How it rolls, because the workload says so."""
    usual: Strategy | None = None
    """How workloads of its kind roll in this dialect."""
    pause: Pause | None = None
    repair: Repair | None = None
    base: Policy | None = None
    """The rest of the policy; only one dialect has a say in that."""
    problems: tuple[Problem, ...] = ()


class Roll(NamedTuple):
    """A roll that is about to be written."""

    seen: Snapshot
    strategy: Strategy
    changes: tuple[Change, ...]
    """Those that the dialect counts."""
    stamp: str
    wanted: Mapping[str, str]
    record: Record


class OfValues(NamedTuple):
    """Marks that are made of the values of sources, which are fetched for it and dropped."""

    sources: tuple[Key, ...]
    marks: Callable[[Mapping[Key, Mapping[str, bytes]]], tuple[Mark, ...]]
    """Sources that are not there do not exist."""
    keyed: Callable[[str], tuple[Mark, ...]]
    """The marks with a keyed stamp instead, where no plain hash may be written."""


class Plain(NamedTuple):
    """The values of a source, for the moment in which it is digested."""

    source: Key
    texts: Mapping[str, bytes]
    binaries: Mapping[str, bytes] = {}


class Dialect(msgspec.Struct, frozen=True):
    name: str
    help: str
    words: Callable[[Options], tuple[Word, ...]]
    read: Callable[[PolicyInput, Options], Opinion]
    marks: Callable[[Roll, Options], tuple[Mark, ...]]
    quick: Callable[[Mapping[str, str], Mapping[str, str]], bool | None] | None = None
    """Whether annotations of workload and Namespace opt in, before anything is decoded: `None` if
    they say nothing. Without it: whether any word is there that is read on a workload."""
    of_values: Callable[[Key, PodSpec | None, Mapping[str, str]], OfValues] | None = None
    """More marks of the strategy `stamp`, for a workload with this pod spec and annotations."""
    ignores: str = ""
    """The mark on a source that takes it out of what workloads count that nobody speaks of."""
    source_marks: Callable[[Mapping[str, str], Options], frozenset[str]] | None = None
    """What the annotations of a source say, as marks."""
    hash_source: Callable[[Plain], str] | None = None
    """The hash that its tool makes of a source."""
    acted: Callable[[Snapshot, tuple[Change, ...], Options], bool] | None = None
    """Whether it was its own tool that changed the marks of a workload, by what they say now."""
    vetoes: bool = False
    """Its "no" counts for all dialects."""
