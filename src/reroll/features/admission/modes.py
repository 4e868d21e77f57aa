"""Selects the mode in which pods are rewritten, and says why.

Pure: by what the API server serves, and by whether our webhook is there to be called.
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from reroll.engine.admission_objects import VERSIONS, Manifest, Mode, Service, policy, webhook
from reroll.kube.resources import admission_policies

_LACKS = f"the API server serves no {admission_policies(VERSIONS[0]).kind} that can do it"


class Choice(NamedTuple):
    mode: Mode
    why: str
    """A sentence."""
    version: str = ""
    """Of the policy's API."""
    server: Service | str = ""
    """Where the webhook is."""


class Capabilities(NamedTuple):
    """What a cluster offers."""

    served: AbstractSet[str]
    """Versions of the policy that the API server serves, and whose expressions can do it."""
    server: Service | str = ""
    """Where our webhook is; empty if it is not known to be there."""


def best(cluster: Capabilities) -> Choice:
    """The best mode that a cluster can have."""
    version = next((version for version in VERSIONS if version in cluster.served), "")
    if version:
        api = admission_policies(version)
        return Choice(Mode.POLICY, f"the API server serves {api.api_version} {api.kind}", version)
    if cluster.server:
        why = f"{_LACKS}, and the webhook is at {cluster.server}"
        return Choice(Mode.WEBHOOK, why, "", cluster.server)
    return Choice(Mode.TEMPLATE, f"{_LACKS}, and there is no webhook to call")


def problem(wanted: Mode, cluster: Capabilities) -> str:
    """Why a cluster cannot have a mode; empty if it can."""
    if wanted is Mode.POLICY and not cluster.served:
        return (
            f"{_LACKS} (Kubernetes 1.36 does, or 1.35 with the v1beta1 API and the feature gate "
            "switched on); use --mode webhook or template"
        )
    if wanted is Mode.WEBHOOK and not cluster.server:
        return (
            "there is no Service for the webhook; run the controller with --webhook and a Service "
            "in front of it (the chart does), or say where it is with --url"
        )
    return ""


def select(wanted: Mode | None, cluster: Capabilities) -> Choice:
    """The wanted mode, or the best; call `problem` first."""
    if wanted is None or wanted is best(cluster).mode:
        return best(cluster)
    if wanted is Mode.WEBHOOK:
        return Choice(wanted, "it was asked for", "", cluster.server)
    return Choice(wanted, "it was asked for")


def objects(
    choice: Choice, name: str, only: Sequence[Manifest], trusted: str = ""
) -> list[Manifest]:
    """The manifests of a mode; none for `template`."""
    if choice.mode is Mode.POLICY:
        return policy(choice.version, name, only)
    if choice.mode is Mode.WEBHOOK and choice.server:
        return webhook(choice.server, name, only, trusted)
    return []
