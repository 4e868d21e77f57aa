"""The Namespaces of a listing: what they say for all in them."""

from reroll.kube import api
from reroll.kube.errors import Forbidden, Malformed, NotFound
from reroll.kube.objects import Stub
from reroll.kube.resources import NAMESPACES
from reroll.kube.view import View


async def namespaces_of(view: View, notes: list[str]) -> list[Stub]:
    """Those that were asked for; what may not be read is a note, as nobody asked for that."""
    found: list[Stub] = []
    for place in view.places:
        if place is None:
            found += await view.every(NAMESPACES, Stub, metadata_only=True)
        else:
            found += await _namespace(view, place, notes)
    return found


async def _namespace(view: View, name: str, notes: list[str]) -> list[Stub]:
    try:
        stub = await api.get(view.client, NAMESPACES, None, name, Stub)
    except Forbidden:
        notes.append(
            f"Namespace {name} may not be read, so annotations on it do not count; "
            "grant `get` on namespaces"
        )
        return []
    except NotFound:
        view.gaps.append(f"namespace {name} does not exist")
        return []
    except Malformed:
        return []
    return [stub]
