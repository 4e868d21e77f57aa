"""`reroll demo --propagation`: a bad value reaches a few, stops, and goes back."""

import time
from collections.abc import Callable

from reroll.cli.errors import CommandError
from reroll_dev.api import path_to
from reroll_dev.cli import shop
from reroll_dev.cli.example import grant
from reroll_dev.cli.printing import command, say, title
from reroll_dev.cli.shop_view import Eye, Look, shown
from reroll_dev.cli.stage import Stage

PATIENCE = 300.0
PAUSE = 0.2
TOLD = ("Failing", "RolledBack", "Stopped")
"""The reasons of Events that a failure is told by."""


def play(stage: Stage) -> None:
    title("Eight workloads of a shop share one ConfigMap; their Namespace says how it propagates")
    for manifest in (shop.namespace(), shop.settings("30s")):
        stage.api.create(manifest, namespace=shop.NAMESPACE if "data" in manifest else None)
    grant(stage.api)
    for name in shop.NAMES:
        stage.api.create(shop.workload(name), namespace=shop.NAMESPACE)
    for key, text in shop.ANNOTATIONS.items():
        say(f"    {key}: {text}")
    say(f"  {shop.FRAGILE} does not start with {shop.KEY}={shop.BAD}. The others do not mind.")
    eye = Eye(stage)
    with shop.application(stage.api):
        stage.start_controller()
        say("The controller runs: it gives each workload a copy of its configuration.")
        stage.wait("all are pinned", lambda: shop.is_pinned(stage.api), PATIENCE)

        title(f"1. {shop.KEY} becomes 20s: it goes to one, then two, then four")
        _change(stage, "20s")
        _follow(stage, eye, lambda look: _have(look, "20s"))

        title(f"2. {shop.KEY} becomes {shop.BAD}: it stops at the first failure, and goes back")
        _change(stage, shop.BAD)
        _follow(stage, eye, lambda look: _is_stopped(look) and _have(look, "20s"))
        _events(stage)
        look = eye.look()
        back = [name for name, row in sorted(look.items()) if row.stage == "rolled back"]
        say(f"  {len(back)} of {len(look)} ever had it, and are back: {', '.join(back)}")
        say(
            f"  The ConfigMap holds {shop.timeouts(stage.api)[shop.SOURCE]} still: nothing uses it."
        )

        title(f"3. {shop.KEY} becomes 25s: a new value is a new start")
        _change(stage, "25s")
        _follow(stage, eye, lambda look: _have(look, "25s"))


def _change(stage: Stage, value: str) -> None:
    command(f"kubectl patch configmap {shop.SOURCE}", f'{{"data":{{"{shop.KEY}":"{value}"}}}}')
    path = path_to("ConfigMap", shop.SOURCE, shop.NAMESPACE)
    stage.api.patch(path, {"data": {shop.KEY: value}})


def _follow(stage: Stage, eye: Eye, ends: Callable[[Look], bool]) -> None:
    """Show where the change is until it is where it ends."""
    deadline = time.monotonic() + PATIENCE
    with shown() as draw:
        while True:
            stage.check()
            look = eye.look()
            draw(look)
            if ends(look):
                return
            if time.monotonic() > deadline:
                raise CommandError(f"the change does not get further; see {stage.log}")
            time.sleep(PAUSE)


def _have(look: Look, value: str) -> bool:
    """Whether all run with it, and none is being replaced."""
    rows = look.values()
    return len(look) == len(shop.NAMES) and all(
        row.value == value and not row.moves and row.stage not in {"under way", "next"}
        for row in rows
    )


def _is_stopped(look: Look) -> bool:
    return any(row.reason == "Stopped" for row in look.values())


def _events(stage: Stage) -> None:
    """The first Event for each reason that tells of the failure."""
    events = stage.api.list(path_to("Event", namespace=shop.NAMESPACE))
    events.sort(key=lambda one: int(one["metadata"]["resourceVersion"]))
    for reason in TOLD:
        if event := next((one for one in events if one["reason"] == reason), None):
            say(f"  Event  {event['involvedObject']['name']}: {reason}: {event['message']}")
