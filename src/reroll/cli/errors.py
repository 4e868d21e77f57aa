"""How a command ends when it cannot do its work: a sentence on stderr and a documented code."""

from enum import IntEnum


class Exit(IntEnum):
    """Every exit code of every command; documented in docs/reference/exit-codes.md."""

    OK = 0
    FAILED = 1
    """It could not do what was asked; the sentence on stderr says why."""
    USAGE = 2
    """The command line, a setting or an input file is wrong."""
    WOULD_ROLL = 3
    """`diff` and `plan`: something would roll; `audit --fail-on`: pods are stale."""
    NOTHING = 4
    """`sync` with `--exit-code`: there was nothing to do."""
    ROLLED_BACK = 5
    """A rollout failed, and everything that rolled for that change is back at the one before."""
    TIMED_OUT = 6
    """A rollout was not over in time; it goes on in the cluster."""
    UNWELL = 7
    """`doctor`: something is wrong with the installation."""
    INTERRUPTED = 130
    """Ended by Ctrl-C."""


class CommandError(Exception):
    """What went wrong, where, and what to do: printed as it is, without a traceback."""

    def __init__(self, message: str, code: Exit = Exit.FAILED) -> None:
        super().__init__(message)
        self.code = code
