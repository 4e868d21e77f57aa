"""Start programs that outlive us, know them again, and end exactly them.

A process is its pid together with its start time, so a pid that the kernel gave away again is
never taken for ours. Each program leads a session of its own (a Ctrl-C in our terminal does not
reach it) and carries its cluster's folder in its environment, so that it is found even when the
state file is lost. Linux only: /proc.
"""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from reroll_dev.errors import DevClusterError

MARK = "REROLL_DEV_FOLDER"
PROC = Path("/proc")

# Children of this very process, kept so that they can be reaped and their exit codes read.
_children: dict[int, subprocess.Popen[bytes]] = {}


@dataclass(frozen=True, slots=True)
class Process:
    """A program that was started."""

    name: str
    pid: int
    started: int
    """Clock ticks between the machine's boot and its start: field 22 of /proc/<pid>/stat."""
    port: int | None
    log: str


def spawn(
    name: str,
    command: Sequence[str],
    *,
    folder: Path,
    port: int | None = None,
    env: Mapping[str, str] | None = None,
) -> Process:
    """Start `command` in the background; its output goes to `<folder>/logs/<name>.log`."""
    log = folder / "logs" / f"{name}.log"
    with log.open("ab") as output:
        child = subprocess.Popen(
            command,
            cwd=folder,
            env={**environment(folder), **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    _children[child.pid] = child
    started = start_time(child.pid)
    end = time.monotonic() + 1
    # The kernel shows the environment a moment after a program has begun.
    while started and not _is_of(child.pid, folder) and time.monotonic() < end:
        time.sleep(0.001)
        started = start_time(child.pid)
    return Process(name, child.pid, started or 0, port, str(log))


def _is_of(pid: int, folder: Path) -> bool:
    """Whether it was started for this folder."""
    try:
        variables = (PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return False  # ended by now, or another user's
    return f"{MARK}={folder}".encode() in variables


def environment(folder: Path) -> Mapping[str, str]:
    """Nothing of the user's environment: no proxy, no kubeconfig, no cloud credentials."""
    return {MARK: str(folder), "HOME": str(folder), "PATH": os.defpath, "LANG": "C.UTF-8"}


def start_time(pid: int) -> int | None:
    """When it started, or None if there is no such process (a zombie counts as none)."""
    try:
        stat = (PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return None
    # The second field is the program's name in parentheses and may hold anything: skip it.
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else int(fields[19])


def is_alive(process: Process) -> bool:
    if child := _children.get(process.pid):
        child.poll()
    return start_time(process.pid) == process.started


def exit_code(process: Process) -> int | None:
    """With what it ended; None if it runs, or if it was not a child of ours."""
    child = _children.get(process.pid)
    if child is None:
        return None
    try:
        # The kernel hands out the code only when the last thread is gone, a moment after the first.
        return child.wait(timeout=0 if is_alive(process) else 1)
    except subprocess.TimeoutExpired:
        return None


def end(processes: Iterable[Process], *, grace: float) -> None:
    """Ask them to stop, all at once; kill what is left after `grace` seconds."""
    left = [process for process in processes if _signal(process, signal.SIGTERM)]
    deadline = time.monotonic() + grace
    while (left := [p for p in left if is_alive(p)]) and time.monotonic() < deadline:
        time.sleep(0.02)
    for process in left:
        _signal(process, signal.SIGKILL)
    while any(is_alive(process) for process in left):
        time.sleep(0.01)


def let_go() -> None:
    """Mind our children no longer: they are meant to outlive us, and Python need not warn of it."""
    for child in _children.values():
        child.returncode = child.poll() or 0
    _children.clear()


def _signal(process: Process, number: signal.Signals) -> bool:
    if not is_alive(process):
        return False
    try:
        os.kill(process.pid, number)
    except ProcessLookupError:
        return False
    return True


def strays(folder: Path) -> list[Process]:
    """Every living process that was started for `folder`, whatever the state file says."""
    found = []
    for entry in PROC.iterdir():
        if not entry.name.isdigit() or not _is_of(int(entry.name), folder):
            continue
        try:
            name = (entry / "comm").read_text().strip()
        except OSError:
            continue  # ended by now
        started = start_time(int(entry.name))
        if started is not None:
            found.append(Process(name, int(entry.name), started, None, ""))
    return found


def boot_id() -> str:
    try:
        return (PROC / "sys/kernel/random/boot_id").read_text().strip()
    except OSError as error:
        raise DevClusterError(
            f"a development cluster needs Linux and its /proc ({error}); use a Linux machine,"
            " a virtual one, or a container"
        ) from error


def free_port() -> int:
    """A port of 127.0.0.1 that is free now; it may be taken before its user listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def last_lines(log: Path, count: int = 5, width: int = 300) -> list[str]:
    """The end of a log, for an error message."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - 16384))
            lines = file.read().decode(errors="replace").splitlines()
    except OSError:
        return []
    return [line[:width] for line in lines if line.strip()][-count:]
