"""The logs of a cluster, for reading: their ends, and what is added to them.

A line carries the name of its log when more than one is shown.
"""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from reroll_dev.layout import Layout
from reroll_dev.processes import last_lines

AUDIT = "audit"
"""The API server's record of who asked what, one JSON document a line."""


def log_file(layout: Layout, name: str) -> Path:
    return layout.audit if name == AUDIT else layout.logs / f"{name}.log"


def show(layout: Layout, names: Sequence[str], *, count: int) -> Iterator[str]:
    """The last `count` lines of each; a log that is not there is left out."""
    for name in names:
        for line in last_lines(log_file(layout, name), count, width=1 << 20):
            yield _labelled(line, name, names)


def follow(layout: Layout, names: Sequence[str]) -> Iterator[str]:
    """What is written from now on, until interrupted."""
    ends = {name: _size(log_file(layout, name)) for name in names}
    while True:
        for name, end in ends.items():
            lines, ends[name] = _added(log_file(layout, name), end)
            for line in lines:
                yield _labelled(line, name, names)
        time.sleep(0.2)


def _added(path: Path, end: int) -> tuple[list[str], int]:
    """Whole lines after `end`, and the next `end`; a file that shrank is read from its start."""
    size = _size(path)
    if size == end:
        return [], end
    with path.open("rb") as file:
        file.seek(0 if size < end else end)
        content = file.read()
        whole = content[: content.rfind(b"\n") + 1]
        return whole.decode(errors="replace").splitlines(), file.tell() - len(content) + len(whole)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _labelled(line: str, name: str, names: Sequence[str]) -> str:
    return line if len(names) == 1 else f"{name}: {line}"
