"""A control plane of its own for one measurement, and who may do what on it."""

import compileall
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from reroll.core.tables import rights
from reroll.core.tables.kinds import KINDS
from reroll.settings.table import Settings
from reroll_dev import binaries
from reroll_dev.cluster import DevCluster
from reroll_dev.layout import default_folder
from reroll_dev.progress import progress_on

ROOT = Path(__file__).parent.parent
USER = "reroll"
"""The controller's own identity: it has the rights that it asks for."""
Rules = Sequence[Mapping[str, Any]]


@contextmanager
def ground(
    name: str, *, keep: bool = False, others: Mapping[str, Rules] | None = None
) -> Iterator[DevCluster]:
    """A new and empty cluster; `others` are further users with their rights."""
    # Whoever ends us by a signal ends the cluster too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("asked to stop"))
    # Bytecode that is not there is compiled at every start, and the compiler's memory stays.
    compileall.compile_dir(ROOT / "src", quiet=1)
    progress = progress_on(sys.stderr, env=os.environ)
    programs = binaries.ensure(binaries.CORE, env=os.environ, progress=progress)
    cluster = DevCluster(default_folder(name, os.environ), progress=progress)
    cluster.down()
    with progress.step("starting the control plane"):
        cluster.up(programs)
    try:
        _grant(cluster, {USER: controller_rules(), **(others or {})})
        yield cluster
    finally:
        if not keep:
            cluster.down()


def controller_rules() -> Rules:
    defaults, features = Settings(), rights.EVERYTHING
    own = rights.own(defaults.digest_key, defaults.lease, features=features)
    return [*rights.cluster(KINDS, features=features), *own]


def _grant(cluster: DevCluster, allowed: Mapping[str, Rules]) -> None:
    with cluster.api() as api:
        for name, rules in allowed.items():
            for manifest in rights.grant(name, rules, rights.user(name), everywhere=True):
                api.create(manifest)


class ApiServer:
    """The API server, to be killed and started anew with the same arguments."""

    def __init__(self, cluster: DevCluster) -> None:
        rows = cluster.status().rows
        self._pid = next(r.process.pid for r in rows if r.process.name == "kube-apiserver")
        self._log, home = (
            cluster.layout.logs / "kube-apiserver-again.log",
            Path(f"/proc/{self._pid}"),
        )
        self._command = _parts(home / "cmdline")
        self._env = dict(one.split("=", 1) for one in _parts(home / "environ"))
        self._folder = (home / "cwd").readlink()

    def kill(self) -> None:
        os.kill(self._pid, signal.SIGKILL)

    @contextmanager
    def again(self) -> Iterator[None]:
        """Ours is ended at the end."""
        with self._log.open("ab") as log:
            process = subprocess.Popen(
                self._command, cwd=self._folder, env=self._env, stdout=log, stderr=log
            )
        try:
            yield
        finally:
            process.kill()  # It would wait for its watches.
            process.wait(60)


def _parts(file: Path) -> list[str]:
    return [part.decode() for part in file.read_bytes().split(b"\0")[:-1]]


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
