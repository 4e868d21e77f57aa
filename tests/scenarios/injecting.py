"""What the scenarios of Injections are written with: targets, and what became of them."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.scenarios.stage import Controller, Stage, eventually
from tests.support.build import Object
from tests.support.crds import targets

from reroll.core.tables import rights
from reroll.core.tables.kinds import KINDS
from reroll.features.injection import crd
from reroll.settings.table import Settings
from reroll_dev.api import Api, ApiError, path_of

FLAGS = ("--injections", "true")
WRITES = ["get", "list", "watch", "patch"]
"""What an Injection needs for its target."""
WRITABLE: tuple[rights.Rule, ...] = (
    {"apiGroups": ["goharbor.io"], "resources": ["harborclusters"], "verbs": WRITES},
    {"apiGroups": ["example.com"], "resources": ["gadgets", "fleets"], "verbs": WRITES},
    {"apiGroups": [""], "resources": ["configmaps", "secrets"], "verbs": ["patch"]},
)


def install(api: Api, *definitions: Object) -> None:
    """CRDs; all tests share those of this module, and none removes one."""
    for one in definitions:
        api.patch(path_of(one), one, "apply", fieldManager="tests", force="true")
    served(api, *definitions)


def served(api: Api, *definitions: Object) -> None:
    """Wait until they are: what is established answers, and is told of, a moment later."""
    for one in definitions:
        api.wait_for(path_of(one), _is_established)
        plural = one["spec"]["names"]["plural"]
        for version in (each["name"] for each in one["spec"]["versions"] if each["served"]):
            _served(api, f"/apis/{one['spec']['group']}/{version}", plural)


def _served(api: Api, path: str, plural: str) -> None:
    eventually(lambda: _tells_of(api, path, plural), f"{plural} are told of")
    eventually(lambda: _answers(api, f"{path}/{plural}"), f"{plural} are served")


def let_go(stage: Stage) -> None:
    """Delete all Injections, also those that would wait for a controller that is gone."""
    for one in stage.api.list(f"/apis/reroll.dev/v1alpha1/namespaces/{stage.namespace}/injections"):
        path = stage.path({**one, "apiVersion": "reroll.dev/v1alpha1", "kind": "Injection"})
        stage.api.delete(path, missing_ok=True)
        with suppress(ApiError):
            stage.api.patch(path, {"metadata": {"finalizers": None}})


def _is_established(definition: Object) -> bool:
    conditions = definition.get("status", {}).get("conditions") or ()
    return any(one["type"] == "Established" and one["status"] == "True" for one in conditions)


def _tells_of(api: Api, path: str, plural: str) -> bool:
    try:
        return any(one["name"] == plural for one in api.get(path)["resources"])
    except ApiError:
        return False


def _answers(api: Api, path: str) -> bool:
    try:
        api.list(path, limit=1)
    except ApiError:
        return False
    return True


def own_rules() -> list[rights.Rule]:
    """The controller's rights, for rolling and for Injections, without any target."""
    defaults, features = Settings(), rights.DEFAULT | {rights.Feature.INJECTIONS}
    everywhere = rights.cluster(KINDS, features=features)
    return [*everywhere, *rights.own(defaults.digest_key, defaults.lease, features=features)]


def gadget(name: str = "g", **spec: Any) -> Object:
    meta = {"name": name}
    return {"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": meta, "spec": spec}


def source(name: str, key: str, kind: str = "Secret", **more: str) -> Object:
    return {"kind": kind, "name": name, "key": key, **more}


def injection(name: str, of: Object | list[Object], to: Object, path: str, **spec: Any) -> Object:
    """`of`: one key or several; `to`: the manifest of the target."""
    where = {key: to[key] for key in ("apiVersion", "kind")}
    place = spec.pop("place", {})
    target = {**where, "name": to["metadata"]["name"], "path": path, **place}
    return {
        "apiVersion": "reroll.dev/v1alpha1",
        "kind": "Injection",
        "metadata": {"name": name},
        "spec": {"from": of if isinstance(of, list) else [of], "to": target, **spec},
    }


class Injecting:
    """A controller that keeps Injections, with the rights to write to the targets here."""

    def __init__(self, stage: Stage, start: Callable[..., Controller], kubeconfig: Path) -> None:
        self.stage, self._start, self.kubeconfig = stage, start, kubeconfig

    def run(self, *flags: str, **more: Any) -> Controller:
        """One that elects no leader, so that it can be killed and started at once."""
        return self.start("--leader-election", "false", *flags, **{"wait": "watching", **more})

    def start(self, *flags: str, **more: Any) -> Controller:
        return self._start(*FLAGS, *flags, **{"kubeconfig": self.kubeconfig, **more})

    def condition(self, one: Object, kind: str = "Ready") -> Object:
        found = self.stage.get(one).get("status", {}).get("conditions", ())
        return next((c for c in found if c["type"] == kind), {})

    def said(self, one: Object, reason: str, kind: str = "Ready", words: str = "") -> str:
        """Wait until a condition has this reason, for the spec as it is; its message."""

        def now() -> str | None:
            found = self.stage.get(one)
            generation = found["metadata"]["generation"]
            for c in found.get("status", {}).get("conditions", ()):
                is_meant = c["type"] == kind and c["observedGeneration"] == generation
                if is_meant and c["reason"] == reason and words in c["message"]:
                    return f"{c['status']}: {c['message']}"
            return None

        name = one["metadata"]["name"]
        try:
            answer: str = eventually(now, f"Injection {name} says {reason} {words}")
        except AssertionError as error:
            raise AssertionError(f"{error}; it says {self.condition(one, kind)}") from None
        return answer

    def holds(self, target: Object, value: Any, *path: str | int) -> Object:
        """Wait until a value is at a place of a target; the target."""

        def now() -> Object | None:
            found = self.stage.get(target)
            here: Any = found
            for step in path:
                try:
                    here = here[step]
                except (KeyError, IndexError):
                    return None
            return found if here == value else None

        found: Object = eventually(now, f"the value is at {path}")
        return found

    def edit(self, one: Object, **spec: Any) -> None:
        self.stage.api.patch(self.stage.path(one), {"spec": spec})


def managers(target: Object) -> dict[str, Any]:
    """The fields of each field manager, by its name."""
    return {one["manager"]: one["fieldsV1"] for one in target["metadata"]["managedFields"]}


def writes(calls: list[dict[str, Any]], resource: str) -> list[dict[str, Any]]:
    """The calls of an audit log that changed an object of a resource."""
    return [
        call
        for call in calls
        if call["verb"] in {"create", "update", "patch", "delete"}
        and call["objectRef"]["resource"] == resource
        and not call["objectRef"].get("subresource")
        and "dryRun" not in call["requestURI"]
        and call["responseStatus"]["code"] < 400
    ]


SHAPES = (crd.manifest(), targets.HARBOR_CLUSTER, targets.GADGET, targets.FLEET)
