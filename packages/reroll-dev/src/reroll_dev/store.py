"""Where finished things of one module lie: a cache folder whose name changes when the sources do.

What the folder's record does not vouch for is not there: a file that is missing, cut short, not
executable, or made by another recipe is made again. Files come in by rename, then the record by
rename, so a reader needs no lock; a writer holds the lock.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from reroll_dev.failures import writing
from reroll_dev.gomod import Module
from reroll_dev.locks import held
from reroll_dev.progress import Progress

_RECORD = ".ok"
_WORK = ".work-"


def cache_folder(env: Mapping[str, str]) -> Path:
    """`$XDG_CACHE_HOME/reroll`; a relative XDG_CACHE_HOME is no valid one and does not count."""
    base = Path(env.get("XDG_CACHE_HOME", ""))
    if not base.is_absolute():
        base = (Path(env["HOME"]) if env.get("HOME") else Path.home()) / ".cache"
    return base / "reroll"


def store_of(module: Module, env: Mapping[str, str]) -> "Store":
    return Store(cache_folder(env) / "controlplane" / f"{module.name}-{module.key()}")


@dataclass(frozen=True, slots=True)
class Store:
    folder: Path

    def lookup(self, name: str, recipe: str) -> Path | None:
        """The sound file of that name and recipe."""
        path = self.folder / name
        try:
            status = path.stat()
        except OSError:
            return None
        seen = {"size": status.st_size, "mode": status.st_mode, "recipe": recipe}
        if not status.st_size or self._record().get(name) != seen:
            return None
        with suppress(OSError):  # it goes while this looks, or belongs to another user
            os.utime(path)
        return path

    @contextmanager
    def workshop(self, progress: Progress) -> Iterator[Path]:
        """A folder to work in, with the lock held; it goes with the work, as killed runs' do."""
        lock = self.folder.with_name(f"{self.folder.name}.lock")
        with writing(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            with held(lock, purpose=f"building into {self.folder}", progress=progress):
                for leftover in self.folder.glob(f"{_WORK}*"):
                    shutil.rmtree(leftover, ignore_errors=True)
                with tempfile.TemporaryDirectory(
                    prefix=_WORK, dir=self.folder, ignore_cleanup_errors=True
                ) as work:
                    yield Path(work)

    def keep(self, finished: Path, name: str, recipe: str) -> Path:
        """Take in a finished file from the workshop."""
        path = self.folder / name
        status = finished.stat()
        finished.replace(path)
        entry = {"size": status.st_size, "mode": status.st_mode, "recipe": recipe}
        self._write_record({**self._record(), name: entry}, finished.parent)
        return path

    def forget(self, pattern: str, *, but: int, used_before: float, work: Path) -> None:
        """Remove files of these names, but for those used last, or since `used_before`.

        For whoever holds the lock. A file is used when it is looked up.
        """
        files = sorted(self.folder.glob(pattern), key=_used)
        old = [path for path in files[: max(0, len(files) - but)] if _used(path) < used_before]
        for path in old:
            path.unlink(missing_ok=True)
        gone = {path.name for path in old}
        if gone:
            record = {name: entry for name, entry in self._record().items() if name not in gone}
            self._write_record(record, work)

    def _record(self) -> dict[str, object]:
        try:
            record = json.loads((self.folder / _RECORD).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return record if isinstance(record, dict) else {}

    def _write_record(self, record: Mapping[str, object], work: Path) -> None:
        draft = work / _RECORD
        with draft.open("w", encoding="utf-8") as file:
            json.dump(record, file, indent=1, sort_keys=True)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self.folder / _RECORD)


def _used(path: Path) -> float:
    return path.stat().st_mtime
