"""Runs a command of ours in this process, which is ten times faster than starting one."""

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

from reroll.cli import app


class Finished(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def reroll(*args: str | Path, input: str | bytes = b"") -> Finished:  # noqa: A002
    """`reroll ARGS`: its exit code and what it wrote, as in a pipe."""
    given = input.encode() if isinstance(input, str) else input
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="") for _ in range(2))
    stdin = io.TextIOWrapper(io.BytesIO(given), encoding="utf-8")
    with redirect_stdout(out), redirect_stderr(err), patch.object(sys, "stdin", stdin):
        try:
            code = app.run([str(arg) for arg in args])
        except SystemExit as end:  # argparse ends the process itself
            code = int(end.code or 0)
    return Finished(code, _text(out), _text(err))


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    written = stream.buffer
    assert isinstance(written, io.BytesIO)
    return written.getvalue().decode()
