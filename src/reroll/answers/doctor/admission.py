"""Who rewrites the pods of pinned workloads: whether it is installed and can work.

Pure: objects of the cluster in, findings out.
"""

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from reroll.answers.doctor.findings import Check, Finding
from reroll.core.model.key import Key
from reroll.core.model.metadata import Metadata
from reroll.core.model.podspec import given
from reroll.x509 import certificates

PINS = Check("pins")
SHOWN = 5
FINAL = "v1"
"""The version of policies that every API server heeds that serves it."""


class Policy(msgspec.Struct, gc=False):
    class Spec(msgspec.Struct, gc=False, rename="camel"):
        failure_policy: str = "Fail"

    metadata: Metadata
    spec: Spec = msgspec.field(default_factory=Spec)


class Binding(msgspec.Struct, gc=False):
    class Spec(msgspec.Struct, gc=False, rename="camel"):
        policy_name: str = ""

    metadata: Metadata
    spec: Spec = msgspec.field(default_factory=Spec)


class Service(msgspec.Struct, gc=False):
    namespace: str
    name: str


class Hook(msgspec.Struct, gc=False, rename="camel"):
    class Client(msgspec.Struct, gc=False, rename="camel"):
        ca_bundle: str | None = None
        service: Service | None = None
        url: str | None = None

    client_config: Client
    name: str = ""
    failure_policy: str = "Fail"


class Webhook(msgspec.Struct, gc=False):
    metadata: Metadata
    webhooks: list[Hook] | None = None


class Admission(NamedTuple):
    """All of it that is ours."""

    policies: Sequence[Policy] = ()
    bindings: Sequence[Binding] = ()
    webhooks: Sequence[Webhook] = ()
    services: Sequence[tuple[str, str]] = ()
    """Of those that webhooks name, the ones that are there, by namespace and name."""
    unseen: str = ""
    """Why some of it could not be looked at."""
    version: str = FINAL
    """Of the API of policies."""

    @property
    def named_services(self) -> list[tuple[str, str]]:
        """Those that webhooks name, by namespace and name."""
        hooks = [hook.client_config for one in self.webhooks for hook in given(one.webhooks)]
        return sorted({(one.service.namespace, one.service.name) for one in hooks if one.service})

    def only(self, names: Collection[str]) -> "Admission":
        """What has one of these names: of the binding, or of the webhook's configuration."""
        bindings = [one for one in self.bindings if one.metadata.name in names]
        bound = {one.spec.policy_name for one in bindings}
        return self._replace(
            policies=[one for one in self.policies if one.metadata.name in bound],
            bindings=bindings,
            webhooks=[one for one in self.webhooks if one.metadata.name in names],
        )


def judge(found: Admission, uncovered: Sequence[Key], now: datetime) -> Iterator[Finding]:
    """`uncovered`: workloads with pins that nobody reads in their namespace."""
    installed = [*_policies(found), *_webhooks(found, now)]
    yield from installed
    if found.unseen:
        yield PINS.note(f"what rewrites pods was not looked at: {found.unseen}")
    elif uncovered:
        shown = ", ".join(map(str, uncovered[:SHOWN]))
        more = f" and {len(uncovered) - SHOWN} more" if len(uncovered) > SHOWN else ""
        yield PINS.problem(
            f"nothing rewrites the pods of {shown}{more}, which are pinned",
            "`reroll pins install`; until then their pods get what their sources hold",
        )
    elif not installed:
        yield PINS.note(
            "nothing rewrites pods, which only workloads with reroll.dev/revisions need"
        )


def _policies(found: Admission) -> Iterator[Finding]:
    bound = {one.spec.policy_name for one in found.bindings}
    for one in found.policies:
        name = f"MutatingAdmissionPolicy {one.metadata.name}"
        if one.metadata.name not in bound:
            yield PINS.problem(f"{name} has no binding, so it does nothing", "apply its binding")
        elif one.spec.failure_policy != "Fail":
            yield PINS.warning(
                f"{name} lets pods start with the wrong configuration when it fails",
                "set its failurePolicy to Fail",
            )
        else:
            yield PINS.ok(f"{name} rewrites the pods of pinned workloads")
    if found.policies and found.version != FINAL:
        yield PINS.note(
            f"policies of {found.version} are heeded only where the API server's feature gate "
            "MutatingAdmissionPolicy is on; `reroll pins status` tries that"
        )


def _webhooks(found: Admission, now: datetime) -> Iterator[Finding]:
    for one in found.webhooks:
        for hook in given(one.webhooks):
            yield _webhook(f"webhook {one.metadata.name}/{hook.name}", hook, found, now)


def _webhook(name: str, hook: Hook, found: Admission, now: datetime) -> Finding:
    service, bundle = hook.client_config.service, hook.client_config.ca_bundle
    blocks = "pinned pods cannot be made" if hook.failure_policy == "Fail" else "pods get it wrong"
    if not bundle and service:
        return PINS.problem(
            f"{name} has no caBundle, so the API server trusts nobody there: {blocks}",
            "see the log of the controller, which writes it",
        )
    authorities = list(certificates({"ca.crt": bundle or ""}))
    if bundle and not authorities:
        return PINS.problem(
            f"{name}: its caBundle holds no certificate: {blocks}",
            "take the caBundle out; the controller writes it again",
        )
    if late := [one for one in authorities if one.ends <= now]:
        return PINS.problem(
            f"{name}: its caBundle is out of date since {late[0].ends:%Y-%m-%d}: {blocks}",
            "see the log of the controller, which should have renewed it",
        )
    if service and (service.namespace, service.name) not in found.services:
        return PINS.problem(
            f"{name}: Service {service.namespace}/{service.name} does not exist: {blocks}",
            "install the Service, or take the webhook out",
        )
    return PINS.ok(f"{name} rewrites the pods of pinned workloads")
