"""What is urgent: an annotation on a source whose changes pass windows, soak times and approvals.

It is written with the rights of whoever asks, and stays until somebody takes it away.
"""

from reroll.core.tables.annotations import URGENT
from reroll.engine.content import Stub
from reroll.kube import api
from reroll.kube.errors import NotFound
from reroll.kube.view import View
from reroll.pipeline.hold import Target
from reroll.pipeline.refused import RefusedError


async def call_urgent(view: View, target: Target, *, is_urgent: bool) -> None:
    body = {"metadata": {"annotations": {URGENT: "true" if is_urgent else None}}}
    resource, namespace, name = target
    try:
        await api.merge(view.client, resource, namespace, name, body, Stub)
    except NotFound:
        raise RefusedError(f"there is no {target}") from None
