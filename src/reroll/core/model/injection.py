"""An Injection: a piece of Secrets and ConfigMaps that is kept in a field of another object.

Pure: what a manifest says, typed and checked as far as that needs no cluster.
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
from reroll.core.tables.kinds import INJECTION, KINDS
from reroll.core.tables.source_kinds import SOURCE_KINDS

GROUP, VERSION, KIND, PLURAL = "reroll.dev", "v1alpha1", INJECTION, "injections"
FINALIZER = "reroll.dev/injection"
SOURCES = tuple(row.name for row in SOURCE_KINDS if not row.group)
"""ConfigMap and Secret."""
LARGEST = 256 * 1024
"""Bytes of a value: every watcher of an object receives all of it."""
MANAGER = "reroll-injection/"
"""How the field manager of every Injection begins."""
LONGEST_MANAGER = 128
_NOT_IN_NAMES = re.compile(r"\W")
UNWRITABLE = "a value cannot be written to metadata, status, apiVersion or kind"


class From(msgspec.Struct, frozen=True, gc=False):
    """One key of a source."""

    name: str
    key: str
    kind: str = "Secret"
    namespace: str = ""
    variable: str = ""

    @property
    def template_name(self) -> str:
        """Its variable in a template."""
        return self.variable or _NOT_IN_NAMES.sub("_", self.key)

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


class Written(To, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """Where a value was put last."""

    uid: str = ""

    def is_same_field(self, other: "Written") -> bool:
        """Whether both are one field of one object, in any version of its API."""
        return msgspec.structs.replace(self, api_version=other.api_version) == other


class Status(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    observed_generation: int = 0
    conditions: tuple[Condition, ...] = ()
    target: Written | None = None
    digest: str = ""
    """Of the value that was written last; keyed, like every digest of a Secret."""
    written: str = ""
    taken_back: int = 0


class Manifest(msgspec.Struct, gc=False):
    metadata: Metadata
    spec: Spec
    status: Status = Status()


class Injection(msgspec.Struct, frozen=True, gc=False):
    """A parsed Injection."""

    key: Key
    uid: str
    generation: int
    version: str
    created: datetime | None
    spec: Spec
    status: Status = Status()
    path: Path = ()
    problem: str = ""
    """Why its spec cannot be used in any cluster."""
    deleting: bool = False
    finalizers: tuple[str, ...] = ()

    @property
    def sources(self) -> frozenset[Key]:
        return frozenset(each.source(self.key.namespace) for each in self.spec.from_)

    @property
    def removes(self) -> bool:
        """Whether its value is removed when it is deleted."""
        return self.spec.deletion_policy == "Remove"

    @property
    def manager(self) -> str:
        """The field manager: one for each Injection, so that `managedFields` names it."""
        name = f"{MANAGER}{self.key.namespace}/{self.key.name}"
        if len(name) <= LONGEST_MANAGER:
            return name
        short = hashlib.sha256(name.encode()).hexdigest()[:10]
        return f"{name[: LONGEST_MANAGER - len(short) - 1]}-{short}"


def read(manifest: Manifest) -> Injection:
    meta, spec = manifest.metadata, manifest.spec
    try:
        path = fieldpaths.parse(spec.to.path)
        problem = next(_problems(spec, path), "")
    except PathError as error:
        path, problem = (), f"spec.to.path: {error}"
    return Injection(
        key=Key(KIND, meta.namespace, meta.name),
        uid=meta.uid,
        generation=meta.generation,
        version=meta.resource_version,
        created=meta.creation_timestamp,
        spec=spec,
        status=manifest.status,
        path=path,
        problem=problem,
        deleting=meta.deletion_timestamp is not None,
        finalizers=tuple(meta.finalizers or ()),
    )


def _problems(spec: Spec, path: Path) -> Iterator[str]:
    root = path[0].name if isinstance(path[0], Name) else ""
    if root in {"apiVersion", "kind", "metadata", "status"}:
        yield f"spec.to.path: {UNWRITABLE}"
    if len(path) < 2:
        yield f"spec.to.path: {fieldpaths.text(path)} is a whole section; name a field in it"
    group, kind = spec.to.group, spec.to.kind
    if (group, kind) in _OURS:
        yield f"spec.to: a {kind} cannot be a target, because Reroll itself writes to it"
    if (group, kind) == ("", "Secret") and root == "stringData":
        yield (
            "spec.to.path: the API server never returns stringData; write to .data with "
            "encoding: base64"
        )
    if spec.template is None and len(spec.from_) != 1:
        yield "spec.from: several keys need spec.template, which combines them into one value"
    names = [each.template_name for each in spec.from_]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"spec.from: two keys are called {name} in the template; name them with `variable`"


_OURS = frozenset(
    {(row.group, row.name) for row in KINDS} | {("coordination.k8s.io", "Lease"), (GROUP, KIND)}
)
"""Kinds that Reroll may write to itself: an Injection must not lend that right to its author."""
