"""An Injection: a piece of Secrets and ConfigMaps that is kept in a field of another object.

Pure: what a manifest says, as values. What follows from it is in `core.injecting`.
"""

import hashlib
import re
from collections.abc import Iterator
from datetime import datetime

import msgspec

from reroll.core.model import fieldpaths
from reroll.core.model.fieldpaths import Name, Path, PathError
from reroll.core.model.key import Key
from reroll.core.model.metadata import Metadata
from reroll.core.tables.kinds import KINDS, SOURCE_KINDS

GROUP, VERSION, KIND, PLURAL = "reroll.dev", "v1alpha1", "Injection", "injections"
FINALIZER = "reroll.dev/injection"
SOURCES = tuple(row.name for row in SOURCE_KINDS if not row.group)
"""ConfigMap and Secret."""
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

    def is_the_place_of(self, other: "Written") -> bool:
        """Whether both mean one field of one object, in whatever version of its API."""
        return (self.kind, self.name, self.namespace, self.uid, self.path) == (
            other.kind,
            other.name,
            other.namespace,
            other.uid,
            other.path,
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
    version: str
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
        version=meta.resource_version,
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
