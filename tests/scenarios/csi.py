"""What the Secrets Store CSI driver does, as far as anybody can see it in the API."""

from tests.scenarios.stage import Stage, eventually
from tests.support import build

from reroll_dev.api import Api, ApiError, path_of

GROUP = "secrets-store.csi.x-k8s.io"
STATUS, CLASS = "SecretProviderClassPodStatus", "SecretProviderClass"


def definition(kind: str) -> build.Object:
    plural = f"{kind.lower()}es"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
            "versions": [version],
        },
    }


def volume(name: str = "vault") -> build.Object:
    """A volume of that class, to be mounted as `v`."""
    attributes = {"secretProviderClass": name}
    csi = {"driver": "secrets-store.csi.k8s.io", "readOnly": True, "volumeAttributes": attributes}
    return {"name": "v", "csi": csi}


class Driver:
    """Its CRDs, its classes, and a report for each pod of what it mounted."""

    def __init__(self, api: Api) -> None:
        self._api = api

    def install(self) -> None:
        for kind in (STATUS, CLASS):
            self._api.create(definition(kind))
        for kind in (STATUS, CLASS):
            self._api.wait_for(path_of(definition(kind)), _is_established)

    def uninstall(self) -> None:
        for kind in (STATUS, CLASS):
            self._api.delete(path_of(definition(kind)), missing_ok=True)
        for kind in (STATUS, CLASS):
            self._api.wait_gone(path_of(definition(kind)))

    def mounts(self, stage: Stage, pod: str, *, of: str = "vault", **versions: str) -> None:
        """A pod reports what it mounted of a class."""
        objects = [{"id": name, "version": version} for name, version in versions.items()]
        status = {"secretProviderClassName": of, "podName": pod, "objects": objects}
        report = {
            "apiVersion": f"{GROUP}/v1",
            "kind": STATUS,
            "metadata": {"name": f"{pod}-{of}"},
            "status": status,
        }
        _write(stage, report, {"status": status})

    def has(self, stage: Stage, name: str, **annotations: str) -> None:
        """A class of that name."""
        metadata = {"name": name, "annotations": annotations}
        one = {"apiVersion": f"{GROUP}/v1", "kind": CLASS, "metadata": metadata}
        _write(stage, one, {"metadata": metadata})


def _write(stage: Stage, manifest: build.Object, change: build.Object) -> None:
    def made() -> bool:
        try:
            stage.make(manifest)
        except ApiError as error:
            if error.status == 409:
                stage.api.patch(stage.path(manifest), change)
            # The API server serves a new kind a moment after it is established.
            elif error.status == 404:
                return False
            else:
                raise
        return True

    eventually(made, f"the {manifest['kind']} is written")


def _is_established(seen: build.Object) -> bool:
    conditions = seen.get("status", {}).get("conditions") or ()
    return any(c["type"] == "Established" and c["status"] == "True" for c in conditions)
