"""Which way of rewriting pods a cluster can have, best first, and why that one.

Pure: from what the API server serves, and from whether our webhook is there to be called.
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from reroll.engine.admission_objects import (
    VERSIONS,
    Manifest,
    Mode,
    Service,
    policies,
    policy,
    webhook,
)


class Choice(NamedTuple):
    mode: Mode
    why: str
    """A sentence."""
    version: str = ""
    """Of the policy's API."""
    server: Service | str = ""
    """Where the webhook is."""


class Seen(NamedTuple):
    """What matters of a cluster."""

    served: AbstractSet[str]
    """Versions of the policy that the API server serves."""
    server: Service | str = ""
    """Where our webhook is; empty if it is not known to be there."""


def choose(seen: Seen) -> Choice:
    """The best that there is."""
    version = next((version for version in VERSIONS if version in seen.served), "")
    if version:
        api = policies(version)
        return Choice(Mode.POLICY, f"the API server serves {api.api_version} {api.kind}", version)
    lacks = f"the API server serves no {policies(VERSIONS[0]).kind}"
    if seen.server:
        return Choice(
            Mode.WEBHOOK, f"{lacks}, and the webhook is at {seen.server}", "", seen.server
        )
    return Choice(Mode.TEMPLATE, f"{lacks}, and there is no webhook to call")


def problem(wanted: Mode, seen: Seen) -> str:
    """Why a mode that somebody asked for cannot be had; empty if it can."""
    if wanted is Mode.POLICY and not seen.served:
        return (
            f"the API server serves no {policies(VERSIONS[0]).kind} (Kubernetes 1.36, or 1.34 with "
            "the v1beta1 API and the feature gate switched on); use --mode webhook or template"
        )
    if wanted is Mode.WEBHOOK and not seen.server:
        return (
            "there is no Service for the webhook; run the controller with --webhook and a Service "
            "in front of it (the chart does), or say where it is with --url"
        )
    return ""


def chosen(wanted: Mode | None, seen: Seen) -> Choice:
    """What was asked for, or the best; call `problem` first."""
    if wanted is None or wanted is choose(seen).mode:
        return choose(seen)
    if wanted is Mode.WEBHOOK:
        return Choice(wanted, "it was asked for", "", seen.server)
    return Choice(wanted, "it was asked for")


def objects(
    choice: Choice, name: str, only: Sequence[Manifest], trusted: str = ""
) -> list[Manifest]:
    """What has to be applied for a mode; nothing for `template`."""
    if choice.mode is Mode.POLICY:
        return policy(choice.version, name, only)
    if choice.mode is Mode.WEBHOOK and choice.server:
        return webhook(choice.server, name, only, trusted)
    return []
