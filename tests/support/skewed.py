"""`python -m tests.support.skewed 30 run …`: `reroll`, on a machine whose clock is 30 s ahead."""

import sys
from datetime import datetime, timedelta

from reroll.clock import SystemClock

_right = SystemClock.now


def _wrong(clock: SystemClock) -> datetime:
    return _right(clock) + timedelta(seconds=SKEW)


if __name__ == "__main__":
    SKEW = float(sys.argv.pop(1))
    SystemClock.now = _wrong  # type: ignore[method-assign]

    from reroll.cli.app import run

    sys.exit(run(sys.argv[1:]))
