"""Two installations that manage the same workload, each with a world and a key of its own.

What they decide is written into one document, and each sees every write. Time stands still unless
a test moves it.
"""

import base64
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from tests.core import build

from reroll.core.decide.actions import ReadHistory
from reroll.core.decide.chains import decide
from reroll.core.decide.plan import Plan
from reroll.core.model.key import Key
from reroll.core.model.record import Record, read
from reroll.core.observe.snapshot import History, Keys
from reroll.core.policy.policy import Policy
from reroll.core.tables.annotations import STATE
from reroll.core.tables.catalog import source_kind
from reroll.core.tables.reasons import Reason
from reroll.core.write.patches import patch
from reroll.engine.content import Source
from reroll.engine.scope import Scope
from reroll.engine.wants import DigestKeys, SourceContent, Want
from reroll.engine.world import World

WEB, DB = Key("Deployment", "shop", "web"), Key("Secret", "shop", "db")
TLS = Key("Secret", "shop", "tls")
SECRET = source_kind("secret")
MINUTE = timedelta(minutes=1)


class Clock:
    def __init__(self) -> None:
        self.at = build.NOW

    def now(self) -> datetime:
        return self.at

    def monotonic(self) -> float:
        return self.at.timestamp()

    def jitter(self, seconds: float) -> float:
        return seconds


class Cluster:
    """One Deployment that uses one Secret, and the versions of their store."""

    def __init__(self) -> None:
        self.clock, self.version = Clock(), 100
        self.installations: list[Installation] = []
        self.writes: list[Plan] = []
        self.secrets: dict[Key, Any] = {}
        template = build.template(envFrom=build.env_from(secret="db"))
        self.web = build.document(build.DEPLOYMENT, template)
        self.change("first")

    def change(self, password: str, key: Key = DB) -> None:
        self.version += 1
        encoded = base64.b64encode(password.encode()).decode()
        at = self.clock.at.isoformat()
        self.secrets[key] = {
            "metadata": {
                "namespace": key.namespace,
                "name": key.name,
                "resourceVersion": str(self.version),
                "managedFields": [{"time": at}],
            },
            "data": {"password": encoded},
        }
        for one in self.installations:
            one.sees(key)

    def write(self, plan: Plan, seen: Any) -> None:
        [action] = plan.actions
        self.web = build.patched(self.web, patch(seen, build.DEPLOYMENT, action.edits))
        self.version += 1
        self.web["metadata"]["resourceVersion"] = str(self.version)
        self.web["metadata"]["generation"] += plan.strategy is not None
        self.writes.append(plan)
        for one in self.installations:
            one.sees_web()

    @property
    def record(self) -> Record:
        found = read(self.web["metadata"]["annotations"].get(STATE))
        assert isinstance(found, Record)
        return found

    def run(self, span: timedelta = timedelta()) -> list[Reason]:
        """All look, in turn, every ten seconds; what was written."""
        before, end = len(self.writes), self.clock.at + span
        while True:
            for _ in range(3):
                for one in self.installations:
                    one.look()
            if self.clock.at >= end:
                return [plan.reason for plan in self.writes[before:]]
            self.clock.at += timedelta(seconds=10)


class Installation:
    def __init__(self, cluster: Cluster, name: str, **policy: Any) -> None:
        self._cluster, self.name = cluster, name
        self.problems: list[str] = []
        self.keys_read = 0
        self.world = World(
            cluster.clock,
            Scope(Policy(debounce=timedelta(), **policy)),
            Key("Secret", name, "reroll-digest-key"),
            wake=lambda *_: None,
            want=self._want,
        )
        self.rekey(name)
        self.sees_web(watched=False)
        cluster.installations.append(self)

    def rekey(self, *key_ids: str) -> None:
        self.ring = {each: each.encode() for each in key_ids}
        self._load_keys()

    def _load_keys(self) -> None:
        self.world.rekey(self.ring, Keys(max(self.ring), frozenset(self.ring)))

    def _want(self, want: Want) -> None:
        if isinstance(want, DigestKeys):
            self.keys_read += 1
            self._load_keys()
        elif isinstance(want, SourceContent):
            self.sees(want.key, watched=False)

    def sees(self, key: Key, *, watched: bool = True) -> None:
        document = msgspec.json.encode(self._cluster.secrets[key])
        source = msgspec.json.decode(document, type=Source)
        assert SECRET
        self.world.sources.observe(SECRET, source, watched=watched)

    def sees_web(self, *, watched: bool = True) -> None:
        self.world.workload_seen(
            build.DEPLOYMENT, build.decoded(self._cluster.web), watched=watched
        )

    def look(self) -> None:
        snapshot = self.world.snapshot(WEB, build.DEPLOYMENT)
        assert snapshot is not None
        plan = decide(snapshot, self._cluster.clock.at)
        if plan.has(ReadHistory):
            snapshot = msgspec.structs.replace(snapshot, history=History())
            plan = decide(snapshot, self._cluster.clock.at)
        told = [each.sentence for each in plan.problems if each.reason is OTHER]
        self.problems += [each for each in told if each not in self.problems]
        if plan.actions:
            self._cluster.write(plan, snapshot.workload)


OTHER = Reason.OTHER_INSTALLATION


@pytest.fixture
def cluster() -> Cluster:
    """With one installation, `a`, that has adopted the workload."""
    one = Cluster()
    Installation(one, "a")
    assert one.run(MINUTE) == [Reason.ADOPTED]
    return one


def test_while_nothing_changes_each_has_its_say_once(cluster: Cluster) -> None:
    Installation(cluster, "b")

    written = cluster.run(timedelta(hours=3))

    assert written == [Reason.KEY_LOST, Reason.KEY_LOST]
    times = [plan.record.at for plan in cluster.writes if plan.record]
    assert all(later - earlier >= MINUTE for earlier, later in pairwise(times))


def test_both_tell_once_that_there_is_another(cluster: Cluster) -> None:
    a, b = cluster.installations[0], Installation(cluster, "b")

    cluster.run(timedelta(hours=1))

    assert [len(one.problems) for one in (a, b)] == [1, 1]
    assert "digest key b, manages Deployment shop/web too" in a.problems[0]
    assert "--controller-namespace" in b.problems[0]


@pytest.mark.parametrize("wait", [0, 5, 30, 61, 200, 4000])
def test_a_secret_that_changes_rolls_once_whoever_wrote_the_record(
    cluster: Cluster, wait: int
) -> None:
    Installation(cluster, "b")
    cluster.run(timedelta(seconds=wait))
    for number in range(4):
        cluster.installations.reverse()
        cluster.change(f"new {number}")

        written = cluster.run(timedelta(seconds=wait))

        assert written.count(Reason.CONFIG_CHANGED) == 1, written


def test_the_key_of_a_single_installation_is_lost_and_nothing_else(cluster: Cluster) -> None:
    a = cluster.installations[0]
    a.rekey("new")

    assert cluster.run(timedelta(hours=1)) == [Reason.KEY_LOST]
    assert cluster.record.k == "new"
    assert a.problems == []
    for key_id in ("newer", "newest", "the newest"):  # However often.
        a.rekey(key_id)
        assert cluster.run(timedelta(hours=1)) == [Reason.KEY_LOST]


def test_a_secret_that_changed_while_the_key_was_lost_rolls(cluster: Cluster) -> None:
    cluster.installations.clear()
    cluster.change("while nobody watched")
    again = Installation(cluster, "new")

    assert cluster.run(MINUTE) == [Reason.CONFIG_CHANGED]
    assert again.problems == []


def test_a_replica_that_reads_a_rotated_key_late_takes_nobody_for_another(
    cluster: Cluster,
) -> None:
    leader = cluster.installations[0]
    follower = Installation(cluster, "a")
    follower.ring["b"] = b"b"  # In the Secret already; this replica has not read it yet.
    leader.rekey("a", "b")

    cluster.run(timedelta(hours=1))

    assert cluster.record.k == "b"
    assert follower.keys_read == 1
    assert leader.problems == follower.problems == []


def test_two_that_see_different_sources_agree_on_one_record_and_lose_nothing() -> None:
    """Each reads other annotations, say, and would leave out what the other looks for."""
    cluster = Cluster()
    cluster.change("first", TLS)
    container = cluster.web["spec"]["template"]["spec"]["containers"][0]
    container["volumeMounts"] = [{"name": "tls", "mountPath": "/tls"}]
    volumes = [{"name": "tls", "secret": {"secretName": "tls"}}]
    cluster.web["spec"]["template"]["spec"]["volumes"] = volumes
    Installation(cluster, "narrow", mounts_are_live=True)
    cluster.run(MINUTE)
    assert set(cluster.record.s) == {"secret/db"}
    Installation(cluster, "wide")
    cluster.run(timedelta(hours=1))
    assert set(cluster.record.s) == {"secret/db", "secret/tls"}

    assert cluster.run(timedelta(hours=3)) == [], "neither rewrites what the other wrote"
    for number in range(3):
        for key in (DB, TLS):
            cluster.installations.reverse()
            cluster.change(f"new {number}", key)
            written = cluster.run(timedelta(minutes=5))
            assert written.count(Reason.CONFIG_CHANGED) == 1, (key, written)
            assert len(written) <= 3
            assert set(cluster.record.s) == {"secret/db", "secret/tls"}
