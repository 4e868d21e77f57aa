"""The registry: which Injections wake, and what the engine is asked to tell of."""

from collections.abc import Iterable
from typing import Any

import msgspec

from reroll.core.model.injection import Condition, Manifest, Status
from reroll.core.model.key import Key
from reroll.features.injection.registry import Registry

A, B, C = (Key("Injection", "shop", name) for name in "abc")


class Engine:
    """Records which sources are used."""

    def __init__(self) -> None:
        self.used: list[tuple[set[Key], set[Key]]] = []

    def use(self, _: Key, old: Iterable[Key], new: Iterable[Key]) -> None:
        self.used.append((set(old), set(new)))


def made(**engine: Any) -> tuple[Registry, list[Key]]:
    woken: list[Key] = []
    return Registry(engine.get("engine", Engine()), woken.append), woken


def manifest(key: Key, target: str = "g", *, version: int = 1, generation: int = 1) -> Manifest:
    to = {"apiVersion": "example.com/v1", "kind": "Gadget", "name": target, "path": ".spec.token"}
    metadata = {
        "name": key.name,
        "namespace": key.namespace,
        "uid": key.name,
        "resourceVersion": str(version),
        "generation": generation,
    }
    spec = {"from": [{"name": "s", "key": "k"}], "to": to}
    return msgspec.convert({"metadata": metadata, "spec": spec}, Manifest)


def blocked_by_another() -> Status:
    return Status(conditions=(Condition("Conflict", "True", "Claimed"),))


def test_a_new_injection_wakes_itself_and_those_with_the_same_target() -> None:
    registry, woken = made()
    registry.add(manifest(A))
    registry.add(manifest(B, "other"))
    woken.clear()

    registry.add(manifest(C))
    assert set(woken) == {A, C}


def test_one_that_another_blocks_wakes_when_any_other_goes() -> None:
    registry, woken = made()
    registry.add(manifest(A))
    registry.add(manifest(B, "other"))
    registry.set_status(A, blocked_by_another())
    woken.clear()

    registry.remove(B)
    assert set(woken) == {A, B}


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
