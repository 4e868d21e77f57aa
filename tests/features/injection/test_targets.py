"""How many watches the Injections of a namespace have."""

import asyncio
from typing import Any

import pytest

from reroll.core.model.key import Key
from reroll.core.tables.reasons import Reason
from reroll.features.injection import targets
from reroll.features.injection.decide import Target
from reroll.features.injection.targets import TargetWatches
from reroll.kube import wire


class Forever:
    async def run(self) -> None:
        await asyncio.Event().wait()


class Factory:
    """Counts the watches that are asked for."""

    def __init__(self) -> None:
        self.opened = 0

    def open(self, *_: Any) -> Any:
        self.opened += 1
        return Forever()


def resource(number: int) -> wire.Resource:
    return wire.Resource("example.com", "v1", f"kinds{number}", f"Kind{number}")


def follow(watches: TargetWatches, home: str, number: int, name: str = "x") -> Key:
    key = Key("Injection", home, f"{number}-{name}")
    target = Target("example.com", f"Kind{number}", home, name)
    watches.follow(key, resource(number), target, None)
    return key


async def test_the_watches_of_a_namespace_are_limited_and_so_are_all_of_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(targets, "MOST", 30)
    factory, running = Factory(), list[Any]()
    watches = TargetWatches(factory, running, lambda _: None)  # type: ignore[arg-type]  # It opens.
    task = asyncio.create_task(watches.run())
    await asyncio.sleep(0)

    keys = [follow(watches, "shop", number) for number in range(25)]
    again = [follow(watches, "shop", number, "y") for number in range(25)]
    assert factory.opened == targets.MOST_OF_A_NAMESPACE == 20
    problems = [watches.problem(key) for key in keys]
    assert [found is None for found in problems] == [True] * 20 + [False] * 5
    assert problems[-1] is not None
    assert problems[-1].reason is Reason.TOO_MANY_TARGETS
    assert watches.problem(again[19]) is None

    others = [follow(watches, "other", number) for number in range(15)]
    assert factory.opened == 30
    assert sum(watches.problem(key) is not None for key in others) == 5

    # One that is left makes room.
    for key in (keys[0], again[0]):
        watches.leave(key)
    assert watches.problem(follow(watches, "shop", 24)) is None
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
