"""The records of all workloads a second time, in ConfigMaps of the controller's own namespace.

Another writer may remove a record while no controller watches: what its workload rolled with is
then known from here. The ConfigMaps are shards by the first digit of the workloads' uids, written
by the leader behind its work: half a minute after a record changed, a second or two after a
workload was adopted of which nothing else tells that, and when it ends.
"""

import asyncio
import heapq
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import suppress
from typing import NamedTuple

from reroll.clock import Clock
from reroll.controller import bugs
from reroll.controller.bugs import Part
from reroll.controller.logs import Log
from reroll.core.model.key import Key
from reroll.core.model.record import Record, read, write
from reroll.core.observe.workload import Workload, latest, recalled
from reroll.core.revisions.copies import MANAGED_BY
from reroll.core.tables.annotations import RECORDS
from reroll.engine.world import World
from reroll.kube import api
from reroll.kube.client import Client
from reroll.kube.errors import ApiError, NotFound, Unavailable
from reroll.kube.objects import DataObject, Stub
from reroll.kube.resources import CONFIG_MAPS

log = Log("reroll")
EVERY = 30.0
"""Seconds between two writes."""
SOON = 1.0
"""Seconds in which workloads that are adopted are gathered."""
PATIENCE = 5.0
"""Seconds that a leader waits for its backup before it begins without."""
SHARDS = "0123456789abcdef"
"""The first digits of uids: each has a ConfigMap with the records of its workloads."""
LARGEST_SHARD = 900_000
"""Bytes. Kubernetes takes 1 MiB in one ConfigMap."""
_DIGITS = 20
"""Of a version: more than any store counts to."""
_ENTRY = 64
"""Bytes of an entry beside its record: uid, version, quotes."""


def shard_name(lease: str, digit: str) -> str:
    return f"{lease}-records-{digit}"


class Entry(NamedTuple):
    """A record, and a version of its workload at which it was there."""

    uid: str
    version: int
    record: Record


class RecordBackup:
    """`wake(key, urgent)`: a workload has a record that it had lost."""

    def __init__(
        self,
        client: Client,
        clock: Clock,
        world: World,
        place: tuple[str, str],
        wake: Callable[[Key, bool], None],
    ) -> None:
        self._client, self._clock, self._world, self._wake = client, clock, world, wake
        self._namespace, self._lease = place
        self._stored: dict[str, dict[str, int]] | None = None
        """The numbers of the records that the shards hold, by uid; `None`: not read yet."""
        self._is_told = self._is_full = False
        self._adopted = asyncio.Event()

    def adopted(self, key: Key) -> None:
        """A workload has its first record: until that is here, it would be adopted once more.

        Where Kubernetes copies records to revisions, those tell.
        """
        if not self._world.tables.by_name[key.kind].copies_record:
            self._adopted.set()

    async def load(self) -> None:
        """Read it, for workloads that lost their record; without it decisions go on."""
        self._stored = None
        try:
            async with asyncio.timeout(PATIENCE):
                stored: dict[str, dict[str, int]] = {}
                entries = []
                async for shard in _shards(self._client, self._namespace):
                    found = list(entries_of(shard.data or {}))
                    entries += found
                    stored[shard.metadata.name] = {one.uid: one.record.n for one in found}
                if not stored:
                    await self._create(SHARDS[0], {})
        except (ApiError, TimeoutError) as error:
            self._failed("read", error)
            return
        # An empty one is complete only where no workload has a record yet.
        is_complete = bool(entries) or not any(
            isinstance(one.workload.record, Record) for one in self._world.workloads.values()
        )
        for key in recall(self._world, entries, is_complete=is_complete):
            self._wake(key, False)
        self._stored = stored
        self._is_told = False

    async def run(self) -> None:
        """Keep it current, until cancelled."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._clock.jitter(EVERY)):
                    await self._adopted.wait()
                    await asyncio.sleep(SOON)
            self._adopted.clear()
            with bugs.contained(Part.WORK):  # Whatever a record holds, rolling goes on.
                await self.flush()

    async def flush(self) -> None:
        """Write what changed, one request for each shard; one that is refused stops no other."""
        if self._stored is None:
            await self.load()
        stored = self._stored
        if stored is None:
            return
        by_shard: dict[str, dict[str, Workload]] = {digit: {} for digit in SHARDS}
        for tracked in self._world.workloads.values():
            uid = tracked.workload.uid
            if (shard := by_shard.get(uid[:1])) is not None:
                shard[uid] = tracked.workload
        refused: ApiError | None = None
        for digit, workloads in by_shard.items():
            try:
                await self._write(digit, workloads, stored)
            except ApiError as error:
                refused = error
                if isinstance(error, Unavailable):
                    break  # The others have to wait as long.
        if refused is None:
            self._is_told = False
        else:
            self._failed("written", refused)

    async def _write(
        self, digit: str, workloads: dict[str, Workload], stored: dict[str, dict[str, int]]
    ) -> None:
        """Only the entries that are new, changed or gone."""
        name = shard_name(self._lease, digit)
        there = stored.get(name, {})
        fitting = self._fitting(workloads)
        data: dict[str, str | None] = dict.fromkeys(there.keys() - fitting.keys())
        numbers = {}
        for uid, one in fitting.items():
            record = latest(one)
            # A loss that was not watched is doubted, and stays so.
            is_sure = one.last is None or one.blind_after is None
            if record is not None and is_sure and there.get(uid) != record.n:
                data[uid] = f"{one.version} {write(record)}"
                numbers[uid] = record.n
        if not data:
            return
        try:
            place = CONFIG_MAPS, self._namespace, name
            await api.merge(self._client, *place, {"data": data}, Stub)
        except NotFound:
            stored.pop(name, None)
            await self._create(digit, {uid: text for uid, text in data.items() if text})
        kept = stored.setdefault(name, {})
        kept |= numbers
        for uid in data.keys() - numbers.keys():
            kept.pop(uid, None)

    async def _create(self, digit: str, data: dict[str, str]) -> None:
        labels = {RECORDS: self._lease, MANAGED_BY: "reroll"}
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": shard_name(self._lease, digit), "labels": labels},
            "data": data,
        }
        await api.create(self._client, CONFIG_MAPS, self._namespace, body, Stub)

    def _fitting(self, workloads: dict[str, Workload]) -> dict[str, Workload]:
        found = fitting(workloads)
        if len(found) < len(workloads) and not self._is_full:
            self._is_full = True
            log.warning(
                "backup of records is full",
                problem=f"{CONFIG_MAPS.plural} in namespace {self._namespace} have no room for "
                "all records; the oldest are left out, of the namespaces that have most there",
            )
        return found

    def _failed(self, what: str, error: Exception) -> None:
        """Once, until it works again."""
        if self._is_told:
            return
        self._is_told = True
        why = str(error) or f"no answer within {PATIENCE:g} s"
        log.warning(
            "no backup of records",
            problem=f"it cannot be {what}: {why}; grant `list`, `create` and `patch` on configmaps "
            f"in namespace {self._namespace}. Until then a record that is removed while no "
            "controller runs is known for Deployments only",
        )


def fitting(workloads: dict[str, Workload], room: int = LARGEST_SHARD) -> dict[str, Workload]:
    """What one shard has room for: the namespace that takes most of it loses its oldest record.

    So nobody's records have to go for those of a namespace that fills it.
    """
    sizes = {uid: _ENTRY + _size(one) for uid, one in workloads.items()}
    excess = sum(sizes.values()) - room
    if excess <= 0:
        return workloads
    found, taken = dict(workloads), defaultdict[str, int](int)
    oldest_last: dict[str, list[str]] = {}
    for uid in sorted(workloads, key=lambda uid: _age(workloads[uid]), reverse=True):
        home = workloads[uid].key.namespace
        oldest_last.setdefault(home, []).append(uid)
        taken[home] += sizes[uid]
    largest = [(-size, home) for home, size in taken.items()]
    heapq.heapify(largest)
    while excess > 0:
        size, home = largest[0]
        uid = oldest_last[home].pop()
        del found[uid]
        excess -= sizes[uid]
        heapq.heapreplace(largest, (size + sizes[uid], home))
    return found


def _size(workload: Workload) -> int:
    """Bytes of the record that is written down, which is another one where its own was lost."""
    record = latest(workload)
    if record is None:
        return 0
    text = workload.record_text if record is workload.record else write(record)
    if text is None:
        return 0
    return len(text) if text.isascii() else len(text.encode())


def _age(workload: Workload) -> float:
    record = latest(workload)
    return record.at.timestamp() if record else 0.0


async def find(client: Client, namespace: str) -> list[Entry]:
    """All that controllers with this home wrote down."""
    return [
        entry
        async for shard in _shards(client, namespace)
        for entry in entries_of(shard.data or {})
    ]


async def _shards(client: Client, namespace: str) -> AsyncIterator[DataObject]:
    """One at a time: each may be large."""
    pages = api.pages(client, CONFIG_MAPS, namespace, DataObject, label_selector=RECORDS, limit=4)
    async for page in pages:
        for shard in page.items:
            yield shard


def entries_of(data: Mapping[str, str]) -> Iterable[Entry]:
    for uid, text in data.items():
        version, _, record = text.partition(" ")
        found = read(record)
        if isinstance(found, Record) and version.isdecimal() and len(version) <= _DIGITS:
            yield Entry(uid, int(version), found)


def recall(world: World, entries: Iterable[Entry], *, is_complete: bool) -> list[Key]:
    """Have workloads compared with these records where they lost theirs; those that did.

    `is_complete`: one that is not among them never had any. Where there are some at all, those that
    are known by now are an exception: one may have got its first just before a controller ended.
    """
    by_uid: dict[str, Key] = {one.workload.uid: key for key, one in world.workloads.items()}
    there, found = list(entries), []
    for entry in there:
        if key := by_uid.get(entry.uid):
            tracked = world.workloads[key]
            before = tracked.workload
            tracked.workload = recalled(before, entry.record, entry.version)
            if tracked.workload is not before:
                found.append(key)
    lacking = (key for key, one in world.workloads.items() if latest(one.workload) is None)
    world.records_known = is_complete
    world.unrecorded = set(lacking) if there else set()
    return found
