"""What the revisions of a workload tell of it, one after the other: none of them is kept."""

from datetime import datetime

from reroll.core.model.record import Record, read
from reroll.core.observe.snapshot import History
from reroll.core.tables.annotations import STATE
from reroll.kube.objects import Revision, is_owned_by


class Revisited:
    def __init__(self, uid: str) -> None:
        self._uid = uid
        self._number: int | None = None
        self._newest: datetime | None = None
        self._version = 0
        self._there: Record | None = None
        """The record that Kubernetes copied to the newest one."""
        self._latest: Record | None = None
        """Of all such records, the one with the highest number."""

    def see(self, revision: Revision) -> None:
        metadata = revision.metadata
        if not is_owned_by(metadata, self._uid):
            return
        found = read((metadata.annotations or {}).get(STATE))
        record = found if isinstance(found, Record) else None
        if self._number is None or revision.number > self._number:
            self._number, self._there = revision.number, record
            self._newest, self._version = metadata.creation_timestamp, metadata.version
        if record and (self._latest is None or record.n > self._latest.n):
            self._latest = record

    @property
    def history(self) -> History:
        there, latest = self._there, self._latest
        return History(
            newest=self._newest,
            version=self._version,
            latest=latest,
            left=latest is not None and (there is None or there.n < latest.n),
        )
