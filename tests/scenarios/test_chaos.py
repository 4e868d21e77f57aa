"""The controller is killed at random moments during 200 changes: nothing lost, nothing doubled."""

import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from itertools import count

import pytest
from tests.scenarios.stage import ENABLED, Controller, Stage, eventually
from tests.support import build
from tests.support.templates import Templates

CHANGES = 200
WORKLOADS = 20
SOURCES = 10
KILLS = 12
LAST = 20
"""Changes that nobody hears, at the end."""


class Chaos:
    """Workloads that share sources; each change is of one source, to what it never was."""

    def __init__(self, stage: Stage, chance: random.Random) -> None:
        self.stage, self.chance = stage, chance
        self.changes: dict[str, list[int]] = defaultdict(list)
        """By source, the versions at which it changed."""
        self.values = count()
        names = [f"configmap/s-{n}" if n % 2 else f"secret/s-{n}" for n in range(SOURCES)]
        for name in names:
            kind, _, plain = name.partition("/")
            stage.make(getattr(build, kind)(plain))
        self.names = names
        self.uses = {
            f"web-{n}": chance.sample(names, chance.randint(1, 3)) for n in range(WORKLOADS)
        }
        self.webs = {name: self._web(name, uses) for name, uses in self.uses.items()}
        stage.make(*self.webs.values())

    def _web(self, name: str, uses: list[str]) -> build.Object:
        kind = self.chance.choice([build.deployment, build.statefulset])
        more = {"revisionHistoryLimit": CHANGES}
        return kind(name, replicas=0, uses=uses, annotations=ENABLED, spec=more)

    def storm(self, changes: int) -> None:
        for _ in range(changes):
            source = self.chance.choice(self.names)
            kind, _, plain = source.partition("/")
            word = {"configmap": "ConfigMap", "secret": "Secret"}[kind]
            changed = self.stage.change(word, plain, key=f"value {next(self.values)}")
            self.changes[source].append(int(changed["metadata"]["resourceVersion"]))
            time.sleep(self.chance.uniform(0, 0.08))

    # Afterwards

    def check(self, templates: Templates) -> None:
        """Nothing lost, nothing doubled; and the records say what a new workload would get."""
        for name, web in self.webs.items():
            twin = {**web, "metadata": {**web["metadata"], "name": f"twin-of-{name}"}}
            self.stage.make(twin)
            current = self.stage.adopted(twin)["s"]
            eventually(
                lambda web=web, current=current: self.stage.record(web)["s"] == current,
                f"{name} is on record with what its sources hold",
            )
        self.stage.quiet(web)
        for name, web in self.webs.items():
            templates.check(web, [v for source in self.uses[name] for v in self.changes[source]])


@pytest.mark.slow
@pytest.mark.parametrize("debounce", ["0", "300ms"])
def test_a_controller_killed_at_random_moments(
    stage: Stage, controller: Callable[..., Controller], debounce: str
) -> None:
    seed = random.randrange(10**6)
    print(f"seed {seed}")  # noqa: T201  shown with a failure, to play it again
    chance = random.Random(seed)
    chaos = Chaos(stage, chance)
    often = ("--max-rolls", "0/1h")  # What changes at random trips the breaker.
    one = controller("--leader-election", "false", "--debounce", debounce, *often, wait="watching")
    for web in chaos.webs.values():
        stage.adopted(web)

    with Templates(stage.api, stage.namespace, "Deployment", "StatefulSet") as templates:
        storm = threading.Thread(target=chaos.storm, args=[CHANGES - LAST])
        storm.start()
        kill_at_times(one, random.Random(seed + 1), storm.is_alive)
        storm.join()
        one.kill()
        chaos.storm(LAST)
        one.start(wait="watching")
        chaos.check(templates)


def kill_at_times(one: Controller, moments: random.Random, go_on: Callable[[], bool]) -> None:
    for _ in range(KILLS):
        if go_on():
            time.sleep(moments.uniform(0, 1.0))
            one.kill()
            one.start(wait=moments.choice(["", "", "starting", "watching"]))
