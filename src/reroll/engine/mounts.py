"""What pods report to have mounted of one class: of each object, the version of the newest report.

Thousands of pods may mount one class, and each has a report of its own. So a report that comes or
goes costs as much as it holds, however many others there are.
"""

import heapq
from collections.abc import Iterator
from itertools import count

from reroll.engine.content import MountReport

_SPARE = 64
"""So many entries that count no more are kept of an object at least, before all are looked at."""
_Entry = tuple[int, int, str, str]
"""The version of a report and its place in the order, negative: the newest first; pod, version."""


class Mounted:
    def __init__(self) -> None:
        self._reports: dict[str, tuple[int, int]] = {}
        """By name: its version, and its place in the order in which they came."""
        self._entries: dict[str, list[_Entry]] = {}
        """By object: a heap, with entries of reports that are gone or came anew."""
        self._order = count(1)

    def __iter__(self) -> Iterator[str]:
        return iter(self._reports)

    def __len__(self) -> int:
        return len(self._reports)

    def add(self, report: MountReport) -> None:
        """A report as it is now."""
        version, place = report.metadata.version, next(self._order)
        name, objects = report.metadata.name, report.status.objects or ()
        self._reports[name] = version, place
        for one in {one.id: one for one in objects}.values():
            entries = self._entries.setdefault(one.id, [])
            heapq.heappush(entries, (-version, -place, name, one.version))
            if len(entries) > 2 * len(self._reports) + _SPARE:
                entries[:] = [entry for entry in entries if self._counts(entry)]
                heapq.heapify(entries)

    def discard(self, name: str) -> None:
        self._reports.pop(name, None)

    @property
    def version(self) -> int:
        """That of the newest report."""
        return max((version for version, _ in self._reports.values()), default=0)

    def versions(self) -> dict[str, str]:
        """Of each object that a report names."""
        found = {}
        for name in tuple(self._entries):
            entries = self._entries[name]
            while entries and not self._counts(entries[0]):
                heapq.heappop(entries)
            if entries:
                found[name] = entries[0][3]
            else:
                del self._entries[name]
        return found

    def _counts(self, entry: _Entry) -> bool:
        version, place = self._reports.get(entry[2], (0, 0))
        return (-version, -place) == entry[:2]
