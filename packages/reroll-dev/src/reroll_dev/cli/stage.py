"""What a demo plays on: a cluster, a controller that can be stopped, and time to wait."""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self

from reroll.cli.errors import CommandError
from reroll_dev.api import Api
from reroll_dev.cli.example import PORT
from reroll_dev.cli.visitor import Visitor
from reroll_dev.cluster import DevCluster


class Stage:
    """The cluster and the controller; `real`: with a page that a visitor can ask for."""

    def __init__(self, cluster: DevCluster, *, real: bool = False) -> None:
        self.cluster = cluster
        self.api: Api = cluster.api()
        self.visitor = Visitor(f"{cluster.node.address}:{PORT}") if real else None
        self._starts = 0
        self._controller: subprocess.Popen[bytes] | None = None
        self._keep = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if not self._keep:
            self.stop_controller()

    @property
    def log(self) -> Path:
        return self.cluster.layout.logs / f"reroll-{self._starts}.log"

    def keep(self) -> int:
        """Leave the controller running; its process id."""
        self._keep = True
        return self._controller.pid if self._controller else 0

    def start_controller(self) -> None:
        kubeconfig = str(self.cluster.kubeconfig("reroll"))
        command = (
            *(sys.executable, "-m", "reroll", "run", "--kubeconfig", kubeconfig),
            *("--namespace", "reroll", "--listen", "127.0.0.1:0", "--log-format", "text"),
        )
        self._starts += 1
        with self.log.open("wb") as log:
            self._controller = subprocess.Popen(
                command,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        self.wait("the controller leads", lambda: b"leading" in self.log.read_bytes())

    def stop_controller(self) -> None:
        if self._controller is not None:
            self._controller.terminate()
            self._controller.wait(20)
            self._controller = None

    def wait(self, what: str, holds: Callable[[], bool], seconds: float = 120.0) -> None:
        deadline = time.monotonic() + seconds
        while not holds():
            self.check()
            if time.monotonic() > deadline:
                raise CommandError(f"timed out waiting until {what}; see {self.log}")
            time.sleep(0.05)

    def check(self) -> None:
        """A controller that ended is an error."""
        if self._controller is not None and self._controller.poll() is not None:
            raise CommandError(f"the controller ended; see {self.log}")
