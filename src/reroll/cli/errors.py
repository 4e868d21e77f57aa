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
    """`diff`: something would roll."""
    INTERRUPTED = 130
    """Ended by Ctrl-C."""


class CommandError(Exception):
    """What went wrong, where, and what to do: printed as it is, without a traceback."""

    def __init__(self, message: str, code: Exit = Exit.FAILED) -> None:
        super().__init__(message)
        self.code = code
