"""What krew asks of a plugin's manifest, as its own `validate-krew-manifest` does."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

VERSION = "v0.5.0"
"""Of krew, whose rules these are."""
API_VERSION = "krew.googlecontainertools.github.com/v1alpha2"
FIELDS = {
    "version", "shortDescription", "description", "caveats", "homepage", "platforms",
}  # fmt: skip
PLATFORM_FIELDS = {"uri", "sha256", "selector", "files", "bin"}
MACHINES = {
    "windows": ("386", "amd64", "arm64"),
    "linux": ("386", "amd64", "arm", "arm64", "ppc64le"),
    "darwin": ("386", "amd64", "arm64"),
}
_NAME = re.compile(r"[A-Za-z0-9_-]+")
_SUM = re.compile(r"[a-f0-9]{64}")
_RELEASE = re.compile(r"v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?")


def problems(manifest: Mapping[str, Any], name: str) -> list[str]:
    """Everything against it; krew ends with the first. It has to lie in a file `name`.yaml."""
    return [*_head(manifest, name), *_spec(manifest.get("spec") or {})]


def _head(manifest: Mapping[str, Any], name: str) -> Iterator[str]:
    if manifest.get("apiVersion") != API_VERSION:
        yield f"apiVersion is not {API_VERSION}"
    if manifest.get("kind") != "Plugin":
        yield "kind is not Plugin"
    if not _NAME.fullmatch(name):
        yield f"{name!r} is not a name"
    if (manifest.get("metadata") or {}).get("name") != name:
        yield "metadata.name is not that of the file"


def _spec(spec: Mapping[str, Any]) -> Iterator[str]:
    if odd := spec.keys() - FIELDS:
        yield f"spec has no field {', '.join(sorted(odd))}"
    short = spec.get("shortDescription") or ""
    if not short or "\n" in short or "\r" in short:
        yield "shortDescription is not one line"
    if not _RELEASE.fullmatch(str(spec.get("version") or "")):
        yield "version is no semantic version with a v"
    platforms = spec.get("platforms") or ()
    if not platforms:
        yield "no platform"
    for number, one in enumerate(platforms):
        yield from (f"platform {number}: {why}" for why in _platform(one))
    for system, machines in MACHINES.items():
        for machine in machines:
            fits = [n for n, one in enumerate(platforms) if _selects(one, system, machine)]
            if len(fits) > 1:
                yield f"platforms {fits} are all for {system}/{machine}"


def _platform(one: Mapping[str, Any]) -> Iterator[str]:
    if odd := one.keys() - PLATFORM_FIELDS:
        yield f"no field {', '.join(sorted(odd))}"
    for field in ("uri", "bin"):
        if not one.get(field):
            yield f"{field} is empty"
    if not _SUM.fullmatch(str(one.get("sha256") or "")):
        yield "sha256 is no such sum in small letters"
    if "files" in one and not all(f.get("from") and f.get("to") for f in one["files"] or [{}]):
        yield "files says not from where and to where"
    labels = (one.get("selector") or {}).get("matchLabels") or {}
    if not labels or labels.keys() - {"os", "arch"}:
        yield "its selector is empty, or has other labels than os and arch"
    elif not any(_selects(one, s, m) for s, machines in MACHINES.items() for m in machines):
        yield "its selector is for no machine that krew knows"


def _selects(one: Mapping[str, Any], system: str, machine: str) -> bool:
    """By labels: our manifests have no expressions."""
    labels = (one.get("selector") or {}).get("matchLabels") or {}
    is_for = {"os": system, "arch": machine}
    return bool(labels) and all(is_for.get(key) == value for key, value in labels.items())
