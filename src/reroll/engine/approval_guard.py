"""Whether the API server guards approvals: found by label, whatever installed it."""

import msgspec

from reroll.core.model.metadata import Metadata
from reroll.engine.approval_objects import OURS
from reroll.kube import api, resources
from reroll.kube.client import Client
from reroll.kube.errors import Forbidden, NotFound
from reroll.kube.objects import Stub

UNGUARDED = (
    "nothing guards approvals here, so whoever may write a source may approve it; "
    "`reroll approvals install`"
)


class _Binding(msgspec.Struct, gc=False):
    class Spec(msgspec.Struct, gc=False, rename="camel"):
        policy_name: str = ""
        validation_actions: list[str] | None = None

    metadata: Metadata
    spec: Spec = msgspec.field(default_factory=Spec)


async def is_guarded(client: Client) -> bool | None:
    """`None`: that may not be looked at."""
    try:
        policies = await api.every(
            client, resources.VALIDATING_POLICIES, None, Stub, label_selector=OURS
        )
        bindings = await api.every(
            client, resources.VALIDATING_POLICY_BINDINGS, None, _Binding, label_selector=OURS
        )
    except Forbidden:
        return None
    except NotFound:
        return False
    names = {one.metadata.name for one in policies}
    return any(
        one.spec.policy_name in names and "Deny" in (one.spec.validation_actions or ())
        for one in bindings
    )
