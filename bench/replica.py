"""`reroll run` as several replicas of one installation, with what each says and what each costs."""

import re
import signal
import time
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import msgspec

from bench.contenders import Process

PATIENCE = 300.0


class Replica(Process):
    """One process that can be killed, and whose log is read."""

    def kill(self) -> None:
        """Without a warning, as when its node is gone."""
        assert self._process is not None
        self._process.kill()
        self._process.wait(30)
        self._process = None

    def ask_to_stop(self) -> None:
        """As Kubernetes does, but without waiting for it."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)

    def freeze(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    @property
    def memory_peak(self) -> float:
        """The most that was resident at once, in MB."""
        return self._status("VmHWM") / 1024

    def counted(self, metric: str) -> float:
        """The sum of a counter over all its labels, as the replica tells it."""
        if not self.is_running:
            return 0.0
        with urlopen(f"http://{self.listen}/metrics", timeout=10) as answer:  # our own process
            lines = answer.read().decode().splitlines()
        rows = (line for line in lines if re.match(rf"{metric}[ {{]", line))
        return sum(float(row.rpartition(" ")[2]) for row in rows)

    def lines(self, offset: int = 0) -> list[dict[str, Any]]:
        """What it logged from that byte on."""
        if not self._log.exists():
            return []
        with self._log.open("rb") as log:
            log.seek(offset)
            whole, _, _ = log.read().rpartition(b"\n")
        return [msgspec.json.decode(line) for line in whole.splitlines() if line[:1] == b"{"]

    @property
    def mark(self) -> int:
        """Where its log ends now."""
        return self._log.stat().st_size if self._log.exists() else 0

    def until(self, message: str, offset: int = 0) -> None:
        """Wait until it says so; fails when it ended, or when the time is up."""
        end = time.monotonic() + PATIENCE
        while not any(line["msg"] == message for line in self.lines(offset)):
            if not self.is_running or time.monotonic() > end:
                raise RuntimeError(f"no {message!r} in {self._log}: {_tail(self._log)}")
            time.sleep(0.01)


def _tail(log: Path) -> str:
    return log.read_text()[-1000:] if log.exists() else "it is empty"
