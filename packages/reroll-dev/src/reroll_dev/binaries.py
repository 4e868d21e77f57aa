"""The programs of a control plane: which there are, where they are, how missing ones are made.

Looked for in this order: the folder in KUBEBUILDER_ASSETS (the user's word, taken as it is), PATH
(if the minor version is ours: a distribution's old kubectl is not), our cache. What is nowhere is
built into the cache, and nothing else is.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, groupby
from pathlib import Path

from reroll_dev.build import Builder
from reroll_dev.commands import interruptible
from reroll_dev.errors import DevClusterError
from reroll_dev.gomod import Module
from reroll_dev.progress import Progress
from reroll_dev.store import Store, cache_folder, store_of
from reroll_dev.toolchain import toolchain

_FOLDER = (Path(__file__).parent / "controlplane").resolve()
_CORE = Module("core", _FOLDER)
_ROLLOUTS = Module("rollouts", _FOLDER / "rollouts")
_HELM_4 = Module("helm4", _FOLDER / "helm4")
_WEB = Module("web", _FOLDER / "web")

_KUBERNETES = "k8s.io/kubernetes"
_ARGO = "github.com/argoproj/argo-rollouts"
_STAMP_KUBERNETES = (
    "k8s.io/component-base/version.gitVersion={own}",
    "k8s.io/component-base/version.gitMajor={own.major}",
    "k8s.io/component-base/version.gitMinor={own.minor}",
)
# Without these, `helm template` renders and `helm lint` judges for Kubernetes 1.20.
_STAMP_HELM = (
    "helm.sh/helm/v3/internal/version.version={own}",
    "helm.sh/helm/v3/pkg/chartutil.k8sVersionMajor={kubernetes.major}",
    "helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor={kubernetes.minor}",
    "helm.sh/helm/v3/pkg/lint/rules.k8sVersionMajor={kubernetes.major}",
    "helm.sh/helm/v3/pkg/lint/rules.k8sVersionMinor={kubernetes.minor}",
)
_PATIENCE_SECONDS = 20


@dataclass(frozen=True, slots=True)
class Binary:
    """A program: the Go package it is built from, and the dependency whose version it carries.

    One of our own has no such dependency: it is built here, and looked for nowhere else.
    """

    name: str
    module: Module
    package: str
    dependency: str | None
    stamp: tuple[str, ...] = ()
    """Variables that the linker sets, for programs that do not know their version otherwise."""
    version_arguments: tuple[str, ...] = ("--version",)

    @property
    def version(self) -> str:
        return str(self.module.version_of(self.dependency)) if self.dependency else ""

    @property
    def ldflags(self) -> str:
        versions = {"own": self.module.version_of(self.dependency)} if self.dependency else {}
        if any("{kubernetes" in variable for variable in self.stamp):
            versions["kubernetes"] = self.module.version_of(_KUBERNETES)
        return " ".join(["-s -w", *(f"-X {text.format(**versions)}" for text in self.stamp)])

    @property
    def recipe(self) -> str:
        return f"{self.package} {self.ldflags}"


@dataclass(frozen=True, slots=True)
class Asset:
    """Manifests out of a dependency's sources, joined into one file."""

    name: str
    module: Module
    dependency: str
    pattern: str

    @property
    def recipe(self) -> str:
        return f"{self.dependency}@{self.module.version_of(self.dependency)} {self.pattern}"


def _kubernetes(name: str, *version_arguments: str) -> Binary:
    package = f"{_KUBERNETES}/cmd/{name}"
    arguments = version_arguments or ("--version",)
    return Binary(name, _CORE, package, _KUBERNETES, _STAMP_KUBERNETES, arguments)


BINARIES: tuple[Binary, ...] = (
    Binary("etcd", _CORE, "./etcd", "go.etcd.io/etcd/server/v3"),
    _kubernetes("kube-apiserver"),
    _kubernetes("kube-controller-manager"),
    _kubernetes("kube-scheduler"),
    _kubernetes("kubectl", "version", "--client"),
    Binary("kwok", _CORE, "sigs.k8s.io/kwok/cmd/kwok", "sigs.k8s.io/kwok"),
    Binary("helm", _CORE, "helm.sh/helm/v3/cmd/helm", "helm.sh/helm/v3", _STAMP_HELM, ("version",)),
    Binary(
        "kustomize",
        _CORE,
        "sigs.k8s.io/kustomize/kustomize/v5",
        "sigs.k8s.io/kustomize/kustomize/v5",
        version_arguments=("version",),
    ),
    Binary(
        "helm4",
        _HELM_4,
        "helm.sh/helm/v4/cmd/helm",
        "helm.sh/helm/v4",
        ("helm.sh/helm/v4/internal/version.version={own}",),
        ("version",),
    ),
    Binary(
        "rollouts-controller",
        _ROLLOUTS,
        f"{_ARGO}/cmd/rollouts-controller",
        _ARGO,
        (f"{_ARGO}/utils/version.version={{own.bare}}",),
    ),
)
CORE = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "kwok")
"""What a cluster needs to run."""
WEB = Binary("web", _WEB, ".", None)
"""The web server that is a workload for real pods."""

ASSETS: tuple[Asset, ...] = (
    Asset("rollouts-crds.yaml", _ROLLOUTS, _ARGO, "manifests/crds/*-crd.yaml"),
)


def find(
    names: Iterable[str], *, env: Mapping[str, str], binaries: Sequence[Binary] = BINARIES
) -> dict[str, Path | None]:
    """Where each is, or None; makes nothing."""
    return {row.name: _locate(row, env) for row in _rows(names, binaries)}


def ensure(
    names: Iterable[str],
    *,
    env: Mapping[str, str],
    progress: Progress,
    binaries: Sequence[Binary] = BINARIES,
) -> dict[str, Path]:
    """Where each is; builds those that are nowhere."""
    _check_assets_folder(env)
    rows = _rows(names, binaries)
    found = {row.name: path for row in rows if (path := _locate(row, env))}
    missing = sorted(
        (row for row in rows if row.name not in found), key=lambda row: row.module.name
    )
    number = count(1)
    with interruptible():
        for module, group in groupby(missing, key=lambda row: row.module):
            titles = {row: f"{row.name} ({next(number)} of {len(missing)})" for row in group}
            found |= _make(module, titles, env, progress)
    return {row.name: found[row.name] for row in rows}


def asset(
    name: str, *, env: Mapping[str, str], progress: Progress, assets: Sequence[Asset] = ASSETS
) -> Path:
    """The file with these manifests; made from the module's sources if it is not in the cache."""
    row = next((row for row in assets if row.name == name), None)
    if row is None:
        raise DevClusterError(f"there is no asset {name!r}; there is {_listed(assets)}")
    store = store_of(row.module, env)
    if path := store.lookup(row.name, row.recipe):
        return path
    with interruptible(), store.workshop(progress) as work:
        builder = _builder(row.module, work, env, progress, "try again where it can be fetched")
        return _collect(row, store, builder)


def _rows(names: Iterable[str], binaries: Sequence[Binary]) -> list[Binary]:
    table = {row.name: row for row in binaries}
    wanted = list(dict.fromkeys(names))
    if unknown := [name for name in wanted if name not in table]:
        raise DevClusterError(f"there is no {', '.join(unknown)}; there is {_listed(binaries)}")
    return [table[name] for name in wanted]


def _listed(rows: Sequence[Binary] | Sequence[Asset]) -> str:
    return ", ".join(row.name for row in rows)


def _check_assets_folder(env: Mapping[str, str]) -> None:
    folder = env.get("KUBEBUILDER_ASSETS")
    if folder and not Path(folder).is_dir():
        raise DevClusterError(
            f"KUBEBUILDER_ASSETS is {folder}, which is no folder; "
            "set it to one with the control plane's binaries, or unset it"
        )


def _locate(row: Binary, env: Mapping[str, str]) -> Path | None:
    if row.dependency is None:
        return _cached(row, env)
    if (folder := env.get("KUBEBUILDER_ASSETS")) and _is_program(Path(folder) / row.name):
        return (Path(folder) / row.name).absolute()
    on_path = shutil.which(row.name, path=env.get("PATH", ""))
    if on_path and _fits(row, on_path, env):
        return Path(on_path).absolute()
    return _cached(row, env)


def _cached(row: Binary, env: Mapping[str, str]) -> Path | None:
    return store_of(row.module, env).lookup(row.name, row.recipe)


def _is_program(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def _fits(row: Binary, program: str, env: Mapping[str, str]) -> bool:
    """Whether `program` says that it is of the same minor version."""
    command = [program, *row.version_arguments]
    try:
        finished = subprocess.run(
            command, env=env, capture_output=True, check=False, timeout=_PATIENCE_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    said = re.search(r"\bv?(\d+)\.(\d+)", finished.stdout.decode(errors="replace"))
    ours = row.module.version_of(row.dependency or "")
    return said is not None and (int(said[1]), int(said[2])) == (ours.major, ours.minor)


def _make(
    module: Module, titles: Mapping[Binary, str], env: Mapping[str, str], progress: Progress
) -> dict[str, Path]:
    store = store_of(module, env)
    with store.workshop(progress) as work:
        # Another run may have made them while this one waited for the lock.
        made = {row.name: path for row in titles if (path := store.lookup(row.name, row.recipe))}
        rows = [row for row in titles if row.name not in made]
        if not rows:
            return made
        otherwise = f"set KUBEBUILDER_ASSETS to a folder that has {_listed(rows)}"
        builder = _builder(module, work, env, progress, otherwise)
        builder.fetch([row.package for row in rows])
        for row in rows:
            target = work / row.name
            builder.compile(row.package, row.ldflags, target, titles[row])
            made[row.name] = store.keep(target, row.name, row.recipe)
        for extra in (extra for extra in ASSETS if extra.module == module):
            _collect(extra, store, builder)
        return made


def _builder(
    module: Module, work: Path, env: Mapping[str, str], progress: Progress, otherwise: str
) -> Builder:
    go = toolchain(module.go_version(), cache=cache_folder(env), env=env, progress=progress)
    return Builder(go, module, work, env, progress, otherwise)


def _collect(row: Asset, store: Store, builder: Builder) -> Path:
    if path := store.lookup(row.name, row.recipe):
        return path
    files = sorted(builder.source(row.dependency).glob(row.pattern))
    if not files:
        raise DevClusterError(
            f"{row.dependency} {row.module.version_of(row.dependency)} has no {row.pattern}; "
            "adapt ASSETS to where this release keeps them"
        )
    target = builder.work / row.name
    target.write_bytes(b"\n---\n".join(path.read_bytes() for path in files))
    return store.keep(target, row.name, row.recipe)
