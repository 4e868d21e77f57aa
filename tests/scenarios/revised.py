"""What scenarios of revisions look at: copies, pins, and what pods have of a source."""

from typing import Any

from tests.scenarios.stage import ENABLED, Stage, eventually
from tests.support.build import Object

from reroll.core.revisions.content_names import COPY_OF
from reroll.core.revisions.pins import PINS, read_pins
from reroll_dev.api import ApiError, path_to

REVISIONS = {**ENABLED, "reroll.dev/revisions": "true", "reroll.dev/pin": "template"}
"""By names in the template: what pods have can be seen though nothing rewrites them."""
KINDS_OF_SOURCES = ("ConfigMap", "Secret")


def pins(stage: Stage, workload: Object) -> dict[tuple[str, str], str]:
    return _pins(stage.template(workload))


def _pins(template: Object) -> dict[tuple[str, str], str]:
    return read_pins(template.get("metadata", {}).get("annotations", {}).get(PINS, ""))


def pin(stage: Stage, workload: Object, kind: str = "ConfigMap", name: str = "app") -> str:
    """The copy that the template names, waited for."""
    return eventually(
        lambda: pins(stage, workload).get((kind, name)), f"{workload['kind']} is pinned"
    )


def pinned_anew(stage: Stage, workload: Object, *before: str, name: str = "app") -> str:
    """Wait until the template names another copy than any of these."""
    kind = "Secret" if name == "db" else "ConfigMap"

    def new() -> str | None:
        found = pins(stage, workload).get((kind, name))
        return found if found not in (None, *before) else None

    return eventually(new, f"{workload['kind']} is pinned anew")


def copies(stage: Stage, of: str = "") -> dict[str, Object]:
    """The copies of one source or of all, by name."""
    found = [
        one
        for kind in KINDS_OF_SOURCES
        for one in stage.api.list(path_to(kind, "", stage.namespace), labelSelector=COPY_OF)
    ]
    return {
        one["metadata"]["name"]: one
        for one in found
        if of in {"", one["metadata"]["labels"][COPY_OF]}
    }


def owners(copy: Object) -> set[tuple[str, str]]:
    references = copy["metadata"].get("ownerReferences", ())
    return {(owner["kind"], owner["name"]) for owner in references}


def owned_right(stage: Stage, workload: Object) -> dict[str, Object]:
    """Wait until every revision owns what it names, and the workload what its template names."""

    def right() -> dict[str, Object] | None:
        found = copies(stage)
        name = (workload["kind"], workload["metadata"]["name"])
        wanted: dict[str, set[tuple[str, str]]] = {copy: set() for copy in found}
        for copy in pins(stage, workload).values():
            wanted.setdefault(copy, set()).add(name)
        for one in stage.revisions(workload):
            template = (one.get("data", {}).get("spec") or one.get("spec"))["template"]
            for copy in _pins(template).values():
                word = "ControllerRevision" if "data" in one else "ReplicaSet"
                wanted.setdefault(copy, set()).add((word, one["metadata"]["name"]))
        now = {copy: owners(one) for copy, one in found.items()}
        return found if now == wanted else None

    return eventually(right, f"the copies of {workload['kind']} are owned by who names them")


def contents(stage: Stage, pod: Object) -> dict[str, Any]:
    """What the environment of a pod resolves to, by the name that it says; `None` if missing."""
    found: dict[str, Any] = {}
    for container in pod["spec"]["containers"]:
        for one in container.get("envFrom", ()):
            for field, kind in (("configMapRef", "ConfigMap"), ("secretRef", "Secret")):
                if field in one:
                    name = one[field]["name"]
                    found[name] = held(stage, kind, name)
    return found


def held(stage: Stage, kind: str, name: str) -> Any:
    """What a source or a copy holds; `None` if it does not exist."""
    try:
        return stage.api.get(path_to(kind, name, stage.namespace)).get("data", {})
    except ApiError as error:
        if error.status != 404:
            raise
        return None
