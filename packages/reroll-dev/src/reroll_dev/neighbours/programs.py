"""The programs of the neighbours, and their custom resources: from which Go module each comes."""

from pathlib import Path

from reroll_dev.gomod import Module
from reroll_dev.programs import Asset, Binary

_FOLDER = (Path(__file__).parents[1] / "controlplane" / "neighbours").resolve()
CERT_MANAGER, SEALED_SECRETS, ARGOCD = (
    Module(name, _FOLDER / name) for name in ("cert-manager", "sealed-secrets", "argocd")
)
CERTS = "github.com/cert-manager/cert-manager"
SEALED = "github.com/bitnami-labs/sealed-secrets"
ARGO = "github.com/argoproj/argo-cd/v3"

# The packages `.` are ours: a few lines that start their controllers where no pod is.
BINARIES: tuple[Binary, ...] = (
    Binary("cert-manager", CERT_MANAGER, ".", None),
    Binary("sealed-secrets", SEALED_SECRETS, ".", None),
    Binary("kubeseal", SEALED_SECRETS, f"{SEALED}/cmd/kubeseal", SEALED, ("main.VERSION={own}",)),
    Binary("argocd", ARGOCD, ".", None),
)
ASSETS: tuple[Asset, ...] = (
    Asset("cert-manager-crds.yaml", CERT_MANAGER, CERTS, "deploy/crds/*.yaml"),
    Asset("sealed-secrets-crds.yaml", SEALED_SECRETS, SEALED, "helm/sealed-secrets/crds/*.yaml"),
    Asset("argocd-crds.yaml", ARGOCD, ARGO, "manifests/crds/*-crd.yaml"),
    Asset("argocd-install.yaml", ARGOCD, ARGO, "manifests/namespace-install.yaml"),
)
