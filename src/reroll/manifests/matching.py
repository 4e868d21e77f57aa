"""Which source of a stream an object means by a name.

The one of that name in its namespace. Where one of the two does not say its namespace, they belong
together if no other source could be meant; if another could, `AmbiguousError` says so. Inside
kustomize references still have the names of before, and a source says what it was called.
"""

from collections.abc import Mapping

from reroll.core.model.key import Key
from reroll.manifests.model import ManifestObject, ManifestSource

_KUSTOMIZE = "internal.config.kubernetes.io/"
_PREVIOUS_NAMES = _KUSTOMIZE + "previousNames"
_AFFIXES = (_KUSTOMIZE + "prefixes", _KUSTOMIZE + "suffixes")
_ADVICE = "give --namespace, or write the namespaces into the manifests"


class AmbiguousError(Exception):
    """Several sources could be meant; the text goes after "refers to ConfigMap app, which "."""


class Matcher:
    def __init__(self, sources: Mapping[Key, ManifestSource]) -> None:
        self._sources = sources
        self._by_name: dict[tuple[str, str], list[Key]] = {}
        self._by_previous_name: dict[tuple[str, str], list[ManifestObject]] = {}
        self._users: dict[Key, str] = {}
        """The namespace from which a source without one is used."""
        for key, source in sources.items():
            self._by_name.setdefault((key.kind, key.name), []).append(key)
            names = source.object.annotations.get(_PREVIOUS_NAMES, "").split(",")
            for name in dict.fromkeys(names):  # Each step of the build adds one, changed or not.
                if name:
                    objects = self._by_previous_name.setdefault((key.kind, name), [])
                    objects.append(source.object)

    def find(self, wanted: Key, holder: ManifestObject) -> Key | None:
        """The source that `holder` means by a name in a namespace; `None` if it is not here."""
        if wanted in self._sources:
            return wanted
        others = self._by_name.get((wanted.kind, wanted.name), ())
        if not others:
            return self._previously(wanted, holder)
        fitting = [key for key in others if not (key.namespace and wanted.namespace)]
        if len(fitting) > 1:
            names = ", ".join(sorted(key.namespace for key in fitting))
            raise AmbiguousError(f"is here in several namespaces ({names}); {_ADVICE}")
        for key in fitting:
            user = self._users.setdefault(key, wanted.namespace)
            if user != wanted.namespace:
                names = " and ".join(sorted((user, wanted.namespace)))
                raise AmbiguousError(f"has no namespace here and is used in {names}; {_ADVICE}")
        return fitting[0] if fitting else None

    def named(self, kind: str, name: str) -> tuple[Key, ...]:
        """The sources of that name in all namespaces."""
        return tuple(self._by_name.get((kind, name), ()))

    def _previously(self, wanted: Key, holder: ManifestObject) -> Key | None:
        """What had that name before kustomize gave it another, with the affixes of `holder`."""
        candidates = [
            each
            for each in self._by_previous_name.get((wanted.kind, wanted.name), ())
            if each.key.namespace == wanted.namespace
            or not (each.key.namespace and wanted.namespace)
        ]
        if len(candidates) > 1:
            candidates = [each for each in candidates if _affixes(each) == _affixes(holder)]
        return candidates[0].key if len(candidates) == 1 else None


def _affixes(of: ManifestObject) -> tuple[str, ...]:
    return tuple(of.annotations.get(name, "") for name in _AFFIXES)
