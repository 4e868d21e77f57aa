"""A control plane of its own for one measurement, and who may do what on it."""

import compileall
import os
import signal
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


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
