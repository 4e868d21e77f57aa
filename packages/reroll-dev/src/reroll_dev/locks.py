"""One run at a time: a lock file that the kernel lets go of when its holder dies.

The file stays after use: removing it would let two processes lock two different files of one name.
What stands in it is only for people; the lock itself is the kernel's, so a stale one cannot exist.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from reroll_dev.progress import Progress


@contextmanager
def held(path: Path, *, purpose: str, progress: Progress) -> Iterator[None]:
    """Hold the lock at `path`, waiting for its holder; `purpose` is for those who wait."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        _acquire(descriptor, progress)
        os.pwrite(descriptor, f"process {os.getpid()}, which is {purpose}".encode(), 0)
        try:
            yield
        finally:
            os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


def _acquire(descriptor: int, progress: Progress) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(descriptor, 1024, 0).decode(errors="replace") or "another run"
        with progress.step(f"waiting for {holder}"):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
    # A holder that was killed could not take its words back.
    os.ftruncate(descriptor, 0)
