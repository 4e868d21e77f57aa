"""What a failed command means for the person who waits for it.

go, uv and pip tell their reasons in words alone, so this is the one place that reads words: a table
of what they say, what it means, and what to do. The last lines of what was said always go along,
without credentials.
"""

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from reroll_dev.commands import Finished
from reroll_dev.errors import DevClusterError

_SHOWN_LINES = 6
_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+@")

FAILURES: tuple[tuple[re.Pattern[str], str, str], ...] = (
    # what is said (go, uv, pip), what it means, what to do; the first that fits is told
    (
        re.compile(
            r"no space left on device|disk quota exceeded|os error 28|errno 28", re.IGNORECASE
        ),
        "the disk is full",
        "free a few gigabytes (`go env GOCACHE` names Go's share of them)",
    ),
    (
        re.compile(r"checksum mismatch|hash mismatch|do not match the hashes", re.IGNORECASE),
        "a download is not what was released",
        "check the mirror in GOPROXY or the Python package index, `go clean -modcache`, try again",
    ),
    (
        re.compile(
            r"dial tcp|no such host|connection (refused|reset)|i/o timeout|TLS handshake|x509:|"
            r"proxyconnect|GOPROXY=off|: unexpected EOF$|: (40[347]|410|429|50[234]) [a-z]|"
            r"error sending request|failed to fetch|network (was|is) (disabled|unreachable)|"
            r"new connection error|max retries|dns error|timed out|"
            r"no matching distribution|no solution found",
            re.IGNORECASE | re.MULTILINE,
        ),
        "no way to the network, or the place that was asked does not have it",
        "check the connection, HTTPS_PROXY, and the mirrors (GOPROXY, the Python package index)",
    ),
    (
        re.compile(r"signal: killed|cannot allocate memory|out of memory", re.IGNORECASE),
        "the memory did not suffice for the compiler",
        "end other programs or add swap: about 4 GB are needed",
    ),
    (
        re.compile(r"no such tool|cannot find GOROOT|exec format error|not in std", re.IGNORECASE),
        "the Go installation is incomplete",
        "repair it, or take it from PATH so that reroll fetches one of its own",
    ),
    (
        re.compile(
            r"permission denied|read-only file system|operation not permitted", re.IGNORECASE
        ),
        "a folder may not be written",
        "make it writable, or name another place in XDG_CACHE_HOME (Go's own: GOCACHE, GOMODCACHE)",
    ),
)
_UNKNOWN = ("for a reason of its own", "see what it said below")
_DISK_FULL = {errno.ENOSPC, errno.EDQUOT}


def failure(what: str, folder: Path, finished: Finished, *, otherwise: str) -> DevClusterError:
    """Say that `what` failed, why as far as known, what to do, `otherwise`, and the last words."""
    # `go build -v` names each package on a line of its own: no complaint.
    lines = [line for line in finished.complaints if " " in line.strip()]
    cause, remedy = _meaning("\n".join(lines))
    said = "\n".join(f"    {_CREDENTIALS.sub('', line)}" for line in lines[-_SHOWN_LINES:])
    said = said or f"    nothing (exit code {finished.code})"
    return DevClusterError(
        f"{what} failed in {folder}: {cause}; {remedy}, or {otherwise}\n  it said:\n{said}"
    )


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Turn what the file system refuses below `folder` into a sentence."""
    try:
        yield
    except OSError as error:
        remedy = "make it writable, or name another place in XDG_CACHE_HOME"
        if error.errno in _DISK_FULL:
            remedy = "free a few gigabytes, or name a roomier place in XDG_CACHE_HOME"
        raise DevClusterError(
            f"cannot write {error.filename or folder}: {error.strerror}; {remedy}"
        ) from error


def _meaning(words: str) -> tuple[str, str]:
    return next(
        ((cause, remedy) for said, cause, remedy in FAILURES if said.search(words)), _UNKNOWN
    )
