"""The programs of the neighbours, and their custom resources: from which Go module each comes."""

from pathlib import Path

from reroll_dev.gomod import Module
from reroll_dev.programs import Asset, Binary

_FOLDER = (Path(__file__).parents[1] / "controlplane" / "neighbours").resolve()
CERT_MANAGER, SEALED_SECRETS, ARGOCD, FLUX = (
    Module(name, _FOLDER / name) for name in ("cert-manager", "sealed-secrets", "argocd", "flux")
)
CERTS = "github.com/cert-manager/cert-manager"
SEALED = "github.com/bitnami-labs/sealed-secrets"
ARGO = "github.com/argoproj/argo-cd/v3"
SOURCES = "github.com/fluxcd/source-controller"
KUSTOMIZATIONS = "github.com/fluxcd/kustomize-controller"
EXTERNAL = "github.com/external-secrets/external-secrets"
EXTERNAL_SECRETS = Module("external-secrets", _FOLDER / "external-secrets", trims=EXTERNAL)

# The packages `.` are ours: a few lines that start their controllers where no pod is. Those without
# a dependency do not say their version, so one on PATH is not looked for.
BINARIES: tuple[Binary, ...] = (
    Binary("cert-manager", CERT_MANAGER, ".", None),
    Binary("sealed-secrets", SEALED_SECRETS, ".", None),
    Binary("kubeseal", SEALED_SECRETS, f"{SEALED}/cmd/kubeseal", SEALED, ("main.VERSION={own}",)),
    Binary("argocd", ARGOCD, ".", None),
    Binary("source-controller", FLUX, SOURCES, None),
    Binary("kustomize-controller", FLUX, KUSTOMIZATIONS, None),
    Binary("external-secrets", EXTERNAL_SECRETS, EXTERNAL, None),
)
ASSETS: tuple[Asset, ...] = (
    Asset("cert-manager-crds.yaml", CERT_MANAGER, CERTS, "deploy/crds/*.yaml"),
    Asset("sealed-secrets-crds.yaml", SEALED_SECRETS, SEALED, "helm/sealed-secrets/crds/*.yaml"),
    Asset("argocd-crds.yaml", ARGOCD, ARGO, "manifests/crds/*-crd.yaml"),
    Asset("flux-source-crds.yaml", FLUX, SOURCES, "config/crd/bases/*.yaml"),
    Asset("flux-kustomize-crds.yaml", FLUX, KUSTOMIZATIONS, "config/crd/bases/*.yaml"),
    Asset(
        "external-secrets-crds.yaml", EXTERNAL_SECRETS, EXTERNAL, "config/crds/bases/*.io_*.yaml"
    ),
    Asset("argocd-install.yaml", ARGOCD, ARGO, "manifests/namespace-install.yaml"),
)
