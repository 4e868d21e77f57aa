"""Run a program to its end, watch what it says, and leave nothing of it behind.

The program and everything it starts form a process group of their own, which is ended when we are
interrupted.
"""

import os
import select
import signal
import subprocess
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from reroll_dev.errors import DevClusterError

_GRACE_SECONDS = 5
_KEPT_LINES = 200
_ENDING_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True, slots=True)
class Finished:
    code: int
    output: str
    complaints: tuple[str, ...]
    """The last lines of its stderr."""


def ignore(_line: str) -> None:
    """For those who do not care what is said on the way."""


def run(
    command: Sequence[str | Path],
    *,
    folder: Path,
    env: Mapping[str, str],
    on_line: Callable[[str], None] = ignore,
) -> Finished:
    """Run `command`, handing each line of its stderr to `on_line` as it comes."""
    complaints: deque[str] = deque(maxlen=_KEPT_LINES)
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
        process = None
        try:
            with _undisturbed():
                process = _start(command, folder, env, output.fileno())
            for line in process.stderr or ():
                complaints.append(line.rstrip())
                on_line(line.rstrip())
            code = process.wait()
        finally:
            if process is not None:
                _end(process)
        output.seek(0)
        return Finished(code, output.read(), tuple(complaints))


@contextmanager
def interruptible() -> Iterator[None]:
    """Let a request to end this process unwind it as Ctrl-C does, so that nothing is left behind.

    Handlers that someone else installed stay.
    """
    mine = [number for number in _ENDING_SIGNALS if signal.getsignal(number) is signal.SIG_DFL]
    if threading.current_thread() is not threading.main_thread():
        mine = []
    for number in mine:
        signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number in mine:
            signal.signal(number, signal.SIG_DFL)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Hold signals back while a program starts: it runs before we know whom to end.

    The signals are not blocked, because the program would inherit that.
    """
    held_back: list[int] = []
    handlers: dict[signal.Signals, Callable[[int, FrameType | None], Any]] = {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, *_ENDING_SIGNALS):
            handler = signal.getsignal(number)
            if callable(handler):
                handlers[number] = handler
                signal.signal(number, lambda number, _frame: held_back.append(number))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for late in held_back:
            signal.raise_signal(late)


def _interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def _start(
    command: Sequence[str | Path], folder: Path, env: Mapping[str, str], output: int
) -> subprocess.Popen[str]:
    try:
        return subprocess.Popen(
            command,
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        raise DevClusterError(
            f"cannot start {command[0]} in {folder}: {error.strerror}; "
            "check that it is there and may be executed"
        ) from error


def _end(process: subprocess.Popen[str]) -> None:
    """End the whole group: politely, then for good, also if a second Ctrl-C comes in between."""
    with process:
        if process.returncode is not None:
            return
        try:
            os.killpg(process.pid, signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                process.wait(_GRACE_SECONDS)
        finally:
            # The leader may have gone before the others.
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            _wait_for_silence(process)


def _wait_for_silence(process: subprocess.Popen[str]) -> None:
    """Wait until no process is left that could write here or make files."""
    if process.stderr:
        pipe = process.stderr.fileno()
        while select.select([pipe], [], [], _GRACE_SECONDS)[0] and os.read(pipe, 65536):
            pass
