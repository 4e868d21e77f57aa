"""Who races: the floor, and the controller as a process."""

import asyncio
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from bench.load import Api, Sizes

JSON_PATCH = "application/json-patch+json"


class Floor:
    """The physical limit: knows the answer in advance, hears the event, sends one PATCH."""

    def __init__(self, api: Api, namespace: str, sizes: Sizes) -> None:
        self._api, self._namespace = api, namespace
        self._feeds = {"fan": [f"fan-{i}" for i in range(sizes.fan)]}
        self._sent: set[asyncio.Task[object]] = set()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            for plural in ("configmaps", "secrets"):
                group.create_task(self._follow(plural))

    async def _follow(self, plural: str) -> None:
        path = f"/api/v1/namespaces/{self._namespace}/{plural}"
        listed = await self._api.call("GET", path)
        async for line in self._api.watch(path, listed["metadata"]["resourceVersion"]):
            event = msgspec.json.decode(line)
            if event["type"] != "MODIFIED":
                continue
            meta = event["object"]["metadata"]
            for name in self._feeds.get(meta["name"], [meta["name"]]):
                task = asyncio.create_task(self._roll(name, meta["resourceVersion"]))
                self._sent.add(task)
                task.add_done_callback(self._sent.discard)

    async def _roll(self, name: str, version: str) -> None:
        stamp = {"metadata": {"annotations": {"floor": version}}}
        await self._api.call("PATCH", self._path(name), {"spec": {"template": stamp}})

    def _path(self, name: str) -> str:
        return f"/apis/apps/v1/namespaces/{self._namespace}/deployments/{name}"


class RecordFloor(Floor):
    """The floor with the patch of a roll: guarded by the old record, it writes the next one too."""

    def __init__(self, api: Api, namespace: str, sizes: Sizes) -> None:
        super().__init__(api, namespace, sizes)
        self._records: dict[str, str | None] = {}

    async def _roll(self, name: str, version: str) -> None:
        source = "configmap/fan" if name.startswith("fan-") else f"configmap/{name}"
        record = _RECORD % (version, source, version.zfill(32), source)
        before = self._records.get(name)
        self._records[name] = record
        template = "/spec/template/metadata/annotations"
        body: list[dict[str, object]] = [
            {"op": "test", "path": _STATE, "value": before},
            {"op": "add", "path": _STATE, "value": record},
            *([] if before else [{"op": "add", "path": template, "value": {}}]),
            {"op": "add", "path": f"{template}/floor", "value": version.zfill(32)},
        ]
        await self._api.call("PATCH", f"{self._path(name)}?fieldManager=record", body, JSON_PATCH)


_STATE = "/metadata/annotations/floor.example~1state"
_RECORD = (
    '{"n":%s,"at":"2030-01-01T00:00:00.000000Z","why":"ConfigChanged","s":{"%s":"%s"},'
    '"k":"00000000","rolled":"2030-01-01T00:00:00.000000Z","by":["%s"],"keys":["key"],'
    '"how":"stamp"}'
)


class Process:
    """`reroll run`, with what it costs."""

    def __init__(self, kubeconfig: Path, log: Path) -> None:
        self._kubeconfig, self._log = kubeconfig, log
        self.listen = "127.0.0.1:0"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, *flags: str) -> None:
        command = (
            *(sys.executable, "-m", "reroll", "run", "--kubeconfig", str(self._kubeconfig)),
            *("--listen", self.listen, "--log-format", "json", *flags),
        )
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)

    def stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            self._process.wait(30)
            self._process = None

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def memory(self) -> float:
        """Resident, in MB."""
        return self._status("VmRSS") / 1024

    @property
    def cpu(self) -> float:
        """Seconds of processor time so far."""
        assert self._process is not None
        return cpu_of(self._process.pid)

    def _status(self, name: str) -> int:
        assert self._process is not None
        lines = Path(f"/proc/{self._process.pid}/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith(name)).split()[1])


def cpu_of(pid: int) -> float:
    """Seconds of processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


NOT_FOR_CHANGES = frozenset(("leases", "selfsubjectaccessreviews"))


def _answered(audit: Path, offset: int) -> Iterator[dict[str, Any]]:
    """Every request that was answered since `offset` of the audit log."""
    with audit.open("rb") as log:
        log.seek(offset)
        for line in log:
            try:
                event = msgspec.json.decode(line)
            except msgspec.DecodeError:
                continue
            if event["stage"] == "ResponseComplete":
                yield event


def calls(audit: Path, offset: int, user: str) -> Counter[str]:
    """What a user asked of the API server since `offset` of its audit log, by what it is for.

    Leases are left out, and what a controller asks about its own rights now and then.
    """
    found: Counter[str] = Counter()
    for event in _answered(audit, offset):
        resource = event.get("objectRef", {}).get("resource")
        is_counted = resource not in NOT_FOR_CHANGES and event["verb"] != "watch"
        if event["user"]["username"] == user and is_counted:
            found[f"{event['verb']} {resource}"] += 1
    return found


def wrote_since(audit: Path, offset: int, user: str) -> int:
    """How often a user wrote anything since `offset` of the audit log."""
    with audit.open("rb") as log:
        log.seek(offset)
        return log.read().count(f'"username":"{user}"'.encode())


def reactions(audit: Path, offset: int, namespace: str) -> list[float]:
    """Seconds from each change that was answered to the roll that was asked for, in their order.

    The API server's own work on the two is not in it, but for what it takes to tell of a change.
    """
    found, changed = [], None
    for event in _answered(audit, offset):
        reference = event.get("objectRef", {})
        if (event["verb"], reference.get("namespace")) != ("patch", namespace):
            continue
        if reference["resource"] == "configmaps":
            changed = _time(event["stageTimestamp"])
        elif reference["resource"] == "deployments" and changed is not None:
            asked = _time(event["requestReceivedTimestamp"])
            found.append(max(0.0, asked - changed))
            changed = None
    return found


def _time(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
