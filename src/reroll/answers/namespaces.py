"""The Namespaces that a view covers: what they say is the default for what is in them."""

from reroll.core.model.metadata import Metadata
from reroll.kube import resources
from reroll.kube.objects import Stub
from reroll.kube.view import View


async def namespaces(view: View) -> list[Metadata]:
    """All of them, or the one that was asked for; none where they may not be read."""
    if view.namespace is None:
        listed = await view.every(resources.NAMESPACES, Stub)
        return [each.metadata for each in listed]
    namespace = await view.get(resources.NAMESPACES, None, view.namespace, Stub)
    return [namespace.metadata] if namespace else []
