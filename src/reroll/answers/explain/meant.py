"""Which workload is meant by a name alone, or by a pod: what makes it."""

from reroll.answers.errors import AnswerError
from reroll.core.model.key import Key
from reroll.core.tables.catalog import Tables
from reroll.engine.owned_pods import makers_of, owner
from reroll.kube import resources
from reroll.kube.objects import Stub
from reroll.kube.view import View


async def by_pod(view: View, name: str, tables: Tables) -> Key:
    """The workload that makes a pod."""
    place, known = view.namespace or view.home, len(view.gaps)
    pod = await view.get(resources.PODS, place, name, Stub)
    if pod is None and len(view.gaps) > known:
        raise AnswerError(f"Pod {name} of namespace {place} was not read: {view.gaps[-1]}")
    if pod is None:
        raise AnswerError(
            f"there is no Pod {name} in namespace {place}; `reroll audit --pods` lists pods"
        )
    key = Key("Pod", place, name)
    found = owner(pod.metadata, key, await makers_of(view))
    if found == key:
        raise AnswerError(f"Pod {name} was made by hand: no workload makes it, so nothing rolls it")
    if not any(row.kind == found.kind for row in tables.kinds):
        raise AnswerError(f"Pod {name} is made by {found}, which is no workload that rolls here")
    return found


async def by_name(view: View, name: str, tables: Tables) -> Key | None:
    """The one workload that is called so; `None` if there is none."""
    listed = await view.workloads(tables.kinds)
    found = [one.workload.key for one in listed if one.workload.key.name == name]
    if len(found) > 1:
        names = " or ".join(f"{key.kind.lower()}/{name}" for key in found)
        raise AnswerError(f"several workloads are called {name}; write {names}")
    return found[0] if found else None
