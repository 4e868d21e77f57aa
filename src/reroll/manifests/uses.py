"""The uses of sources that cannot follow a new name, as far as a stream shows them.

A program knows the name from an argument or a variable, or reads sources by name or by label with
the rights of its service account. A controller reads what an Ingress, a StorageClass or a custom
resource names. A Pod and the template of a Job cannot be changed. Whatever is seen keeps a name as
it is, so this may find too much: then pods roll by a checksum instead.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from reroll.core.model.key import Key
from reroll.core.tables.fields import FIELDS
from reroll.core.tables.kinds import EACH
from reroll.manifests.model import ManifestObject, Manifests, shown
from reroll.manifests.options import CustomKinds
from reroll.manifests.places import Place
from reroll.manifests.rights import readable
from reroll.manifests.text.nodes import (
    MappingNode,
    Node,
    Path,
    ScalarNode,
    SequenceNode,
    at,
    child,
    is_null,
    items_at,
    resolve,
    text_at,
)

_BUILT_IN = frozenset(
    (
        *("", "apps", "batch", "autoscaling", "policy", "rbac.authorization.k8s.io"),
        *("networking.k8s.io", "storage.k8s.io", "admissionregistration.k8s.io"),
        *("apiregistration.k8s.io", "apiextensions.k8s.io", "scheduling.k8s.io"),
        *("coordination.k8s.io", "discovery.k8s.io", "node.k8s.io", "certificates.k8s.io"),
        *("flowcontrol.apiserver.k8s.io", "resource.k8s.io"),
    )
)
"""Groups whose kinds name sources in known fields only."""
_RBAC = "rbac.authorization.k8s.io"
_POD = ("", "Pod")
_READ_BY_CONTROLLERS = frozenset(
    key for key in FIELDS if key[1] != "ServiceAccount" and key[0] != _RBAC
)
_VARIABLE = re.compile(r"\$\(\w+\)|\$\{\w+\}|\$\w+")
_WORD = re.compile(r"""[^\s,;=:"'|&<>(){}\[\]]+(?!:\d)""")
_SOMETHING_ELSE = re.compile(
    r"service|host|url|addr|endpoint|deployment|statefulset|daemonset|container|namespace|label"
    r"|port|image|user|database|_db$|release|chart|lease|election",
    re.IGNORECASE,
)
_SOURCE = re.compile(r"config|secret|credential|cert", re.IGNORECASE)
_KINDS_BY_WORD = {"configmap": "ConfigMap", "secret": "Secret", "credential": "Secret"}
_SELECTORS = frozenset(("labels", "matchLabels", "matchExpressions", "nodeSelector"))
_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")
_TEXTS = frozenset(("args", "command", "env"))
_KINDS = ("ConfigMap", "Secret")


class Mention(NamedTuple):
    """A use of a source that does not follow its new name, or had better not."""

    source: Key
    where: str
    what: str
    """`Role shop/web gives access to it by name`."""
    otherwise: str = ", which this does not follow; describe the kind in --config"
    """What to say if the name is a new one nevertheless; nothing, if it can follow."""


class Uses:
    """Finds mentions of these sources; `known` are the places in fields that are known."""

    def __init__(
        self, manifests: Manifests, sources: Iterable[Key], known: list[Place], custom: CustomKinds
    ) -> None:
        self._manifests = manifests
        self._custom = custom
        self._sources = dict.fromkeys(sources)
        self._by_name: dict[str, list[Key]] = {}
        for key in self._sources:
            self._by_name.setdefault(key.name, []).append(key)
        self._known = known
        self._followed = {id(place.node) for place in known}
        self._by_label = self._labels()

    def mentions(self) -> Iterator[Mention]:
        if not self._sources:
            return
        yield from self._in_known_fields()
        for key, where, what in readable(self._manifests, self._sources):
            yield Mention(key, where, what)
        specs = {(kind.group, kind.kind): kind.template for kind in self._custom.tables.kinds}
        for holder in self._manifests.objects:
            type_ = holder.group, holder.key.kind
            if template := specs.get(type_):
                yield from self._in_pod(holder, (*template, "spec"))
            elif type_ == _POD:
                yield from self._in_pod(holder, ("spec",))
            elif holder.group not in _BUILT_IN or type_ in _READ_BY_CONTROLLERS:
                yield from self._in_fields(holder)

    def _in_known_fields(self) -> Iterator[Mention]:
        frozen = {id(each.object) for each in self._manifests.workloads if each.is_frozen}
        frozen |= {
            id(each)
            for each in self._manifests.objects
            if (each.group, each.key.kind) == _POD and not each.is_renewed
        }
        for place in self._known:
            holder, kind, what, otherwise = place.holder, place.holder.key.kind, "", ""
            if holder.group == _RBAC:
                what = "gives access to it by name"
            elif (holder.group, kind) in _READ_BY_CONTROLLERS:
                what = "names it, and a controller reads that"
            elif id(holder) in frozen:
                what = f"names it, and a {kind} cannot be changed once it is in the cluster"
                otherwise = f"; delete the {kind} before each deploy that changes it"
            for key in place.sources if what else ():
                if key in self._sources:
                    mention = self._mention(key, holder, place.node, what)
                    yield mention._replace(otherwise=otherwise)

    # Arguments and variables

    def _in_pod(self, holder: ManifestObject, path: Path) -> Iterator[Mention]:
        spec = at(holder.node, path)
        for field in _CONTAINERS if spec else ():
            for container in items_at(spec, (field,)) or () if spec else ():
                yield from self._in_arguments(holder, (items_at(container, ("command",)) or [])[1:])
                yield from self._in_arguments(holder, items_at(container, ("args",)) or [])
                for variable in items_at(container, ("env",)) or ():
                    if (value := child(variable, "value")) is not None:
                        name = text_at(variable, ("name",))
                        yield from self._in_text(holder, value, name, f"has it in variable {name}")

    def _in_arguments(self, holder: ManifestObject, arguments: list[Node]) -> Iterator[Mention]:
        flag = ""
        for node in arguments:
            text = node.text or ""
            own = text.partition("=")[0] if text.startswith("-") else flag
            yield from self._in_text(holder, node, own, "has it in an argument")
            flag = text if text.startswith("-") and "=" not in text else ""

    def _in_text(
        self, holder: ManifestObject, node: Node, name: str, what: str
    ) -> Iterator[Mention]:
        """Words of a text that are names, or labels by which sources are looked up."""
        is_something_else = _SOMETHING_ELSE.search(name) and not _SOURCE.search(name)
        text = _VARIABLE.sub("$", node.text or "")
        for word in dict.fromkeys(_WORD.findall(text)):
            prefix, _, tail = word.rpartition("/")
            for key in () if is_something_else else self._by_name.get(tail, ()):
                if self._may_mean(key, prefix, holder):
                    yield self._mention(key, holder, node, what)
            for key in self._by_label.get(word, ()):
                yield self._mention(key, holder, node, f"looks for sources with the label {word}")

    def _may_mean(self, key: Key, prefix: str, holder: ManifestObject) -> bool:
        if "/" in prefix:
            return False  # It is a path.
        if prefix and prefix != "$" and prefix.lower() not in {"cm", key.kind.lower()}:
            return prefix == key.namespace or not key.namespace
        return _together(key.namespace, holder.key.namespace)

    def _labels(self) -> dict[str, list[Key]]:
        """The sources by their labels, without those labels that workloads have too."""
        common = {label for each in self._manifests.workloads for label in each.object.labels}
        by_label: dict[str, list[Key]] = {}
        for key in self._sources:
            for label in self._manifests.sources[key].object.labels.keys() - common:
                by_label.setdefault(label, []).append(key)
        return by_label

    # Fields of other objects

    def _in_fields(self, holder: ManifestObject) -> Iterator[Mention]:
        what = "has it in a field that is not known to name it"
        for path, node, parent in _scalars(holder.node, (), holder.node):
            if id(node) in self._followed or is_null(node):
                continue
            last = str(path[-1]) if path else ""
            if _TEXTS & {*path} and "valueFrom" not in path:
                yield from self._in_text(holder, node, last, what)
            elif not _SELECTORS & {*path} and path[:1] not in {("kind",), ("apiVersion",)}:
                yield from self._in_field(holder, path, node, parent)

    def _in_field(
        self, holder: ManifestObject, path: Path, node: ScalarNode, parent: Node
    ) -> Iterator[Mention]:
        prefix, _, name = node.text.rpartition("/")
        candidates = self._by_name.get(name)
        if not candidates or (path[0] == "metadata" and path[1:2] != ("annotations",)):
            return
        words = "".join(map(str, path[-2:])).lower()
        named = {kind for word, kind in _KINDS_BY_WORD.items() if word in words}
        if beside := text_at(parent, ("kind",)):
            named = {beside}
        if not named and (_SOMETHING_ELSE.search(words) or "selector" in words):
            return
        namespace = prefix or text_at(parent, ("namespace",)) or text_at(parent, ("namespaceName",))
        for key in candidates:
            fits = namespace == key.namespace if namespace else True
            if key.kind in (named or _KINDS) and (
                fits and (namespace or _together(key.namespace, holder.key.namespace))
            ):
                field = ".".join(step for step in map(str, path) if step != EACH)
                yield self._mention(key, holder, node, f"names it in {field}, which is not known")

    def _mention(self, key: Key, holder: ManifestObject, node: Node, what: str) -> Mention:
        where = self._manifests.position(holder.input, node.start)
        return Mention(key, where, f"{shown(holder.key)} {what}")


def _together(one: str, other: str) -> bool:
    return one == other or not (one and other)


def _scalars(node: Node, path: Path, parent: Node) -> Iterator[tuple[Path, ScalarNode, Node]]:
    """Every scalar that is a value, its path without numbers, and the mapping that it is in."""
    here = resolve(node)
    if isinstance(here, ScalarNode):
        yield path, here, parent
    elif isinstance(here, SequenceNode):
        for item in here.children:
            yield from _scalars(item, (*path, EACH), parent)
    elif isinstance(here, MappingNode):
        for key, value in here.pairs():
            yield from _scalars(value, (*path, key.text or ""), here)
