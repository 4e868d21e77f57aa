"""One control plane for a whole test run, however many processes run it.

Its folder is named after the run's main process. Whoever needs it first starts it, under the
folder's lock; the main process ends it. A run that was killed leaves its cluster behind, and the
next run that starts one finds and ends it, because the main process in the folder's name is gone.
"""

import io
import os
import re
import shutil
import tempfile
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from tests.support import minors

from reroll_dev import binaries, processes
from reroll_dev.cluster import DevCluster
from reroll_dev.locks import held
from reroll_dev.progress import PlainProgress
from reroll_dev.start import Options

RUN_NAME = re.compile(r"run-(\d+)-(\d+)-\w+")


def base_folder() -> Path:
    return Path(tempfile.gettempdir()) / f"reroll-tests-{os.getuid()}"


def new_run(base: Path) -> Path:
    """The folder of a run whose main process is this one; it is not made yet."""
    pid = os.getpid()
    return base / f"run-{pid}-{processes.start_time(pid)}-{uuid.uuid4().hex[:8]}"


def node_folder(folder: Path, purpose: str = "node") -> Path:
    """Of a cluster of the run with a real node; the name is one that `sweep` knows."""
    return folder.with_name(f"{folder.name}{purpose}")


def programs(names: Sequence[str], env: Mapping[str, str]) -> dict[str, Path]:
    """Where they are; a test builds nothing, for that takes minutes and a network."""
    minor = minors.ground(env).minor
    older = not minor.is_newest
    found = binaries.find(names, env=env, binaries=binaries.of(minor if older else None))
    if missing := [name for name, path in found.items() if path is None]:
        command = f"reroll dev build --kubernetes {minor.name}" if older else "make control-plane"
        pytest.fail(
            f"the control plane is not built: {', '.join(missing)} missing; run"
            f" `{command}` (minutes, once), or set KUBEBUILDER_ASSETS to where they are",
            pytrace=False,
        )
    return {name: path for name, path in found.items() if path}


def quiet() -> PlainProgress:
    return PlainProgress(io.StringIO())


def shared_cluster(
    folder: Path, programs: Mapping[str, Path], options: Options | None = None
) -> DevCluster:
    """The cluster of this run, started if nobody did so before."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with held(folder.parent / "sweeping", purpose="ending leftovers", progress=quiet()):
        sweep(folder.parent)
    cluster = DevCluster(folder, progress=quiet())
    cluster.up(programs, options)
    return cluster


def sweep(base: Path) -> None:
    """End the clusters of runs whose main process is gone."""
    for folder in base.iterdir():
        name = RUN_NAME.fullmatch(folder.name)
        if name and processes.start_time(int(name[1])) != int(name[2]):
            DevCluster(folder, progress=quiet()).down()
            shutil.rmtree(folder, ignore_errors=True)


def finish(folder: Path, *, keep_logs: bool) -> None:
    """End the run's clusters, if any were started; logs of a failed run stay until the next run."""
    for each in folder.parent.glob(f"{folder.name}*"):
        if each.is_dir():
            DevCluster(each, progress=quiet()).down()
            if not keep_logs:
                shutil.rmtree(each, ignore_errors=True)
