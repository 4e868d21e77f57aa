"""A pod template to the references it makes: every field of a pod that can name a source.

One walk over containers, init containers (sidecars are init containers that restart) and volumes.
Ephemeral containers do not count: they are no part of a template. Image pull secrets and the
credentials of storage volumes do not count either: they change nothing in a pod that runs. A volume
that no container mounts does not count.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator

import msgspec

from reroll.core.model.key import Key
from reroll.core.model.podspec import Container, KeyToPath, PodSpec, Volume, VolumeMount, given
from reroll.core.model.reference import Reference

CSI_DRIVER = "secrets-store.csi.k8s.io"
NO_KEYS: frozenset[str] = frozenset()
"""One for all: most uses need no key, and an empty set of each would be the largest part of it."""


class Use(msgspec.Struct, frozen=True, gc=False):
    """One place in a template that names a source."""

    kind: str
    name: str
    how: str
    """Where, in words: `env DB_PASSWORD of container web`."""
    keys: frozenset[str] | None = None
    optional: bool = False
    live: bool = False
    needs: frozenset[str] = NO_KEYS
    """The keys without which it cannot start, unless it is optional."""
    container: str = ""
    mounted: bool = False


def uses(spec: PodSpec) -> Iterator[Use]:
    """Every use of a source in a pod spec, in the order of the spec."""
    containers = [*given(spec.init_containers), *given(spec.containers)]
    for container in containers:
        yield from _env_uses(container)
    mounts: dict[str, dict[tuple[str, str, str], VolumeMount]] = {}
    for container in containers:
        for mount in given(container.volume_mounts):
            # Those that show the same part of a volume in the same container are one.
            part = container.name, mount.sub_path, mount.sub_path_expr
            mounts.setdefault(mount.name, {})[part] = mount
    for volume in given(spec.volumes):
        yield from _volume_uses(volume, mounts.get(volume.name, {}))


def references(
    namespace: str, found: Iterable[Use], *, mounts_are_live: bool
) -> tuple[Reference, ...]:
    """The uses taken together, one reference for each source.

    With `mounts_are_live` the application reads plain mounts again by itself: their content does
    not matter then, but what its pods cannot start without stays required.
    """
    by_source: dict[Key, list[Use]] = {}
    for use in found:
        by_source.setdefault(Key(use.kind, namespace, use.name), []).append(use)
    return tuple(
        _reference(source, together, mounts_are_live=mounts_are_live)
        for source, together in sorted(by_source.items())
    )


def _reference(source: Key, together: list[Use], *, mounts_are_live: bool) -> Reference:
    matters = [use for use in together if not (use.live and mounts_are_live)]
    return Reference(
        source=source,
        keys=_union(use.keys for use in matters),
        required=any(not use.optional for use in together),
        required_keys=_union(use.needs for use in together if not use.optional) or NO_KEYS,
    )


def _union(parts: Iterable[frozenset[str] | None]) -> frozenset[str] | None:
    """All the keys of `parts`; `None`, every key there is, swallows the rest."""
    distinct = set(parts)
    if None in distinct:
        return None
    return frozenset().union(*filter(None, distinct)) if any(distinct) else NO_KEYS


def _env_uses(container: Container) -> Iterator[Use]:
    where = f"of container {container.name}"
    for env in given(container.env):
        if env.value_from is None:
            continue
        for kind, selector in (
            ("ConfigMap", env.value_from.config_map_key_ref),
            ("Secret", env.value_from.secret_key_ref),
        ):
            if selector is not None and selector.name:
                keys = frozenset((selector.key,))
                how = f"env {env.name} {where}"
                optional = bool(selector.optional)
                yield Use(
                    kind,
                    selector.name,
                    how,
                    keys,
                    optional=optional,
                    needs=keys,
                    container=container.name,
                )
    for env_from in given(container.env_from):
        for kind, ref in (("ConfigMap", env_from.config_map_ref), ("Secret", env_from.secret_ref)):
            if ref is not None and ref.name:
                how, optional = f"envFrom {where}", bool(ref.optional)
                yield Use(kind, ref.name, how, optional=optional, container=container.name)


def _volume_uses(volume: Volume, mounts: dict[tuple[str, str, str], VolumeMount]) -> Iterator[Use]:
    for kind, name, items, optional in _volume_sources(volume):
        needs = frozenset(item.key for item in items) if items else NO_KEYS
        shown = _Shown(items or [], needs)
        for (container, *_), mount in mounts.items():
            live = not (mount.sub_path or mount.sub_path_expr)
            part = "" if live else " (subPath)"
            how = f"volume {volume.name}{part} of container {container}"
            keys = shown.by(mount)
            yield Use(
                kind,
                name,
                how,
                keys,
                optional=optional,
                live=live,
                needs=needs,
                container=container,
                mounted=True,
            )


def _volume_sources(volume: Volume) -> Iterator[tuple[str, str, list[KeyToPath] | None, bool]]:
    """Kind, name, items and whether it is optional, for each source in a volume."""
    if volume.config_map is not None and volume.config_map.name:
        yield (
            "ConfigMap",
            volume.config_map.name,
            volume.config_map.items,
            bool(volume.config_map.optional),
        )
    if volume.secret is not None and volume.secret.secret_name:
        yield "Secret", volume.secret.secret_name, volume.secret.items, bool(volume.secret.optional)
    if volume.projected is not None:
        for projection in given(volume.projected.sources):
            for kind, part in (("ConfigMap", projection.config_map), ("Secret", projection.secret)):
                if part is not None and part.name:
                    yield kind, part.name, part.items, bool(part.optional)
    if volume.csi is not None and volume.csi.driver == CSI_DRIVER:
        name = (volume.csi.volume_attributes or {}).get("secretProviderClass")
        if name:
            # Pods report what they mounted only once they run, so the class never stops one from
            # starting.
            yield "SecretProviderClass", name, None, True


class _Shown:
    """The keys of one volume that its mounts show; the mounts of a pod may be many."""

    def __init__(self, items: list[KeyToPath], keys: frozenset[str]) -> None:
        self._keys, self._by_path = keys, sorted((_steps(item.path), item.key) for item in items)
        self._parts: dict[str, frozenset[str]] = {}

    def by(self, mount: VolumeMount) -> frozenset[str] | None:
        """Those of `items`, and of these only what the `subPath` of a mount names."""
        wanted = _steps(mount.sub_path)
        if not wanted or wanted[0].startswith(".."):
            return self._keys or None
        part = "/".join(wanted)
        if part not in self._parts:
            keys = self._below(wanted) if self._keys else (part,)
            self._parts[part] = frozenset(keys)
        return self._parts[part]

    def _below(self, wanted: list[str]) -> Iterator[str]:
        first = bisect_left(self._by_path, (wanted, ""))
        for place in range(first, len(self._by_path)):
            steps, key = self._by_path[place]
            if steps[: len(wanted)] != wanted:
                return
            yield key


def _steps(path: str) -> list[str]:
    """A path as the kubelet reads it: `./a//b/` is `a/b`, and `.` is all of it."""
    return [step for step in path.split("/") if step not in {"", "."}]
