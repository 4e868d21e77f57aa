"""A model of one Deployment in a cluster, with the engine at work on it.

Every write has a version of its own. Pods start with what their sources hold at that moment, and
only if all that they need is there; a template that came into effect replaces them at once. What
the engine knows comes from a watch that can be stopped or cut, as a controller's can.
"""

import copy
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import msgspec
from tests.core import build
from tests.core.build import DEPLOYMENT, EAGER, NOW, Document

from reroll.core.decide.actions import Patch, ReadHistory
from reroll.core.decide.chains import decide
from reroll.core.decide.plan import Plan
from reroll.core.dialects.table import ALL
from reroll.core.model.content import Content
from reroll.core.model.key import Key
from reroll.core.model.moment import Moment
from reroll.core.model.record import Record, read
from reroll.core.model.reference import Reference
from reroll.core.observe.snapshot import Absence, History, Snapshot
from reroll.core.observe.workload import Workload, recalled, workload
from reroll.core.policy.policy import Policy
from reroll.core.policy.references import references
from reroll.core.tables.annotations import STATE
from reroll.core.tables.reasons import Reason
from reroll.core.write.patches import patch

Values = dict[str, str]


@dataclass
class Source:
    values: Values
    version: int
    at: datetime
    created: datetime


@dataclass
class ReplicaSet:
    template: Document
    created: datetime
    annotations: dict[str, str] = field(default_factory=dict)
    revision: int = 0


class Cluster:
    def __init__(self, pods: Document, *, policy: Policy = EAGER) -> None:
        self.version, self.now, self.policy = 100, NOW, policy
        self.sources: dict[Key, Source] = {}
        self.document = build.document(DEPLOYMENT, pods)
        self.sets: list[ReplicaSet] = []
        self.pods: dict[Key, Values | None] | None = None
        self.pods_template: Document | None = None
        self.pods_waited = False
        self.watching = True
        self.seen: Workload | None = None
        self.contents: dict[Key, Content] = {}
        self.known: dict[Key, int] = {}
        self.gone: dict[Key, int] = {}
        self.rolls: list[Plan] = []
        self.first_record: str | None = None
        self.backup: tuple[Record, int] | None = None
        """What the controller wrote down of its record, and at which version it was there."""
        self.backs_up = True
        self.write()

    # What people do

    def tick(self, seconds: float = 1.0) -> None:
        self.now += timedelta(seconds=seconds)

    def put(self, source: Key, **values: str) -> None:
        """Create or change a source: keys that are not named stay."""
        self.version += 1
        old = self.sources.get(source)
        merged = {**(old.values if old else {}), **values}
        created = old.created if old else self._second
        self.sources[source] = Source(merged, self.version, self._second, created)
        self.start_pods()
        self._watch_source(source)

    def delete(self, source: Key) -> None:
        if self.sources.pop(source, None):
            self.version += 1
            self._watch_source(source)

    def edit(self, **container: Any) -> None:
        """Somebody changes the pod template."""
        after = copy.deepcopy(self.document)
        after["spec"]["template"]["spec"]["containers"][0].update(container)
        self.write(after)

    def pause(self, paused: bool) -> None:
        after = copy.deepcopy(self.document)
        after["spec"]["paused"] = paused
        self.write(after)

    def remove_record(self) -> None:
        after = copy.deepcopy(self.document)
        after["metadata"]["annotations"].pop(STATE, None)
        self.write(after)

    def set_back(self) -> bool:
        """A manifest is applied that has an old record in it, and the same template."""
        after = copy.deepcopy(self.document)
        if self.first_record is None:
            return False
        after["metadata"]["annotations"][STATE] = self.first_record
        self.write(after)
        return True

    def undo(self) -> bool:
        """What `kubectl rollout undo` does; whether there was anything to go back to."""
        earlier = sorted(self.sets, key=lambda one: one.revision)[-2:-1]
        if not earlier or self.paused:
            return False
        after = copy.deepcopy(self.document)
        after["spec"]["template"] = copy.deepcopy(earlier[0].template)
        after["metadata"]["annotations"] = dict(earlier[0].annotations)
        self.write(after)
        return True

    # Kubernetes

    @property
    def paused(self) -> bool:
        return bool(self.document["spec"].get("paused"))

    @property
    def _second(self) -> datetime:
        return self.now.replace(microsecond=0)

    def write(self, after: Document | None = None) -> None:
        after = after or copy.deepcopy(self.document)
        self.version += 1
        if after != self.document:
            after["metadata"]["generation"] += 1
        after["metadata"]["resourceVersion"] = str(self.version)
        self.document = after
        self.first_record = self.first_record or after["metadata"]["annotations"].get(STATE)
        self._roll_out()
        self._watch_workload()

    def _roll_out(self) -> None:
        if self.paused:
            return
        pods = self.document["spec"]["template"]
        current = next((one for one in self.sets if one.template == pods), None)
        if current is None:
            current = ReplicaSet(copy.deepcopy(pods), self._second)
            self.sets.append(current)
        newest = max(one.revision for one in self.sets)
        if current.revision < newest or not newest:
            current.revision = newest + 1
        # As with Kubernetes, an annotation that goes stays on the revision.
        current.annotations |= self.document["metadata"]["annotations"]
        self.start_pods()

    def start_pods(self) -> None:
        pods = self.document["spec"]["template"]
        needed = self._references(pods)
        if self.paused or pods == self.pods_template:
            return
        if any(self._stops(ref) for ref in needed):
            self.pods_waited = True
            return
        self.pods_template = copy.deepcopy(pods)
        self.pods = {ref.source: self.values(ref.source) for ref in needed}
        self._watch_workload()

    def _status(self) -> Document:
        """As many pods of the template it has now as it has pods at all, when all are replaced."""
        generation = self.document["metadata"]["generation"]
        updated = self.pods_template == self.document["spec"]["template"]
        return {"observedGeneration": generation, "replicas": 1, "updatedReplicas": int(updated)}

    def values(self, source: Key) -> Values | None:
        there = self.sources.get(source)
        return dict(there.values) if there else None

    def _stops(self, ref: Reference) -> bool:
        values = self.values(ref.source)
        return ref.missing_from(None if values is None else build.content(values))

    def _references(self, pods: Document) -> tuple[Reference, ...]:
        seen = build.workload(DEPLOYMENT, build.document(DEPLOYMENT, pods))
        return references(build.HOME, seen.uses, mounts_are_live=False)

    # The watch

    def stop(self) -> None:
        """The controller ends, and with it all that it knows."""
        self.watching = False
        self.seen, self.contents, self.known, self.gone = None, {}, {}, {}

    def cut(self) -> None:
        self.watching = False

    def flush(self) -> None:
        """The controller writes its backup."""
        seen = self.seen if self.backs_up and self.watching else None
        if seen and seen.last is None and isinstance(seen.record, Record):
            self.backup = seen.record, seen.version

    def reconnect(self) -> None:
        self.watching = True
        self._watch_workload(watched=False)
        if self.backup is not None and self.seen is not None:
            self.seen = recalled(self.seen, *self.backup)
        for source in {*self.sources, *self.contents}:
            self._watch_source(source, watched=False)

    def _watch_workload(self, *, watched: bool = True) -> None:
        if self.watching:
            decoded = build.decoded(self.document | {"status": self._status()})
            self.seen = workload(DEPLOYMENT, decoded, self.seen, words=ALL.words, watched=watched)

    def _watch_source(self, source: Key, *, watched: bool = True) -> None:
        there = self.sources.get(source)
        if not self.watching:
            return
        if there is None:
            self.contents.pop(source, None)
            self.gone[source] = self.version if watched else self.known.get(source, 0)
            return
        after = there.version - 1 if watched else self.known.get(source, 0)
        moment = Moment(after, there.version, there.at)
        self.known[source] = there.version
        old = self.contents.get(source)
        created = old is None and there.at == there.created
        new = build.content(there.values, moment, created=created)
        if old is None or old.digests != new.digests:
            self.contents[source] = new

    # The engine

    @property
    def is_new(self) -> bool:
        return self.seen is None or self.snapshot().record is None

    def decide(self) -> Plan:
        decided = decide(seen := self.snapshot(), self.now)
        if decided.has(ReadHistory):
            decided = decide(msgspec.structs.replace(seen, history=self._history()), self.now)
        return decided

    def snapshot(self) -> Snapshot:
        assert self.seen is not None
        refs = references(build.HOME, self.seen.uses, mounts_are_live=self.policy.mounts_are_live)
        contents = {ref.source: self.contents.get(ref.source, Absence.MISSING) for ref in refs}
        return Snapshot(
            self.seen, DEPLOYMENT, self.policy, refs, contents, self.gone,
            records_known=self.backup is not None,
        )  # fmt: skip

    def _history(self) -> History:
        current = max(self.sets, key=lambda one: one.revision)
        records = [read(one.annotations.get(STATE)) for one in self.sets]
        copies = [record for record in records if isinstance(record, Record)]
        latest = max(copies, key=lambda one: one.n, default=None)
        there = read(current.annotations.get(STATE))
        is_there = isinstance(there, Record) and latest is not None and there.n >= latest.n
        return History(current.created, latest, left=latest is not None and not is_there)

    def step(self) -> Plan:
        """Look once and do what should be done."""
        decided = self.decide()
        self._carry_out(decided)
        if decided.strategy is not None:
            self.rolls.append(decided)
        return decided

    def _carry_out(self, plan: Plan) -> None:
        """Without revisions and with its default strategy, a Deployment is only ever patched."""
        for action in plan.actions:
            assert self.seen is not None
            assert isinstance(action, Patch)
            operations = patch(self.seen, DEPLOYMENT, action.edits)
            self.write(build.patched(self.document, operations))

    def settle(self) -> list[Plan]:
        """Look until there is nothing to do; what was done, in order."""
        done = []
        while (decided := self.step()).record is not None:
            done.append(decided)
            assert len(done) < 5, f"it never settles: {[str(one.reason) for one in done]}"
        return done

    def stale(self) -> set[Key]:
        """Sources whose content the pods do not have, although it is there, and will not get."""
        found = set()
        current = max(self.sets, key=lambda one: one.revision).template
        if not self.pods_template == current == self.document["spec"]["template"]:
            return found  # New ones wait for a source or the end of a pause: they get it then.
        for ref in self._references(self.pods_template or {}):
            started, now = (self.pods or {}).get(ref.source), self.values(ref.source)
            if now is not None and _used(ref, started) != _used(ref, now):
                found.add(ref.source)
        return found


def _used(ref: Reference, values: Values | None) -> Values | None:
    if values is None or ref.keys is None:
        return values
    return {key: value for key, value in values.items() if key in ref.keys}


APP, MAYBE = build.configmap("app"), build.configmap("maybe")
USES = build.env_from(configmap="app") + build.env_from(configmap="maybe", optional=True)
ROLLED = [Reason.CONFIG_CHANGED]
NOTHING: list[Reason] = []


def adopted(*there: Key) -> Cluster:
    """A workload that is up and running, with these sources."""
    cluster = Cluster(build.template(envFrom=copy.deepcopy(USES)))
    cluster.stop()
    for source in there or (APP, MAYBE):
        cluster.put(source, a="1")
    cluster.tick()
    cluster.reconnect()
    assert reasons(cluster) == [Reason.ADOPTED]
    cluster.tick()
    return cluster


def reasons(cluster: Cluster) -> list[Reason]:
    """What was done until there was nothing more to do."""
    cluster.tick()
    return [one.reason for one in cluster.settle()]
