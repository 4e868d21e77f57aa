"""Runs a program in a pseudo-terminal, as a person does: what the person sees, and how it ended."""

import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Mapping, Sequence
from contextlib import suppress
from fcntl import ioctl
from pathlib import Path
from typing import NamedTuple

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Seen(NamedTuple):
    code: int
    raw: str

    @property
    def text(self) -> str:
        """Without colours and other escapes."""
        return _ESCAPES.sub("", self.raw).replace("\r\n", "\n")

    @property
    def widest(self) -> int:
        return max((len(line) for line in self.text.splitlines()), default=0)


REROLL = ("-m", "reroll")


def in_terminal(
    *args: str | Path,
    columns: int = 100,
    env: Mapping[str, str] | None = None,
    program: Sequence[str] = REROLL,
    until: str = "",
) -> Seen:
    """`reroll ARGS` in a terminal so wide; `program`: how Python starts it.

    `until`: when that is on the screen, it is ended as with Ctrl-C.
    """
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    given = {**os.environ, "TERM": "xterm-256color", **(env or {})}
    given.pop("COLUMNS", None)
    command = [sys.executable, *program, *map(str, args)]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=given) as one:
        os.close(theirs)
        raw = b""
        # The other side of a pseudo-terminal that nobody holds any more is an error, not an end.
        with suppress(OSError):
            while chunk := os.read(ours, 65536):
                raw += chunk
                if until and until.encode() in raw:
                    one.send_signal(signal.SIGINT)
                    until = ""
        code = one.wait(60)
    os.close(ours)
    return Seen(code, raw.decode())
