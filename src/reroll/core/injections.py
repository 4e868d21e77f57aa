"""An Injection: a piece of Secrets and ConfigMaps that is kept in a field of another object.

Pure: what a manifest says, which Injections are in each other's way, whether a value that is not
there any more may be written again, and what the status tells. A value is never a part of it.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from reroll.core import fieldpaths
from reroll.core.fieldpaths import Name, Path, PathError
from reroll.core.kinds import KINDS, SOURCE_KINDS
from reroll.core.objects import Key
from reroll.core.reasons import Reason
from reroll.core.workloads import Metadata

GROUP, VERSION, KIND, PLURAL = "reroll.dev", "v1alpha1", "Injection", "injections"
FINALIZER = "reroll.dev/injection"
SOURCES = tuple(row.name for row in SOURCE_KINDS if not row.group)
"""ConfigMap and Secret."""
TRIES = 3
"""How often a field that somebody took back is written again, for one value."""
LARGEST = 256 * 1024
"""Bytes of a value: an object is sent whole to everybody who watches it."""
LONGEST_MANAGER = 128
_NO_WORD = re.compile(r"\W")
_WRITABLE = "a value can be put anywhere but into metadata and status"


class From(msgspec.Struct, frozen=True, gc=False):
    """One key of a source."""

    name: str
    key: str
    kind: str = "Secret"
    namespace: str = ""
    variable: str = ""

    @property
    def called(self) -> str:
        """What a template calls it."""
        return self.variable or _NO_WORD.sub("_", self.key)

    def source(self, home: str) -> Key:
        return Key(self.kind, self.namespace or home, self.name)


class To(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """One field of one object."""

    api_version: str
    kind: str
    name: str
    path: str
    namespace: str = ""

    @property
    def group(self) -> str:
        return self.api_version.rpartition("/")[0]


class Spec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    from_: tuple[From, ...] = msgspec.field(name="from")
    to: To
    template: str | None = None
    encoding: str = "string"
    dry_run: bool = False
    deletion_policy: str = "Keep"


class Condition(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: str = ""
    observed_generation: int = 0


class Written(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """Where a value was put last."""

    api_version: str
    kind: str
    name: str
    path: str
    namespace: str = ""
    uid: str = ""

    def is_the_object_of(self, other: "Written") -> bool:
        return (self.kind, self.name, self.namespace, self.uid) == (
            other.kind,
            other.name,
            other.namespace,
            other.uid,
        )


class Status(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    observed_generation: int = 0
    conditions: tuple[Condition, ...] = ()
    target: Written | None = None
    digest: str = ""
    """Of the value that was written last; keyed, as all digests of Secrets are."""
    written: str = ""
    taken_back: int = 0


class Manifest(msgspec.Struct, gc=False):
    metadata: Metadata
    spec: Spec
    status: Status = Status()


class Injection(msgspec.Struct, frozen=True, gc=False):
    """An Injection as it is decided on."""

    key: Key
    uid: str
    generation: int
    created: datetime | None
    spec: Spec
    status: Status = Status()
    path: Path = ()
    problem: str = ""
    """Why its spec cannot be used, whatever the cluster holds."""
    deleting: bool = False
    finalizers: tuple[str, ...] = ()

    @property
    def sources(self) -> frozenset[Key]:
        return frozenset(one.source(self.key.namespace) for one in self.spec.from_)

    @property
    def removes(self) -> bool:
        """Whether its value goes when it goes."""
        return self.spec.deletion_policy == "Remove"

    @property
    def manager(self) -> str:
        """The field manager: one for each Injection, so that everybody sees whose a field is."""
        name = f"reroll-injection/{self.key.namespace}/{self.key.name}"
        if len(name) <= LONGEST_MANAGER:
            return name
        short = hashlib.sha256(name.encode()).hexdigest()[:10]
        return f"{name[: LONGEST_MANAGER - len(short) - 1]}-{short}"


def read(manifest: Manifest) -> Injection:
    meta, spec = manifest.metadata, manifest.spec
    found = Injection(
        key=Key(KIND, meta.namespace, meta.name),
        uid=meta.uid,
        generation=meta.generation,
        created=meta.creation_timestamp,
        spec=spec,
        status=manifest.status,
        deleting=meta.deletion_timestamp is not None,
        finalizers=tuple(meta.finalizers or ()),
    )
    try:
        path = fieldpaths.parse(spec.to.path)
    except PathError as error:
        return msgspec.structs.replace(found, problem=f"spec.to.path: {error}")
    problem = next(_problems(spec, path), "")
    return msgspec.structs.replace(found, path=path, problem=problem)


def _problems(spec: Spec, path: Path) -> Iterator[str]:
    root = path[0].name if isinstance(path[0], Name) else ""
    if root in {"apiVersion", "kind", "metadata", "status"}:
        yield f"spec.to.path: {_WRITABLE}"
    if len(path) < 2:
        yield f"spec.to.path: {fieldpaths.text(path)} is a whole part of an object; name a field"
    group, kind = spec.to.group, spec.to.kind
    if (group, kind) in _OURS:
        yield f"spec.to: Reroll writes to a {kind} for work of its own, so no Injection does"
    if (group, kind) == ("", "Secret") and root == "stringData":
        yield "spec.to.path: stringData is never shown again; write to .data with encoding: base64"
    if spec.template is None and len(spec.from_) != 1:
        yield "spec.from: several keys need spec.template, which says how they become one value"
    names = [one.called for one in spec.from_]
    for twice in sorted({name for name in names if names.count(name) > 1}):
        yield f"spec.from: two keys are called {twice} in the template; name them with `variable`"


_OURS = frozenset(
    {(row.group, row.name) for row in KINDS} | {("coordination.k8s.io", "Lease"), (GROUP, KIND)}
)
"""Kinds for which Reroll has rights of its own: an Injection must not lend them to its author."""


# Who is in whose way


class Target(NamedTuple):
    """An object that is written to, whatever version of its API somebody names."""

    group: str
    kind: str
    namespace: str
    name: str

    @property
    def is_source(self) -> bool:
        return not self.group and self.kind in SOURCES

    @property
    def key(self) -> Key:
        return Key(self.kind, self.namespace, self.name)

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else self.label

    @property
    def label(self) -> str:
        return f"{self.kind} {self.name}"


def first_claim(one: Injection, others: Iterable[Injection]) -> Injection | None:
    """Of the others with the same target, one that wrote to this place first."""
    ahead = [
        other
        for other in others
        if other.key != one.key
        and not other.spec.dry_run
        and not other.problem
        and not other.deleting
        and _age(other) < _age(one)
        and fieldpaths.overlap(one.path, other.path)
    ]
    return min(ahead, key=_age, default=None)


def _age(one: Injection) -> tuple[str, Key]:
    return one.created.isoformat() if one.created else "", one.key


def loop(start: Target, sources: Iterable[Key], feeds: Mapping[Key, Iterable[Key]]) -> list[Key]:
    """The way from what is written back to what is read; empty if there is none.

    `feeds`: for a source, the sources that Injections write with what it holds.
    """
    wanted, begin = frozenset(sources), start.key
    if not start.is_source:
        return []
    ways, seen = [[begin]], {begin}
    while ways:
        way = ways.pop(0)
        if way[-1] in wanted:
            return way
        for after in feeds.get(way[-1], ()):
            if after not in seen:
                seen.add(after)
                ways.append([*way, after])
    return []


# Whether to write again


class Seen(NamedTuple):
    """What is at the place now."""

    there: bool
    """The value that should be there is."""
    owned: bool
    """Our field manager owns it."""


class Turn(NamedTuple):
    write: bool
    taken_back: int
    """How often the place was taken back, this time included."""


def turn(status: Status, target: Written, digest: str, generation: int, seen: Seen) -> Turn:
    """Whether to write a value.

    What we wrote and is not there any more was taken back. That is counted for one value, one spec
    and one object: with another, it is tried anew.
    """
    is_new = (
        status.digest != digest
        or status.observed_generation != generation
        or status.target is None
        or not status.target.is_the_object_of(target)
        or status.target.path != target.path
    )
    if seen.there and seen.owned:
        return Turn(write=False, taken_back=0 if is_new else status.taken_back)
    if is_new:
        return Turn(write=True, taken_back=0)
    taken = min(status.taken_back + (not seen.there), TRIES + 1)
    return Turn(write=taken <= TRIES, taken_back=taken)


# What the status tells


class Verdict(msgspec.Struct, frozen=True, gc=False):
    """What came of looking at an Injection."""

    reason: Reason
    message: str
    again: float | None = None
    """Seconds until it is worth looking again, whatever happens."""
    target: Written | None = None
    """Where the value is; the status keeps what it says otherwise."""
    digest: str = ""
    taken_back: int = 0
    wrote: bool = False


CONDITIONS: dict[str, frozenset[Reason]] = {
    "Ready": frozenset({Reason.INJECTED}),
    "Conflict": frozenset({Reason.CLAIMED, Reason.TAKEN_BACK}),
    "SourceMissing": frozenset({Reason.SOURCE_MISSING}),
    "Forbidden": frozenset({Reason.FORBIDDEN, Reason.SOURCE_FORBIDDEN, Reason.NOT_ALLOWED}),
}
"""For each condition the reasons with which it is true."""
_QUIET = {"Conflict": "NoConflict", "SourceMissing": "SourcesFound", "Forbidden": "Allowed"}


def status_of(one: Injection, verdict: Verdict, blind: str, now: datetime) -> Status:
    """The status after a look. `blind`: why changes of the target go unseen."""
    before = {condition.type: condition for condition in one.status.conditions}
    conditions = []
    for kind, reasons in CONDITIONS.items():
        holds = verdict.reason in reasons
        reason, message = verdict.reason.word, verdict.message
        if kind == "Forbidden" and blind and not holds:
            holds, reason, message = True, Reason.FORBIDDEN.word, blind
        elif not holds and kind != "Ready":
            reason, message = _QUIET[kind], ""
        state = "True" if holds else "False"
        last = before.get(kind)
        at = last.last_transition_time if last and last.status == state else _moment(now)
        conditions.append(Condition(kind, state, reason, message[:1000], at, one.generation))
    kept = one.status
    return Status(
        observed_generation=one.generation,
        conditions=tuple(conditions),
        target=verdict.target or kept.target,
        digest=verdict.digest or kept.digest,
        written=_moment(now) if verdict.wrote else kept.written,
        taken_back=verdict.taken_back,
    )


def _moment(now: datetime) -> str:
    return now.strftime("%Y-%m-%dT%H:%M:%SZ")


def is_ready(status: Status) -> bool:
    return any(one.type == "Ready" and one.status == "True" for one in status.conditions)


def described(value: Any) -> str:
    """A value as people may see it: what it is, and how much of it."""
    match value:
        case str():
            return f"a string of {len(value)} characters"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case list():
            return f"a list of {len(value)} items"
        case _:
            return f"an object with {len(value)} fields"
