"""`python -m bench.soak`: a storm of changes, scalings, faults and kills, and then the invariants.

Three replicas are behind a proxy that misbehaves; two of them are killed, stopped or frozen again
and again, the third lives through it all and is weighed. When the storm is over: every pod has
the current content of what it uses, no workload rolled more often than its sources changed or
sooner than its debounce allows, memory is flat, and no replica met with a bug.
"""

import argparse
import logging
import random
import signal
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from tests.scenarios.stage import ENABLED, Controller, Stage, eventually
from tests.support import build
from tests.support.faultproxy import FaultProxy
from tests.support.faults import Answer, Cut, Delay, DropResponse, Fault, Match, Silence, WatchError
from tests.support.settled import is_settled
from tests.support.witness import Witness, hasty, slope, surplus

from bench.ground import USER, ground, say
from reroll_dev.api import Api, ApiError, path_to

DEBOUNCE = timedelta(milliseconds=300)
FLAGS = (
    "--max-rolls",
    "0/1h",
    "--watch-silence",
    "3s",
    "--debounce-limit",
    "3s",
    "--log-level",
    "info",
)
KINDS = ("Deployment", "StatefulSet", "DaemonSet")
STRATEGIES = ("stamp", "stamp", "env", "restart", "evict")
REVISIONS = {"reroll.dev/revisions": "true", "reroll.dev/pin": "template"}
CONVERGE = 180.0
STEEPEST = 0.5
"""MB in a minute."""
WATCHES, WRITES = Match(watch=True), Match(method="PATCH", path="/apis/apps/")
FAULTS: tuple[tuple[Fault, Match, int], ...] = (
    (Cut(in_event=1), WATCHES, 2),
    (Cut(after_bytes=100), Match(), 3),
    (WatchError(410), WATCHES, 3),
    (Silence(), WATCHES, 2),
    (Silence(), Match(method="GET", path="/secrets/"), 1),
    (DropResponse(), WRITES, 3),
    (Delay(1.0), WRITES, 4),
    (Answer(429, retry_after=1), WRITES, 3),
    (Answer(500), Match(), 3),
    (Answer(503), WRITES, 3),
    (Answer(409), WRITES, 2),
)


@dataclass
class Storm:
    """Everything that happens, and everything that is known about it."""

    stage: Stage
    proxy: FaultProxy
    kubeconfig: Path
    """That of the controller, through the proxy."""
    logs: Path
    seconds: float
    seed: int
    sources: int = 12
    workloads: int = 16
    changes: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    """By source, the versions at which it changed."""
    uses: dict[str, list[str]] = field(default_factory=dict)
    webs: dict[str, build.Object] = field(default_factory=dict)
    done: Counter[str] = field(default_factory=Counter)
    weights: list[tuple[float, float]] = field(default_factory=list)
    """Seconds and MB of the replica that lives through it all."""

    def run(self) -> list[str]:
        """What does not hold afterwards; nothing, if all is well."""
        self._make()
        replicas = [self._replica(number) for number in range(3)]
        with Witness(self.stage.api, self.stage.namespace, KINDS) as witness:
            try:
                for one in replicas:
                    one.start(wait="watching")
                for web in self.webs.values():
                    self.stage.adopted(web)
                self._blow(replicas)
                self._calm(replicas)
                return self._problems(witness, replicas)
            finally:
                for one in replicas:
                    one.end()

    def _make(self) -> None:
        chance = random.Random(self.seed)
        names = [f"{('secret', 'configmap')[n % 2]}/s-{n}" for n in range(self.sources)]
        for name in names:
            kind, _, plain = name.partition("/")
            self.stage.make(getattr(build, kind)(plain))
            self.changes[name] = []
        for number in range(self.workloads):
            name, kind = f"web-{number}", KINDS[number % len(KINDS)].lower()
            self.uses[name] = chance.sample(names, chance.randint(1, 3))
            how = {"reroll.dev/strategy": chance.choice(STRATEGIES)}
            if number % 4 == 3:
                how = REVISIONS
            more: dict[str, Any] = {} if kind == "daemonset" else {"replicas": chance.randint(0, 2)}
            self.webs[name] = getattr(build, kind)(
                name, uses=self.uses[name], annotations={**ENABLED, **how}, **more
            )
            self.stage.make(self.webs[name])

    def _replica(self, number: int) -> Controller:
        log = self.logs / f"soak-{number}.log"
        return Controller(self.kubeconfig, self.stage.namespace, log, FLAGS)

    def _blow(self, replicas: list[Controller]) -> None:
        end = time.monotonic() + self.seconds
        actors: tuple[Callable[[random.Random], None], ...] = (
            self._change,
            self._change,
            self._scale,
            self._fault,
            lambda chance: self._strike(chance, replicas[1:]),
            lambda _: self._weigh(replicas[0]),
        )
        problems: list[Exception] = []

        def act(number: int, actor: Callable[[random.Random], None]) -> None:
            chance = random.Random(self.seed * 100 + number)
            try:
                while time.monotonic() < end:
                    actor(chance)
            except Exception as problem:  # noqa: BLE001  told when all have come to an end
                problems.append(problem)

        threads = [threading.Thread(target=act, args=pair) for pair in enumerate(actors)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if problems:
            raise problems[0]

    # What happens

    def _change(self, chance: random.Random) -> None:
        source = chance.choice(list(self.changes))
        kind, _, name = source.partition("/")
        word = {"configmap": "ConfigMap", "secret": "Secret"}[kind]
        changed = self.stage.change(word, name, key=f"value {chance.random()}")
        self.changes[source].append(int(changed["metadata"]["resourceVersion"]))
        self.done["changes"] += 1
        time.sleep(chance.expovariate(4))

    def _scale(self, chance: random.Random) -> None:
        name = chance.choice([n for n, web in self.webs.items() if web["kind"] != "DaemonSet"])
        self.stage.api.patch(
            self.stage.path(self.webs[name]), {"spec": {"replicas": chance.randint(0, 3)}}
        )
        self.done["scalings"] += 1
        time.sleep(chance.uniform(0.2, 1.5))

    def _fault(self, chance: random.Random) -> None:
        if chance.random() < 0.15:
            self.proxy.refuse()
            time.sleep(chance.uniform(0.5, 5.0))
            self.proxy.accept()
            self.done["times without an API server"] += 1
        else:
            fault, match, times = chance.choice(FAULTS)
            self.proxy.inject(fault, match, times=times)
            self.done["faults"] += 1
        time.sleep(chance.uniform(0.2, 2.0))

    def _strike(self, chance: random.Random, mortal: list[Controller]) -> None:
        time.sleep(chance.uniform(1.0, 5.0))
        one = chance.choice(mortal)
        how = chance.choice(("kill", "kill", "stop", "freeze"))
        assert one.process is not None
        if how == "freeze":
            with _frozen(one):
                time.sleep(chance.uniform(1.0, 5.0))
        else:
            one.kill() if how == "kill" else one.stop()
            one.start(wait="")
        self.done[{"kill": "kills", "stop": "stops", "freeze": "freezes"}[how]] += 1

    def _weigh(self, one: Controller) -> None:
        assert one.process is not None
        pages = int(Path(f"/proc/{one.process.pid}/statm").read_text().split()[1])
        self.weights.append((time.monotonic(), pages * 4096 / 1e6))
        time.sleep(0.5)

    # Afterwards

    def _calm(self, replicas: list[Controller]) -> None:
        self.proxy.clear()
        self.proxy.accept()
        for name in self.webs:
            self.stage.make(self._twin(name))
        assert all(one.process is not None for one in replicas)

    def _twin(self, name: str) -> build.Object:
        """A new workload with the same sources: its record says what they hold now."""
        twin = f"twin-of-{name}"
        return build.deployment(twin, replicas=0, uses=self.uses[name], annotations=ENABLED)

    def _problems(self, witness: Witness, replicas: list[Controller]) -> list[str]:
        found = []
        end = time.monotonic() + CONVERGE
        for name in self.webs:
            with suppress(AssertionError):
                eventually(
                    lambda name=name: not self._behind(name, witness),
                    timeout=max(1.0, end - time.monotonic()),
                )
            found += [f"{name}: {problem}" for problem in self._behind(name, witness)]
            changes = [version for source in self.uses[name] for version in self.changes[source]]
            rolls = witness.rolls[name]
            self.done["rolls"] += len(rolls)
            found += [f"{name}: {one}" for one in surplus(rolls, changes)]
            found += [f"{name}: {one}" for one in hasty(rolls, DEBOUNCE)]
        for number, one in enumerate(replicas):
            bad = [line for line in one.lines() if line["level"] == "error"]
            found += [f"replica {number}: {line}" for line in bad[:3]]
        grows = 60 * slope(self.weights)
        if self.seconds >= 300 and grows > STEEPEST:
            found.append(f"memory grows by {grows:.2f} MB in a minute")
        return found

    def _behind(self, name: str, witness: Witness) -> list[str]:
        """What is not as current content wants it, yet."""
        web = self.webs[name]
        record = self.stage.record(web)
        wanted = self.stage.record(self._twin(name)).get("s")
        if record.get("s") != wanted or "todo" in record:
            return [f"its record is {record}, and its sources have {wanted}"]
        if not is_settled(self.stage.get(web)):
            return ["it does not settle"]
        last = max((self.changes[source][-1:] or [0])[0] for source in self.uses[name])
        pods = self.stage.pods(web)
        return [
            f"pod {pod['metadata']['name']} was made before the last change"
            for pod in pods
            if witness.births.get(pod["metadata"]["uid"], 0) < last
        ] + [stale for pod in pods for stale in self._stale(pod)]

    def _stale(self, pod: build.Object) -> list[str]:
        """Copies that a pod with revisions uses, and that hold something else than their source."""
        found = []
        for each in pod["spec"]["containers"][0]["envFrom"]:
            kind = "ConfigMap" if "configMapRef" in each else "Secret"
            name = next(iter(each.values()))["name"]
            source = f"{kind.lower()}/{name}"
            if source in self.changes:
                continue
            plain = name.rpartition("-")[0]
            both = [path_to(kind, one, self.stage.namespace) for one in (name, plain)]
            copy, current = (self.stage.api.get(path)["data"] for path in both)
            if copy != current:
                found.append(f"pod {pod['metadata']['name']} uses {name}, which is not current")
        return found


@contextmanager
def _frozen(one: Controller) -> Iterator[None]:
    assert one.process is not None
    one.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        one.process.send_signal(signal.SIGCONT)


def told(storm: Storm) -> str:
    counts = ", ".join(f"{count} {what}" for what, count in sorted(storm.done.items()))
    weights = [weight for _, weight in storm.weights]
    tenths = [weights[n * (len(weights) - 1) // 10] for n in range(11)]
    grows = 60 * slope(storm.weights)
    return (
        f"seed {storm.seed}: {counts}\n"
        f"memory in MB, over time: {' '.join(f'{weight:.1f}' for weight in tenths)};"
        f" {grows:+.2f} MB a minute in the second half"
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="(default: 10)")
    parser.add_argument("--seed", type=int, default=None, help="to play a storm again")
    args = parser.parse_args()
    seed = args.seed if args.seed is not None else random.randrange(10**6)
    namespace = "soak"
    # The proxy breaks connections on purpose.
    logging.getLogger("asyncio").setLevel(logging.ERROR)
    with ground("soak") as cluster, cluster.api() as api, FaultProxy(cluster) as proxy:
        _ready(api, namespace)
        kubeconfig = proxy.kubeconfig(cluster.kubeconfig(USER))
        logs, seconds = cluster.layout.logs, 60 * args.minutes
        storm = Storm(Stage(api, namespace), proxy, kubeconfig, logs, seconds, seed)
        say(f"seed {seed}: a storm of {args.minutes:g} minutes; logs in {logs}")
        problems = storm.run()
    print(told(storm))
    for problem in problems:
        print(f"does not hold: {problem}")
    return 1 if problems else 0


def _ready(api: Api, namespace: str) -> None:
    api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    with suppress(ApiError):
        api.wait_for(path_to("ServiceAccount", "default", namespace), bool)


if __name__ == "__main__":
    sys.exit(main())
