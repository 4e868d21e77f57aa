"""Whatever happens, each pod has the content that its own template was made with.

A walk of changes, scalings, pod deletions, undos and kills of the controller, from a seed that is
shown. After each step every pod is looked at: it names copies only, those of its own pins; they
exist; and they hold what they always held, which is something that their source once held.
"""

import random
from collections.abc import Callable
from contextlib import suppress
from itertools import count

import pytest
from tests.scenarios.pins import TOKENS, Installation, sources_of
from tests.scenarios.revised import REVISIONS, copies, held, pin, pins
from tests.scenarios.stage import Controller, Stage, again, alone, eventually
from tests.support import build
from tests.support.build import Object
from tests.support.tools import Tool

from reroll.core.revisions.pins import PINS, read_pins
from reroll_dev.api import ApiError, path_to

Start = Callable[..., Controller]
STEPS = 12
NAMES = {"ConfigMap": "app", "Secret": "db"}


class Walk:
    def __init__(self, stage: Stage, kubectl: Tool, chance: random.Random) -> None:
        self.stage, self.kubectl, self.chance = stage, kubectl, chance
        self.one: Controller | None = None
        self.values = count(1)
        self.wrote = {"value", build.encode("value")}
        self.holds: dict[str, object] = {}
        """By copy, what it was first seen to hold."""
        self.webs: list[Object] = []
        self.unpinned: set[str] = set()
        """The revisions before anything was pinned: an undo may go there."""

    def begin(self, start: Callable[[], Controller], annotations: dict[str, str]) -> None:
        more = {"uses": ["configmap/app", "secret/db"], "annotations": annotations}
        short = {"revisionHistoryLimit": 2}
        self.webs = [
            build.deployment("web", replicas=2, spec=short, **more),
            build.statefulset("set", replicas=2, spec=short, **more),
        ]
        data = {"key": "value"}
        self.stage.make(build.configmap("app", data), build.secret("db", data), *self.webs)
        for web in self.webs:
            self.stage.settled(web)
            self.unpinned |= {_revision(pod) for pod in self.stage.pods(web)}
        self.one = start()
        for web in self.webs:
            pin(self.stage, web)

    # Steps

    def step(self) -> str:
        steps = (self.change, self.change, self.scale, self.lose_pod, self.undo, self.kill)
        chosen = self.chance.choice(steps)
        chosen()
        return chosen.__name__

    def change(self) -> None:
        kind = self.chance.choice(list(NAMES))
        value = f"value {next(self.values)}"
        self.wrote |= {value, build.encode(value)}
        self.stage.change(kind, NAMES[kind], key=value)

    def scale(self) -> None:
        replicas = {"spec": {"replicas": self.chance.randint(1, 4)}}
        self.stage.api.patch(self.stage.path(self.chance.choice(self.webs)), replicas)

    def lose_pod(self) -> None:
        pods = self.stage.pods(self.chance.choice(self.webs))
        if pods:
            name = self.chance.choice(pods)["metadata"]["name"]
            path = path_to("Pod", name, self.stage.namespace)
            self.stage.api.delete(path, missing_ok=True)

    def undo(self) -> None:
        web = self.chance.choice(self.webs)
        name = f"{web['kind'].lower()}/{web['metadata']['name']}"
        with suppress(AssertionError):  # There may be nothing to go back to.
            self.kubectl("rollout", "undo", name, "--namespace", self.stage.namespace)

    def kill(self) -> None:
        assert self.one is not None
        again(self.one)

    # What must hold

    def check(self) -> None:
        for web in self.webs:
            for pod in self.stage.pods(web):
                self._check_pod(pod)

    def _check_pod(self, pod: Object) -> None:
        if _revision(pod) in self.unpinned:
            return
        named = sources_of(pod["spec"]) - {TOKENS}
        wanted = {(kind, copy) for (kind, _), copy in _pins(pod).items()}
        assert named == wanted, f"{pod['metadata']['name']} names {named}, its pins say {wanted}"
        for kind, copy in named:
            found = held(self.stage, kind, copy)
            if found is None and self._is_gone(pod):
                return  # Its revision went, and the copy with it.
            assert found is not None, f"{pod['metadata']['name']} names {copy}, which is gone"
            assert self.holds.setdefault(copy, found) == found
            assert set(found.values()) <= self.wrote

    def _is_gone(self, pod: Object) -> bool:
        with suppress(ApiError):
            path = path_to("Pod", pod["metadata"]["name"], self.stage.namespace)
            now = self.stage.api.get(path)["metadata"]
            return now["uid"] != pod["metadata"]["uid"] or "deletionTimestamp" in now
        return True

    def settle(self) -> None:
        """A last change is everybody's in the end, and nothing is left that nobody names."""
        for kind, name in NAMES.items():
            self.stage.change(kind, name, key="the last")
        self.wrote |= {"the last", build.encode("the last")}
        for web in self.webs:
            eventually(lambda web=web: self._has_the_last(web), f"{web['kind']} has the last")
            self.stage.settled(web)
        eventually(lambda: copies(self.stage).keys() == self._named(), "no copy is left over", 60)
        self.check()

    def _has_the_last(self, web: Object) -> bool:
        found = [held(self.stage, kind, copy) for (kind, _), copy in pins(self.stage, web).items()]
        last = ({"key": "the last"}, {"key": build.encode("the last")})
        return len(found) == 2 and all(one in last for one in found)

    def _named(self) -> set[str]:
        """What templates and revisions name."""
        found = {copy for web in self.webs for copy in pins(self.stage, web).values()}
        for web in self.webs:
            for one in self.stage.revisions(web):
                spec = one.get("data", {}).get("spec") or one["spec"]
                found |= set(_pins(spec["template"]).values())
        return found


def _pins(document: Object) -> dict[tuple[str, str], str]:
    return read_pins(document["metadata"].get("annotations", {}).get(PINS, ""))


def _revision(pod: Object) -> str:
    labels = pod["metadata"]["labels"]
    found: str = labels.get("pod-template-hash") or labels["controller-revision-hash"]
    return found


@pytest.mark.thorough
@pytest.mark.parametrize("mode", ["template", "admission"])
def test_each_pod_has_what_its_template_was_made_with(
    stage: Stage, controller: Start, kubectl: Tool, installation: Installation, mode: str
) -> None:
    seed = random.randrange(10**6)
    print(f"seed {seed}")  # noqa: T201  shown with a failure, to play it again
    if mode == "admission":
        assert installation.install().code == 0
    walk = Walk(stage, kubectl, random.Random(seed))
    annotations = {**REVISIONS, "reroll.dev/pin": mode}
    walk.begin(lambda: alone(controller, "--debounce", "100ms"), annotations)

    for number in range(STEPS):
        print(number, walk.step())  # noqa: T201
        walk.check()
    walk.settle()
