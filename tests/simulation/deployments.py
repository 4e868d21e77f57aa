"""A model of what makes pods of Deployments: ReplicaSets, pods that are well or not, and status."""

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.simulation.json_patch import Document
from tests.simulation.store import Place, Store
from tests.simulation.virtual_time import VirtualClock

REVISION = "deployment.kubernetes.io/revision"
Values = dict[str, str]
IsWell = Callable[[str, Values], bool]
"""Whether pods of the Deployment of this name run with this configuration."""
DEADLINE = 20
"""Seconds until a Deployment tells that its rollout makes no progress, unless it says more."""


@dataclass(slots=True)
class Pods:
    """The pods of one template."""

    template: Document
    made: str
    values: Values | None
    """What they read when they were made; `None`: something was not there."""
    ready: bool = False


@dataclass(slots=True)
class State:
    """What runs of one Deployment."""

    now: Pods | None = None
    before: Pods | None = None
    """The pods of the template before, until those of this one are ready."""
    gave_up: bool = False
    turn: int = 0
    sets: list[Document] = field(default_factory=list)

    @property
    def is_over(self) -> bool:
        return self.before is None

    @property
    def serving(self) -> Pods | None:
        """The pods that answer requests."""
        return self.now if self.now and self.now.ready else self.before


class Deployments:
    """`is_well` may be changed at any time; `check` has running pods meet it."""

    def __init__(self, store: Store, clock: VirtualClock, seed: int) -> None:
        self._store, self._clock = store, clock
        self._random = random.Random(seed)
        self.is_well: IsWell = lambda *_: True
        self.states: dict[Place, State] = {}
        self.starts = (1.0, 5.0)
        store.reacts, store.owned = self._reacts, self._owned

    # What it does by itself

    def _reacts(self, plural: str, before: Document | None, after: Document | None) -> None:
        if plural != "deployments":
            return
        if after is None:
            if before is not None:
                self.states.pop(_place(before), None)
            return
        state = self.states.setdefault(_place(after), State())
        annotations = after["metadata"].get("annotations") or {}
        if state.sets and state.now and state.now.template == after["spec"]["template"]:
            newest = state.sets[-1]["metadata"]
            newest["annotations"] = {**annotations, REVISION: newest["annotations"][REVISION]}
        if before is None or before["metadata"]["generation"] != after["metadata"]["generation"]:
            loop, lag = asyncio.get_running_loop(), self._random.uniform(0.05, 0.5)
            loop.call_later(lag, self._sync, _place(after))

    def _sync(self, place: Place) -> None:
        document, state = self._store.all("deployments").get(place), self.states.get(place)
        if document is None or state is None:
            return
        spec = document["spec"]
        if not spec.get("paused") and (state.now is None or state.now.template != spec["template"]):
            self._replace(place, document, state)
        self._tell(document, state)

    def _replace(self, place: Place, document: Document, state: State) -> None:
        template, loop = document["spec"]["template"], asyncio.get_running_loop()
        state.before = state.serving
        state.now = Pods(template, self._second(), self._read(place[0], template))
        state.turn, state.gave_up = state.turn + 1, False
        self._revise(document, state, template)
        loop.call_later(self._random.uniform(*self.starts), self._start, place, state, state.turn)
        limit = document["spec"].get("progressDeadlineSeconds", DEADLINE)
        loop.call_later(limit, self._give_up, place, state, state.turn)

    def _start(self, place: Place, state: State, turn: int) -> None:
        document = self._store.all("deployments").get(place)
        if document is None or state.turn != turn or state.now is None or state.now.ready:
            return
        values = state.now.values
        if values is not None and self.is_well(place[1], values):
            state.now.ready, state.before, state.gave_up = True, None, False
            self._tell(document, state)

    def _give_up(self, place: Place, state: State, turn: int) -> None:
        document = self._store.all("deployments").get(place)
        is_stuck = state.turn == turn and state.now is not None and not state.now.ready
        if document is None or not is_stuck or not document["spec"]["replicas"]:
            return
        state.gave_up = True
        self._tell(document, state)

    def _tell(self, document: Document, state: State) -> None:
        number = document["spec"]["replicas"]
        is_over = state.is_over or not number
        status: dict[str, Any] = {
            "observedGeneration": document["metadata"]["generation"],
            "replicas": number if is_over else number + 1,
            "updatedReplicas": number if is_over else 1,
            "availableReplicas": number if state.serving else 0,
        }
        if state.now and state.now.template != document["spec"]["template"]:
            status["updatedReplicas"] = 0
        if state.gave_up:
            gave_up = {"type": "Progressing", "status": "False"}
            status["conditions"] = [{**gave_up, "reason": "ProgressDeadlineExceeded"}]
        if document.get("status") != status:
            self._store.put("deployments", {**document, "status": status})

    # What it has

    def _read(self, namespace: str, template: Document) -> Values | None:
        values: Values = {}
        for source in template["spec"]["containers"][0].get("envFrom", ()):
            name = source["configMapRef"]["name"]
            found = self._store.all("configmaps").get((namespace, name))
            if found is None:
                return None
            values |= found["data"]
        return values

    def _revise(self, document: Document, state: State, template: Document) -> None:
        """The ReplicaSet of a template; one that was there before gets a new number."""
        metadata = document["metadata"]
        known = next((one for one in state.sets if one["spec"]["template"] == template), None)
        if known is None:
            owner = {"kind": "Deployment", "name": metadata["name"], "uid": metadata["uid"]}
            name = f"{metadata['name']}-{len(state.sets)}"
            known = {
                "metadata": {
                    "name": name,
                    "namespace": metadata["namespace"],
                    "uid": f"rs-{metadata['uid']}-{len(state.sets)}",
                    "creationTimestamp": self._second(),
                    "ownerReferences": [{**owner, "controller": True, "apiVersion": "apps/v1"}],
                },
                "spec": {"template": template},
            }
        else:
            state.sets.remove(known)
        number = {REVISION: str(state.turn)}
        known["metadata"]["annotations"] = {**(metadata.get("annotations") or {}), **number}
        known["metadata"]["resourceVersion"] = self._store.version()
        state.sets.append(known)

    def _owned(self, plural: str, namespace: str, name: str) -> list[Document]:
        state = self.states.get((namespace, name), State())
        if plural == "replicasets":
            return state.sets
        document = self._store.all("deployments")[namespace, name]
        if not document["spec"]["replicas"]:
            return []
        pods = [one for one in (state.now, state.before) if one]
        return [self._pod(namespace, name, number, one) for number, one in enumerate(pods)]

    def _pod(self, namespace: str, name: str, number: int, pods: Pods) -> Document:
        is_sick = pods.values is None or not self.is_well(name, pods.values)
        main: dict[str, Any] = {"name": "main", "ready": pods.ready}
        if is_sick and not pods.ready:
            main |= {"restartCount": 3, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}
            main["lastState"] = {"terminated": {"reason": "Error", "exitCode": 1}}
        owner = {"kind": "ReplicaSet", "name": f"{name}-x", "uid": "x", "controller": True}
        return {
            "metadata": {
                "name": f"{name}-x-{number}",
                "namespace": namespace,
                "creationTimestamp": pods.made,
                "ownerReferences": [owner],
            },
            "status": {
                "conditions": [{"type": "Ready", "status": str(pods.ready)}],
                "containerStatuses": [main],
            },
        }

    def _second(self) -> str:
        return self._clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")


def _place(document: Document) -> Place:
    return document["metadata"]["namespace"], document["metadata"]["name"]
