"""The registry: which Injections wake, and what the engine is asked to tell of."""

from collections.abc import Iterable
from typing import Any

import msgspec

from reroll.core.model.injection import Condition, Manifest, Status
from reroll.core.model.key import Key
from reroll.features.injection.decide import MOST_CLAIMS, target_of
from reroll.features.injection.registry import Registry

A, B, C = (Key("Injection", "shop", name) for name in "abc")


class Engine:
    """Records which sources are used."""

    def __init__(self) -> None:
        self.used: list[tuple[set[Key], set[Key]]] = []

    def counts(self, _: str) -> bool:
        return True

    def use(self, _: Key, old: Iterable[Key], new: Iterable[Key]) -> None:
        self.used.append((set(old), set(new)))


def made(**engine: Any) -> tuple[Registry, list[Key]]:
    woken: list[Key] = []
    return Registry(engine.get("engine", Engine()), woken.append), woken


def manifest(
    key: Key, target: str = "g", *, version: int = 1, generation: int = 1, **place: str
) -> Manifest:
    to = {"apiVersion": "example.com/v1", "kind": "Gadget", "name": target, "path": ".spec.token"}
    metadata = {
        "name": key.name,
        "namespace": key.namespace,
        "uid": key.name,
        "resourceVersion": str(version),
        "generation": generation,
    }
    spec = {"from": [{"name": "s", "key": "k"}], "to": {**to, **place}}
    return msgspec.convert({"metadata": metadata, "spec": spec}, Manifest)


def test_an_injection_wakes_itself_and_those_that_it_may_be_in_the_way_of() -> None:
    registry, woken = made()
    registry.add(manifest(B))
    registry.add(manifest(C, "other"))
    woken.clear()

    registry.add(manifest(A))
    assert set(woken) == {A, B}
    woken.clear()
    registry.add(manifest(B, version=2, generation=2))
    assert woken == [B], "the older of two is not in the way of the newer"


def test_one_that_is_blocked_wakes_when_that_which_blocks_it_goes_and_for_no_other() -> None:
    registry, woken = made()
    for key, target in ((A, "g"), (B, "g"), (C, "other")):
        registry.add(manifest(key, target))
    registry.block(B, [A])
    woken.clear()

    registry.remove(C)
    assert woken == [C]
    registry.remove(A)
    assert set(woken[1:]) == {A, B}
    woken.clear()
    registry.block(B, ())
    registry.add(manifest(A))
    registry.remove(A)
    assert woken.count(B) == 1, "it wakes because an older one came, not because it went"


def many(registry: Registry, count: int, **place: str) -> list[Key]:
    keys = [Key("Injection", "shop", f"i{number:05}") for number in range(count)]
    for key in keys:
        registry.add(manifest(key, **place))
    return keys


def test_thousands_for_one_object_wake_no_more_than_are_carried_out() -> None:
    registry, woken = made()
    keys = many(registry, 2000)
    for key in keys[1:MOST_CLAIMS]:
        registry.block(key, keys[:1])
    woken.clear()

    registry.add(manifest(keys[0], version=2, generation=2))
    assert len(woken) <= MOST_CLAIMS + 1
    woken.clear()
    registry.remove(keys[0])
    assert set(woken) == {*keys[: MOST_CLAIMS + 1]}, "and one more has its turn"
    last = registry.get(keys[-1])
    assert last is not None
    target = target_of(last)
    assert len(registry.claimants(last, target, "shop")) == MOST_CLAIMS


def test_injections_of_other_namespaces_are_told_apart_by_their_namespaces() -> None:
    registry, _ = made()
    for name in ("x", "y"):
        registry.add(manifest(Key("Injection", "attacker", name), namespace="shop"))
    registry.add(manifest(A))
    own = registry.get(A)
    assert own is not None

    target = target_of(own)
    assert set(registry.claims.homes(target)) == {"attacker", "shop"}
    assert registry.claimants(own, target, "shop") == []


def test_one_whose_source_refuses_it_claims_nothing() -> None:
    registry, woken = made()
    registry.add(manifest(A))
    registry.add(manifest(B))
    one, other = registry.get(A), registry.get(B)
    assert one is not None
    assert other is not None
    registry.block(B, [A])
    woken.clear()

    registry.refuse(A, refused=True)
    assert woken == [B]
    assert registry.claimants(other, target_of(other), "shop") == []
    registry.block(B, ())
    registry.refuse(A, refused=False)
    assert registry.claimants(other, target_of(other), "shop") == [one]
    assert woken == [B, B]


def test_what_the_status_says_of_consent_counts_until_it_is_known() -> None:
    registry, _ = made()
    condition = Condition("Forbidden", "True", "NotAllowed")
    refused = manifest(A)
    refused.status = Status(observed_generation=1, conditions=(condition,))
    registry.add(refused)
    registry.add(manifest(B))
    other = registry.get(B)
    assert other is not None

    assert registry.claimants(other, target_of(other), "shop") == []


def test_an_older_version_is_ignored_and_a_repeated_one_wakes_nothing() -> None:
    registry, woken = made()
    registry.add(manifest(A, "new", version=5, generation=2))
    woken.clear()

    registry.add(manifest(A, "old", version=4))
    registry.add(manifest(A, "new", version=6, generation=2))
    assert woken == []
    injection = registry.get(A)
    assert injection is not None
    assert injection.spec.to.name == "new"


def test_another_injection_of_the_same_name_is_not_removed_with_the_first() -> None:
    registry, _ = made()
    registry.add(manifest(A))

    registry.remove(A, uid="of-an-earlier-one")
    assert registry.get(A) is not None


def test_the_engine_is_asked_once_for_the_sources_of_an_injection() -> None:
    engine = Engine()
    registry, _ = made(engine=engine)
    source = Key("Secret", "shop", "s")
    for sources in (frozenset({source}), frozenset({source}), frozenset[Key]()):
        registry.link_sources(A, sources)
    assert engine.used == [(set(), {source}), ({source}, set())]
