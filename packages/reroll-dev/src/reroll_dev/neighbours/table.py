"""The neighbours as a table: their processes, what these are told, and what has to be there first.

Pure. Each process listens on one port of 127.0.0.1, and is ready when that port answers.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reroll_dev.errors import DevClusterError
from reroll_dev.gomod import Module, Version
from reroll_dev.neighbours import programs

Object = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a neighbour runs: its login, a folder of its own, the ports of those started before."""

    kubeconfig: Path
    folder: Path
    ports: Mapping[str, int] = field(default_factory=dict)

    def at(self, process: str) -> str:
        return f"127.0.0.1:{self.ports[process]}"


def _no_settings(_place: Place) -> Mapping[str, str]:
    return {}


@dataclass(frozen=True, slots=True)
class Part:
    """A process of a neighbour."""

    name: str
    program: str
    arguments: Callable[[Place, int], tuple[str, ...]]
    """Of a place and the port."""
    health: str = "/healthz"
    """The path that answers; none for one that speaks no HTTP: there, an open port will do."""
    settings: Callable[[Place], Mapping[str, str]] = _no_settings


@dataclass(frozen=True, slots=True)
class Neighbour:
    name: str
    title: str
    module: Module
    dependency: str
    """Whose version it is."""
    parts: tuple[Part, ...]
    definitions: tuple[str, ...]
    """Assets with its custom resources."""
    tools: tuple[str, ...] = ()
    objects: tuple[Object, ...] = ()
    """What it does not start without, beside its namespace, which has its name."""
    scripts: Mapping[str, str] = field(default_factory=dict)
    """Programs that it calls by name, and that are in its image only: what they do here."""

    @property
    def programs(self) -> tuple[str, ...]:
        return (*dict.fromkeys(part.program for part in self.parts), *self.tools)

    @property
    def version(self) -> Version:
        return self.module.version_of(self.dependency)


def _own(place: Place, port: int) -> tuple[str, ...]:
    return (f"--kubeconfig={place.kubeconfig}", f"--listen=127.0.0.1:{port}")


def _redis(_place: Place, port: int) -> tuple[str, ...]:
    return ("redis", f"127.0.0.1:{port}")


def _repositories(place: Place, port: int) -> tuple[str, ...]:
    return (
        *("repo-server", "--address=127.0.0.1", f"--port={port}", "--disable-tls"),
        "--client-ca-path=",
        *("--metrics-address=127.0.0.1", "--metrics-port=0", f"--redis={place.at('argocd-redis')}"),
        "--loglevel=warn",
    )


def _applications(place: Place, port: int) -> tuple[str, ...]:
    return (
        *("controller", f"--kubeconfig={place.kubeconfig}", "--namespace=argocd"),
        *(f"--metrics-port={port}", f"--redis={place.at('argocd-redis')}"),
        *(f"--repo-server={place.at('argocd-repo-server')}", "--repo-server-plaintext"),
        # Often, so that nobody has to wait three minutes for what a commit changed.
        *("--app-resync=5", "--app-resync-jitter=0", "--loglevel=warn"),
    )


def _of_argocd(place: Place) -> Mapping[str, str]:
    folders = ("TLS", "SSH", "GPG")
    return {
        "ARGOCD_FAKE_IN_CLUSTER": "true",
        "ARGOCD_GPG_ENABLED": "false",
        "ARGOCD_PLUGINSOCKFILEPATH": str(place.folder / "plugins"),
        "TMPDIR": str(place.folder),
        "GIT_CONFIG_NOSYSTEM": "1",
        **{f"ARGOCD_{name}_DATA_PATH": str(place.folder) for name in folders},
    }


def _artifacts(place: Place, port: int) -> tuple[str, ...]:
    return (
        *(f"--storage-addr=127.0.0.1:{port}", f"--storage-adv-addr=127.0.0.1:{port}"),
        *(f"--storage-path={place.folder}", "--health-addr=0"),
        *("--metrics-addr=0", "--log-level=error"),
    )


def _kustomizations(_place: Place, port: int) -> tuple[str, ...]:
    return (f"--health-addr=127.0.0.1:{port}", "--metrics-addr=0", "--log-level=error")


def _of_flux(place: Place) -> Mapping[str, str]:
    return {"RUNTIME_NAMESPACE": "flux", "TMPDIR": str(place.folder)}


def _external(_place: Place, port: int) -> tuple[str, ...]:
    return (f"--live-addr=127.0.0.1:{port}", "--metrics-addr=0", "--loglevel=warn")


def _of_part(kind: str, name: str, **fields: Any) -> Object:
    labels = {"app.kubernetes.io/part-of": "argocd", "app.kubernetes.io/name": name}
    meta = {"name": name, "namespace": "argocd", "labels": labels}
    return {"apiVersion": "v1", "kind": kind, "metadata": meta, **fields}


_ANY = [{"group": "*", "kind": "*"}]
_ARGOCD_OBJECTS = (
    _of_part("ConfigMap", "argocd-cm", data={"application.resourceTrackingMethod": "annotation"}),
    _of_part("ConfigMap", "argocd-rbac-cm"),
    _of_part("Secret", "argocd-secret", stringData={"server.secretkey": "of a test cluster"}),
    {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "AppProject",
        "metadata": {"name": "default", "namespace": "argocd"},
        "spec": {
            "sourceRepos": ["*"],
            "destinations": [{"namespace": "*", "server": "*"}],
            "clusterResourceWhitelist": _ANY,
        },
    },
)

NEIGHBOURS: tuple[Neighbour, ...] = (
    Neighbour(
        "cert-manager",
        "cert-manager",
        programs.CERT_MANAGER,
        programs.CERTS,
        (Part("cert-manager", "cert-manager", _own),),
        ("cert-manager-crds.yaml",),
    ),
    Neighbour(
        "sealed-secrets",
        "Sealed Secrets",
        programs.SEALED_SECRETS,
        programs.SEALED,
        (Part("sealed-secrets", "sealed-secrets", _own),),
        ("sealed-secrets-crds.yaml",),
        tools=("kubeseal",),
    ),
    Neighbour(
        "argocd",
        "Argo CD",
        programs.ARGOCD,
        programs.ARGO,
        (
            Part("argocd-redis", "argocd", _redis, ""),
            Part("argocd-repo-server", "argocd", _repositories, "", _of_argocd),
            Part("argocd-controller", "argocd", _applications, settings=_of_argocd),
        ),
        ("argocd-crds.yaml",),
        objects=_ARGOCD_OBJECTS,
        # It asks of every commit by whom it is signed, also where nobody has to sign.
        scripts={"git-verify-wrapper.sh": "#!/bin/sh\nexit 0\n"},
    ),
    Neighbour(
        "flux",
        "Flux's kustomize-controller",
        programs.FLUX,
        programs.KUSTOMIZATIONS,
        (
            Part("source-controller", "source-controller", _artifacts, "", _of_flux),
            Part(
                "kustomize-controller", "kustomize-controller", _kustomizations, "/readyz", _of_flux
            ),
        ),
        ("flux-source-crds.yaml", "flux-kustomize-crds.yaml"),
    ),
    Neighbour(
        "external-secrets",
        "External Secrets Operator",
        programs.EXTERNAL_SECRETS,
        programs.EXTERNAL,
        (Part("external-secrets", "external-secrets", _external),),
        ("external-secrets-crds.yaml",),
    ),
)
NAMES = tuple(row.name for row in NEIGHBOURS)
PROCESSES = tuple(part.name for row in NEIGHBOURS for part in row.parts)


def named(name: str) -> Neighbour:
    for row in NEIGHBOURS:
        if row.name == name:
            return row
    raise DevClusterError(f"there is no neighbour {name!r}; there is {', '.join(NAMES)}")
