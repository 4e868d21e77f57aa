"""The hash that Wave writes to a pod template, for the same objects the same value.

Wave's omissions are part of it: it overlooks the environment of init containers, it takes all keys
of a plain volume whatever its `items` say, and it does not look whether a volume is mounted. Two
objects of one name in different namespaces fall together; the later reference wins.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from reroll.core.model.key import Key
from reroll.core.model.podspec import ConfigMapVolume, Container, PodSpec, Volume, given

Values = Mapping[str, bytes]


class Wanted(msgspec.Struct, frozen=True, gc=False):
    """One reference as Wave sees it; the order of several is Wave's own."""

    source: Key
    keys: frozenset[str] | None = None
    """`None`: all of them."""


def wanted(namespace: str, spec: PodSpec | None, extra: Sequence[Key]) -> tuple[Wanted, ...]:
    """What Wave hashes for a template of this namespace; `extra` are the sources it is told of."""
    spec = spec or PodSpec()
    containers = given(spec.containers)
    found = [
        *(one for volume in given(spec.volumes) for one in _volume(namespace, volume)),
        *(Wanted(source) for source in extra),
        *(one for container in containers for one in _env_from(namespace, container)),
        *(one for container in containers for one in _env(namespace, container)),
    ]
    return tuple(dict.fromkeys(found))


def config_hash(references: Sequence[Wanted], contents: Mapping[Key, Values]) -> str:
    """SHA-256 of what the references mean; sources that are not in `contents` do not exist."""
    by_kind: dict[str, dict[str, dict[str, bytes]]] = {"configMaps": {}, "secrets": {}}
    for reference in references:
        values = contents.get(reference.source)
        if values is None:
            continue
        field = "secrets" if reference.source.kind == "Secret" else "configMaps"
        data = by_kind[field].setdefault(reference.source.name, {})
        keys = values.keys() if reference.keys is None else reference.keys & values.keys()
        data.update((key, values[key]) for key in keys)
    # Bytes are encoded as base64, as Go does it.
    return hashlib.sha256(msgspec.json.encode(by_kind, order="sorted")).hexdigest()


def _volume(namespace: str, volume: Volume) -> Iterator[Wanted]:
    if volume.config_map is not None:
        yield Wanted(Key("ConfigMap", namespace, volume.config_map.name))
    if volume.secret is not None:
        yield Wanted(Key("Secret", namespace, volume.secret.secret_name))
    for part in given(volume.projected.sources if volume.projected else None):
        for kind, source in (("ConfigMap", part.config_map), ("Secret", part.secret)):
            if source is not None:
                yield Wanted(Key(kind, namespace, source.name), _items(source))


def _items(source: ConfigMapVolume) -> frozenset[str] | None:
    return frozenset(item.key for item in source.items) if source.items else None


def _env_from(namespace: str, container: Container) -> Iterator[Wanted]:
    for one in given(container.env_from):
        for kind, ref in (("ConfigMap", one.config_map_ref), ("Secret", one.secret_ref)):
            if ref is not None:
                yield Wanted(Key(kind, namespace, ref.name))


def _env(namespace: str, container: Container) -> Iterator[Wanted]:
    for variable in given(container.env):
        value = variable.value_from
        if value is None:
            continue
        for kind, ref in (
            ("ConfigMap", value.config_map_key_ref),
            ("Secret", value.secret_key_ref),
        ):
            if ref is not None:
                yield Wanted(Key(kind, namespace, ref.name), frozenset((ref.key,)))
