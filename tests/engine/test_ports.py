"""The port of the engine: a feature is told of its sources, and of no others."""

import msgspec

from reroll.clock import SystemClock
from reroll.core.model.key import Key
from reroll.core.observe.snapshot import Keys
from reroll.core.policy.policy import Policy
from reroll.core.tables.catalog import source_kind
from reroll.engine.content import Source
from reroll.engine.ports import EnginePort
from reroll.engine.scope import Scope
from reroll.engine.world import World

APP, USER = Key("ConfigMap", "shop", "app"), Key("Injection", "shop", "one")


def world(scope: Scope) -> World:
    keys = Key("Secret", "reroll", "keys")
    return World(SystemClock(), scope, keys, wake=lambda *_: None, want=lambda _: None)


def change(cluster: World, version: int) -> None:
    metadata = {"namespace": "shop", "name": "app", "resourceVersion": str(version)}
    body = {"metadata": metadata, "data": {"version": str(version)}}
    row = source_kind("configmap")
    assert row
    cluster.sources.observe(
        row, msgspec.json.decode(msgspec.json.encode(body), type=Source), watched=True
    )


def test_a_subscriber_is_woken_for_the_sources_that_it_uses_and_no_longer() -> None:
    cluster, woken = world(Scope(Policy())), list[Key]()
    port = EnginePort(cluster)
    port.subscribe("Injection", woken.append)
    change(cluster, 1)
    assert woken == []

    port.use(USER, (), [APP])
    change(cluster, 2)
    change(cluster, 3)
    assert woken == [USER, USER]
    assert port.users(APP) == [USER]

    port.use(USER, [APP], ())
    change(cluster, 4)
    assert len(woken) == 2
    assert port.users(APP) == []


def test_it_says_what_is_watched_what_counts_and_what_rolls() -> None:
    cluster = world(Scope(Policy(), namespaces=("shop",)))
    port = EnginePort(cluster)
    assert (port.counts("shop"), port.counts("other")) == (True, False)
    assert (port.watches("Secret"), port.watches("Pod")) == (True, False)
    assert (port.rolls("apps", "Deployment"), port.rolls("", "Secret")) == (True, False)
    assert not port.is_refused(APP)
    cluster.sources.refused("ConfigMap", None)
    assert port.is_refused(APP)


def test_a_digest_depends_on_the_current_key_and_names_it() -> None:
    cluster = world(Scope(Policy()))
    port = EnginePort(cluster)
    digests = set()
    for key in ("a", "b"):
        cluster.rekey({"a": b"1", "b": b"2"}, Keys(key, frozenset("ab")))
        digest = port.digest(b"value")
        assert digest.startswith(f"{key}:")
        digests.add(digest.partition(":")[2])
    assert len(digests) == 2
