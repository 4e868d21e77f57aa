"""The state file of a cluster: which processes were started, so that exactly these are ended.

It is written after every start of a process, whole and at once, and believed only for this boot of
the machine.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from reroll_dev.processes import Process, boot_id, is_alive

FORMAT = 1


class UnreadableStateError(Exception):
    """The file is there and says nothing that we understand."""


@dataclass(frozen=True, slots=True)
class State:
    boot: str
    server: str
    """The API server's address; empty until it is known."""
    ready: bool
    """Whether the start went through to its end."""
    processes: tuple[Process, ...]

    @classmethod
    def empty(cls) -> "State":
        return cls(boot_id(), "", ready=False, processes=())

    @classmethod
    def load(cls, path: Path) -> "State | None":
        """What the file says, or None if there is none."""
        try:
            content = json.loads(path.read_bytes())
            if content.pop("format") != FORMAT:
                raise UnreadableStateError
            processes = tuple(Process(**fields) for fields in content.pop("processes"))
            return cls(**content, processes=processes)
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError, AttributeError):
            raise UnreadableStateError from None

    def save(self, path: Path) -> None:
        draft = path.with_suffix(".new")
        draft.write_text(json.dumps({"format": FORMAT, **asdict(self)}, indent=2) + "\n")
        draft.replace(path)

    def is_running(self, process: Process) -> bool:
        return self.boot == boot_id() and is_alive(process)

    def running(self) -> tuple[Process, ...]:
        return tuple(process for process in self.processes if self.is_running(process))

    def dead(self) -> tuple[Process, ...]:
        return tuple(process for process in self.processes if not self.is_running(process))
