"""The programs of a cluster as a table: from which Go package each is built, and how.

A version stands in a go.mod alone.
"""

from dataclasses import dataclass, replace
from pathlib import Path

from reroll_dev.gomod import Module

_FOLDER = (Path(__file__).parent / "controlplane").resolve()
CORE_MODULE = _CORE = Module("core", _FOLDER)
_ROLLOUTS = Module("rollouts", _FOLDER / "rollouts")
_HELM_4 = Module("helm4", _FOLDER / "helm4")
_NODE = Module("node", _FOLDER / "node")
_CONTAINERS = Module("containers", _FOLDER / "containers")
_SANDBOX = Module("sandbox", _FOLDER / "sandbox")
_WEB = Module("web", _FOLDER / "web")
_PROMETHEUS = Module("prometheus", _FOLDER / "prometheus")
_ALERTMANAGER = Module("alertmanager", _FOLDER / "alertmanager")

KUBERNETES = _KUBERNETES = "k8s.io/kubernetes"
_ARGO = "github.com/argoproj/argo-rollouts"
_CONTAINERD = "github.com/containerd/containerd/v2"
_RUNC = "github.com/opencontainers/runc"
_PROM = "github.com/prometheus/prometheus"
_ALERTS = "github.com/prometheus/alertmanager"
_CNI = "github.com/containernetworking/plugins"
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
    tags: tuple[str, ...] = ()
    c_library: str = ""
    """What it is linked against, by pkg-config's name; most need no C."""
    exact: bool = False
    """Whether another minor version will not do, even if the user has one: it was asked for."""

    @property
    def version(self) -> str:
        return str(self.module.version_of(self.dependency)) if self.dependency else ""

    @property
    def flags(self) -> tuple[str, ...]:
        """What `go build` is told."""
        tags = (f"-tags={','.join(self.tags)}",) if self.tags else ()
        return ("-ldflags", self.ldflags, *tags)

    @property
    def ldflags(self) -> str:
        versions = {"own": self.module.version_of(self.dependency)} if self.dependency else {}
        if any("{kubernetes" in variable for variable in self.stamp):
            versions["kubernetes"] = self.module.version_of(_KUBERNETES)
        return " ".join(["-s -w", *(f"-X {text.format(**versions)}" for text in self.stamp)])

    @property
    def recipe(self) -> str:
        return " ".join([self.package, self.ldflags, *self.tags])


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


def _kubernetes(name: str, *version_arguments: str, module: Module = _CORE) -> Binary:
    package = f"{_KUBERNETES}/cmd/{name}"
    arguments = version_arguments or ("--version",)
    return Binary(name, module, package, _KUBERNETES, _STAMP_KUBERNETES, arguments)


def module_of(minor: str) -> Module:
    """Of the programs that make an older minor version of Kubernetes."""
    return Module(f"kubernetes-{minor}", _FOLDER / "kubernetes" / minor)


def of_kubernetes(module: Module) -> tuple[Binary, ...]:
    """The programs that make a version; those of the newest are in `BINARIES`."""
    rows = (_kubernetes(name, module=module) for name in VERSIONED)
    return tuple(replace(row, exact=True) for row in rows)


def _containerd(name: str) -> Binary:
    return Binary(name, _CONTAINERS, f"{_CONTAINERD}/cmd/{name}", _CONTAINERD)


def _plugin(group: str, name: str) -> Binary:
    # `bridge` is also a command of iproute2.
    return Binary(f"cni-{name}", _CONTAINERS, f"{_CNI}/plugins/{group}/{name}", _CNI)


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
NODE_BINARIES: tuple[Binary, ...] = (
    Binary("node-sandbox", _SANDBOX, ".", None),
    _kubernetes("kubelet", module=_NODE),
    _kubernetes("kube-proxy", module=_NODE),
    _containerd("containerd"),
    _containerd("containerd-shim-runc-v2"),
    _containerd("ctr"),
    Binary("runc", _CONTAINERS, _RUNC, _RUNC, tags=("seccomp",), c_library="libseccomp"),
    _plugin("main", "bridge"),
    _plugin("main", "loopback"),
    _plugin("ipam", "host-local"),
    _plugin("meta", "portmap"),
)
"""What a real node needs beside the control plane."""
NODE = tuple(row.name for row in NODE_BINARIES)
VERSIONED = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
CORE = ("etcd", *VERSIONED, "kubectl", "kwok")
"""What a cluster needs to run."""
WEB = Binary("web", _WEB, ".", None)
"""The web server that is a workload for real pods."""


def _prometheus(name: str) -> Binary:
    # It finds nothing by itself here: the programs of all clouds stay out of the build.
    tags = ("remove_all_sd",)
    stamp = ("github.com/prometheus/common/version.Version={own}",)
    return Binary(name, _PROMETHEUS, f"{_PROM}/cmd/{name}", _PROM, stamp, tags=tags)


PROMETHEUS_BINARIES: tuple[Binary, ...] = (
    _prometheus("prometheus"),
    _prometheus("promtool"),
    Binary("alertmanager", _ALERTMANAGER, f"{_ALERTS}/cmd/alertmanager", _ALERTS),
)
"""What gates and alerts are tried with."""
PROMETHEUS = tuple(row.name for row in PROMETHEUS_BINARIES)
ALL = (*BINARIES, *NODE_BINARIES, WEB, *PROMETHEUS_BINARIES)

ASSETS: tuple[Asset, ...] = (
    Asset("rollouts-crds.yaml", _ROLLOUTS, _ARGO, "manifests/crds/*-crd.yaml"),
)
