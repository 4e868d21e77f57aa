"""Releases of a small chart by real helm, and how many rollouts they caused."""

import time
from pathlib import Path
from typing import Any

from tests.scenarios.stage import Stage, eventually
from tests.support import build
from tests.support.tools import Tool

CHART = Path(__file__).parent / "chart"
WEB = build.deployment("shop")
QUIET = ("--leader-election", "false", "--debounce", "1500ms")
"""Time enough for helm to come from the ConfigMap to the Deployment on a busy machine."""


class Release:
    """A release of the chart, and how many rollouts it had."""

    def __init__(self, stage: Stage, helm: Tool) -> None:
        self._stage, self._helm = stage, helm
        self._run("install", CHART)

    def upgrade(self, values: dict[str, str], *flags: str) -> None:
        sets = [
            part for key, value in values.items() for part in ("--set-string", f"{key}={value}")
        ]
        self._run("upgrade", CHART, *sets, *flags)

    def rollback(self, revision: int) -> None:
        self._run("rollback", str(revision))

    def _run(self, command: str, *args: Any) -> None:
        self._helm(command, "shop", *args, "--namespace", self._stage.namespace)

    @property
    def rollouts(self) -> int:
        """The number of the newest: it grows when an old ReplicaSet is taken again, too."""
        numbers = [
            int(one["metadata"]["annotations"]["deployment.kubernetes.io/revision"])
            for one in self._stage.revisions(WEB)
        ]
        return max(numbers, default=0)

    def settled(self, least: int = 0) -> int:
        """Wait until there were so many, and everybody is done; and count."""
        eventually(lambda: self.rollouts >= least, f"rollout {least}")
        eventually(self._is_at_rest)
        self._stage.settled(WEB)
        return self.rollouts

    def _is_at_rest(self) -> bool:
        """Whether the template stays as it is for longer than the quiet time before a roll."""
        before = self._stage.template(WEB)
        time.sleep(2.5)
        return self._stage.template(WEB) == before
