"""The Namespaces that a view covers: what they say is the default for what is in them."""

from reroll.answers.errors import AnswerError
from reroll.core.model.metadata import Metadata
from reroll.kube import resources
from reroll.kube.objects import Stub
from reroll.kube.view import View


async def namespaces(view: View) -> list[Metadata]:
    """All of them, or the one that was asked for, which must exist; none that may not be read."""
    if view.within:
        stubs = [await view.get(resources.NAMESPACES, None, one, Stub) for one in view.within]
        return [each.metadata for each in stubs if each]
    if view.namespace is None:
        listed = await view.every(resources.NAMESPACES, Stub)
        return [each.metadata for each in listed]
    known = len(view.gaps)
    namespace = await view.get(resources.NAMESPACES, None, view.namespace, Stub)
    if namespace is None and len(view.gaps) == known:
        raise AnswerError(f"namespace {view.namespace} does not exist")
    return [namespace.metadata] if namespace else []
