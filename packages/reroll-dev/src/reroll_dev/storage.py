"""What a file system refuses, as a sentence with a way out."""

import errno
from pathlib import Path

from reroll_dev.errors import DevClusterError

FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
FORBIDDEN = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
IN_THE_WAY = frozenset({errno.ENOTDIR, errno.EEXIST})

ADVICE = (
    (FULL, "the disk is full: free some space, or name another place with --folder"),
    (FORBIDDEN, "it may not be written to: name another place with --folder or XDG_STATE_HOME"),
    (IN_THE_WAY, "there is a file in the way: remove it, or name another place with --folder"),
)


class StorageError(DevClusterError):
    def __init__(self, error: OSError, folder: Path) -> None:
        advice = [todo for numbers, todo in ADVICE if error.errno in numbers]
        todo = advice[0] if advice else "name another place with --folder"
        super().__init__(f"cannot write {error.filename or folder} ({error.strerror}); {todo}")
        self.is_full = error.errno in FULL
