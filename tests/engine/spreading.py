"""A cluster without one: workloads that are decided on in turn, written and rolled out."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from tests.core.build import DEPLOYMENT, decoded, document, env_from, template

from reroll.core.decide.chains import decide
from reroll.core.decide.plan import Plan
from reroll.core.model.gates import Gate
from reroll.core.model.key import Key
from reroll.core.model.pace import Limits
from reroll.core.model.record import Record, write
from reroll.core.policy.policy import Policy
from reroll.core.tables.annotations import STATE
from reroll.core.tables.catalog import source_kind
from reroll.core.tables.reasons import Reason
from reroll.engine.content import Source
from reroll.engine.scope import Scope
from reroll.engine.world import World

ROW = source_kind("configmap")
ROLLOUT = {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "availableReplicas": 1}


class Clock:
    def __init__(self) -> None:
        self.time = datetime(2026, 3, 1, 12, tzinfo=UTC)

    def now(self) -> datetime:
        return self.time

    def monotonic(self) -> float:
        return self.time.timestamp()

    def jitter(self, seconds: float) -> float:
        return seconds


class Cluster:
    """Everything that is woken is decided on, until nothing is."""

    def __init__(self, limits: Limits | None = None, gates: tuple[Gate, ...] = ()) -> None:
        self.clock, self.version = Clock(), 100
        self.woken: dict[Key, None] = {}
        self.looks: Counter[Key] = Counter()
        self.reasons: dict[Key, Reason] = {}
        self.messages: dict[Key, str] = {}
        self.rolled: list[Key] = []
        self.documents: dict[Key, dict[str, Any]] = {}
        self.world = World(
            self.clock,
            Scope(Policy(debounce=timedelta()), limits=limits or Limits(), gates=gates),
            Key("Secret", "reroll", "keys"),
            wake=lambda key, _: self.woken.setdefault(key),
            want=lambda _: None,
        )
        self.world.records_known = True

    # What there is

    def configmap(
        self, value: str, name: str = "app", *, version: int = 0, **annotations: str
    ) -> None:
        """It holds this now; `version`: it has done so since then."""
        assert ROW
        self.version += 1
        keys = {f"reroll.dev/{key.replace('_', '-')}": text for key, text in annotations.items()}
        metadata = {
            "namespace": "shop", "name": name, "uid": name,
            "resourceVersion": str(version or self.version), "annotations": keys,
        }  # fmt: skip
        text = msgspec.json.encode({"metadata": metadata, "data": {"key": value}}, order="sorted")
        seen = msgspec.json.decode(text, type=Source)
        self.world.sources.source_seen(ROW, seen, watched=not version)

    def deployment(self, name: str, *uses: str, **annotations: str) -> Key:
        said = {f"reroll.dev/{key.replace('_', '-')}": text for key, text in annotations.items()}
        sources = [one for use in uses or ("app",) for one in env_from(configmap=use)]
        key = Key("Deployment", "shop", name)
        made = document(
            DEPLOYMENT, template(envFrom=sources), name=name, uid=name,
            annotations={"reroll.dev/enabled": "true", **said},
        )  # fmt: skip
        made["spec"]["replicas"], made["status"] = 1, dict(ROLLOUT)
        self.documents[key] = made
        self.seen(key)
        return key

    def seen(self, key: Key, *, watched: bool = True) -> None:
        """What the API server tells of it now."""
        self.version += 1
        self.documents[key]["metadata"]["resourceVersion"] = str(self.version)
        self.world.workload_seen(DEPLOYMENT, decoded(self.documents[key]), watched=watched)

    def annotate(self, key: Key, **annotations: str) -> None:
        said = {f"reroll.dev/{word.replace('_', '-')}": text for word, text in annotations.items()}
        self.documents[key]["metadata"]["annotations"] |= said
        self.seen(key)

    def gone(self, key: Key) -> None:
        del self.documents[key]
        self.world.workload_gone(key)

    # What happens

    def run(self) -> None:
        """Look at all that are woken, and at those that are woken by that."""
        while self.woken:
            key = next(iter(self.woken))
            del self.woken[key]
            if key in self.documents:
                self.look(key)

    def look(self, key: Key) -> None:
        self.looks[key] += 1
        self.world.propagation.release(key)
        snapshot = self.world.snapshot(key, DEPLOYMENT)
        if snapshot is None:
            return
        plan = decide(snapshot, self.clock.now())
        self.reasons[key], self.messages[key] = plan.reason, plan.message
        begins = plan.strategy is not None
        self.world.propagation.take_note(key, plan.reason, begins=begins)
        self.world.propagation.gates.take_note(snapshot, plan)
        if plan.record is not None:
            self._write(key, plan)

    def _write(self, key: Key, plan: Plan) -> None:
        rolls = plan.strategy is not None
        if rolls:
            self.world.propagation.reserve(key)
            self.rolled.append(key)
        one = self.documents[key]
        assert plan.record
        one["metadata"]["annotations"] = {
            **one["metadata"]["annotations"],
            STATE: write(plan.record),
        }
        if rolls:
            one["metadata"]["generation"] += 1
            one["spec"]["template"]["metadata"]["annotations"] = {"stamp": plan.stamp}
        self.seen(key)
        self.world.settled(key, self.world.workloads[key].quiet_since)
        self.world.propagation.release(key)

    def complete(self, key: Key) -> None:
        """Its controller has replaced its pods, and they are ready."""
        one = self.documents[key]
        one["status"] = ROLLOUT | {"observedGeneration": one["metadata"]["generation"]}
        self.seen(key)

    def count(self, key: Key, **numbers: int) -> None:
        """Its status counts so many pods; `replicas` are wanted."""
        one = self.documents[key]
        if "replicas" in numbers:
            one["spec"]["replicas"] = numbers["replicas"]
            one["metadata"]["generation"] += 1
        generation = one["metadata"]["generation"]
        one["status"] = one["status"] | numbers | {"observedGeneration": generation}
        self.seen(key)

    def later(self, seconds: float, key: Key) -> str:
        """So much time passes; the verdict on a workload then."""
        self.clock.time += timedelta(seconds=seconds)
        self.woken.setdefault(key)
        self.run()
        record = self.world.workloads[key].workload.record
        assert isinstance(record, Record)
        return record.trial.v if record.trial else ""

    def give_up(self, key: Key) -> None:
        """Its controller says that its rollout makes no progress."""
        one = self.documents[key]
        condition = {"type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded"}
        one["status"] |= {
            "observedGeneration": one["metadata"]["generation"],
            "availableReplicas": 0,
            "conditions": [condition],
        }
        self.seen(key)
