"""A program: builds a controller with a config file, and prints what it consists of as JSON.

Its features do not run: `python -m tests.features.notices.wired '{"notices": []}'`.
"""

import asyncio
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from reroll.cli.commands import run
from reroll.clock import SystemClock
from reroll.controller.bus import Bus
from reroll.controller.context import Context
from reroll.controller.metrics import Metrics
from reroll.kube.outage import Outage
from reroll.settings.resolve import resolve

OURS = (
    "reroll.features.notices",
    "reroll.core.dialects.notice_rows",
    "reroll.core.policy.receivers",
)


class Supervisor:
    def __init__(self, context: Context, _: Any) -> None:
        self.watches: list[Any] = []
        self._context = context

    async def run(self, features: list[Any], _: asyncio.Event) -> None:
        names = [name for name in sys.modules if name.startswith((*OURS, "smtplib"))]
        found = {
            "modules": names,
            "features": [type(one).__name__ for one in features],
            "sinks": len(self._context.bus._sinks),
            "tasks": len(asyncio.all_tasks()),
            "sockets": sockets(),
            "counted": self._context.metrics.registry.render().count(b"reroll_notices_total{"),
        }
        sys.stdout.write(json.dumps(found))


def sockets() -> int:
    """That the process has; Linux tells."""
    files = (each for each in Path("/proc/self/fd").iterdir() if each.is_socket())
    return sum(1 for _ in files)


async def main(config: dict[str, Any]) -> None:
    run.Supervisor = Supervisor  # type: ignore[assignment,misc]
    clock, metrics = SystemClock(), Metrics()
    client: Any = SimpleNamespace(outage=Outage())
    settings = resolve({}, {}, config, "")
    context = Context(client, clock, settings, metrics, Bus(clock, metrics), "reroll", "me")
    await run._supervise(context, asyncio.Event(), {})


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1])))
