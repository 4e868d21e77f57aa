"""Watch events into objects that come and go: what a list does not confirm is gone."""

import pytest

from reroll.core.model.metadata import Metadata
from reroll.features.injection.watching import Handler, Name, _Events
from reroll.kube import watch
from reroll.kube.errors import Malformed
from reroll.kube.objects import Stub


class Cache:
    """The names of what is there."""

    def __init__(self, *names: str) -> None:
        self.there: set[Name] = {("shop", name) for name in names}
        self.handle = _Events(Handler(lambda: self.there, self.applied, self.there.remove))

    def applied(self, stub: Stub) -> None:
        self.there.add((stub.metadata.namespace, stub.metadata.name))


def stub(name: str) -> Stub:
    return Stub(Metadata(name=name, namespace="shop"))


def names(cache: Cache) -> set[str]:
    return {name for _, name in cache.there}


def test_a_list_removes_what_it_does_not_bring() -> None:
    cache = Cache("old", "kept")
    for event in (watch.Init(), watch.InitApply(stub("kept")), watch.InitApply(stub("new"))):
        cache.handle(event)
    assert names(cache) == {"old", "kept", "new"}
    cache.handle(watch.InitDone("1"))
    assert names(cache) == {"kept", "new"}


def test_a_list_that_begins_again_forgets_what_the_first_one_brought() -> None:
    cache = Cache("a")
    for event in (watch.Init(), watch.InitApply(stub("a")), watch.Init(), watch.InitDone("2")):
        cache.handle(event)
    assert names(cache) == set()


def test_changes_come_and_go_and_an_api_that_is_not_served_has_no_objects() -> None:
    cache = Cache("a")
    cache.handle(watch.Apply(stub("b")))
    cache.handle(watch.Delete(stub("a")))
    assert names(cache) == {"b"}
    cache.handle(watch.Absent())
    assert names(cache) == set()


def test_an_object_that_cannot_be_read_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    cache = Cache("a")
    cache.handle(Malformed("no spec", kind="Injection", namespace="shop", name="odd"))
    assert names(cache) == {"a"}
    assert "odd object" in caplog.text
