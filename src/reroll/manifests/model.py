"""The sources and workloads of a stream, with their positions in its text."""

import re
from bisect import bisect_left
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from reroll.core.model.content import Content
from reroll.core.model.key import Key
from reroll.core.policy.references import Use
from reroll.core.tables.annotations import ENABLED
from reroll.core.tables.kinds import Kind
from reroll.core.tables.source_kinds import SourceKind
from reroll.manifests.text.compose import Document
from reroll.manifests.text.edits import Put
from reroll.manifests.text.errors import TextError
from reroll.manifests.text.nodes import Node, Path, at
from reroll.manifests.text.scalars import value_of

if TYPE_CHECKING:
    from reroll.core.policy.policy import Policy
    from reroll.core.revisions.content_names import Named
    from reroll.manifests.places import Place
    from reroll.manifests.uses import Mention

_RENEWED = (
    ("helm.sh/hook", ""),
    ("argocd.argoproj.io/hook", "Sync"),
    ("argocd.argoproj.io/sync-options", "Force=true"),
    ("kustomize.toolkit.fluxcd.io/force", "nabled"),
)
"""Annotations with which tools delete an object and create it again, and what is in them."""


class Input(NamedTuple):
    """One file, or standard input."""

    name: str
    data: bytes


class ManifestObject(msgspec.Struct, frozen=True, gc=False):
    """An object: a document of an input, or an item of a list in one."""

    input: int
    document: Document
    path: Path
    """From the root of the document."""
    node: Node
    group: str
    key: Key
    annotations: dict[str, str]
    labels: dict[str, str]

    def claim(self) -> "Named | None":
        """What its name says, if it is a content name."""
        from reroll.core.revisions.content_names import claimed

        return claimed(self.key.name, self.labels, self.annotations)

    @property
    def is_renewed(self) -> bool:
        """Each deploy makes a new one."""
        return not self.key.name or any(
            name in self.annotations and text in self.annotations[name] for name, text in _RENEWED
        )


class ManifestSource(msgspec.Struct, frozen=True, gc=False):
    object: ManifestObject
    kind: SourceKind
    content: Content

    @property
    def key(self) -> Key:
        return self.object.key


class ManifestWorkload(msgspec.Struct, frozen=True, gc=False):
    object: ManifestObject
    kind: Kind
    uses: tuple[Use, ...]
    policy: "Policy | None" = None
    """What annotations of ours ask for; `None`: there are none, as on most."""

    @property
    def key(self) -> Key:
        return self.object.key

    @property
    def is_opted_out(self) -> bool:
        return self.policy is not None and self.policy.enabled is False

    @property
    def is_frozen(self) -> bool:
        """Its template cannot be changed once it is in the cluster, and each deploy has the same.

        A Job, unless it is a new one each time, or its owner asks for it by annotation.
        """
        asked = self.object.annotations.get(ENABLED) == "true"
        return self.kind.fixed and not asked and not self.object.is_renewed

    def template(self) -> Any:
        """The pod template as values."""
        node = at(self.object.node, self.kind.template)
        return value_of(node) if node is not None else {}


class ContentNames(msgspec.Struct, frozen=True):
    """Which sources get which names, see `content_names`."""

    new: dict[Key, str] = {}
    """The new name of each source that gets one."""
    named: frozenset[Key] = frozenset()
    """The sources, as they are in the stream, that have a content name afterwards."""
    places: "list[Place]" = []
    """Every field that names a source."""
    kept: dict[Key, str] = {}
    """Why a source keeps its name although names are asked for."""
    mentions: "list[Mention]" = []
    """Uses that keep a name as it is, or that do not follow the new one."""


class Edit(msgspec.Struct, frozen=True, gc=False):
    """Entries to put into an object."""

    object: ManifestObject
    put: Put


class BadInputError(Exception):
    """All problems of a stream, a sentence each."""

    def __init__(self, *problems: str) -> None:
        lines = "".join(f"\n  {problem}" for problem in problems)
        several = f"these manifests cannot be rendered:{lines}"
        super().__init__(problems[0] if len(problems) == 1 else several)
        self.problems = problems


def refuse(problems: list[str]) -> None:
    if problems:
        raise BadInputError(*problems)


class Manifests:
    """A stream. `texts` are the inputs, decoded; positions are offsets in them."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.texts: list[str] = []
        self.mark = ""
        """The byte order mark, if the stream begins with one."""
        self.objects: list[ManifestObject] = []
        self.sources: dict[Key, ManifestSource] = {}
        self.workloads: list[ManifestWorkload] = []
        self.namespaces: dict[str, dict[str, str]] = {}
        """The annotations of the Namespaces."""
        self.aliases: dict[Key, Key] = {}
        """Sources under the keys by which objects mean them, see `Matcher`."""
        self.notes: list[str] = []
        """What is odd, and does not matter here."""
        self._breaks: dict[int, list[int]] = {}

    def contents(self) -> dict[Key, Content]:
        """By their keys, and by those with which workloads mean them."""
        aliases = {alias: self.sources[key].content for alias, key in self.aliases.items()}
        return aliases | {key: source.content for key, source in self.sources.items()}

    def meant(self, key: Key) -> Key:
        return self.aliases.get(key, key)

    def position(self, input_: int, offset: int) -> str:
        """`app.yaml:12:3`: file, line and column, as compilers write it."""
        if input_ not in self._breaks:
            found = re.finditer("\n", self.texts[input_])
            self._breaks[input_] = [-1, *(each.start() for each in found)]
        breaks = self._breaks[input_]
        line = bisect_left(breaks, offset)
        return f"{self.names[input_]}:{line}:{offset - breaks[line - 1]}"

    def where(self, of: ManifestObject) -> str:
        return self.position(of.input, of.node.start)

    def refused(self, of: ManifestObject, error: TextError) -> BadInputError:
        return BadInputError(f"{self.position(of.input, error.position)}: {error}")


def shown(key: Key) -> str:
    """A key in a sentence; without a namespace or a name if none is known."""
    return str(key) if key.namespace and key.name else f"{key.kind} {key.name}".rstrip()
