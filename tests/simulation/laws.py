"""What must be so at every roll, by what the objects say and by nothing that a controller knows.

Each write of a controller to a Deployment is held against the records of all, as they are at the
moment at which the API server takes it.
"""

from collections import Counter
from typing import Any, NamedTuple

import msgspec
from tests.simulation.deployments import Deployments, Values
from tests.simulation.json_patch import Document
from tests.simulation.store import Store

from reroll.core.model.pace import Limits

STATE = "reroll.dev/state"
ON_ITS_WAY = 1.0
"""Seconds: what was decided before something was known arrives so long after it at most."""
Trial = dict[str, Any]


class BrokenLawError(AssertionError):
    """The product did what it must not do."""


class Roll(NamedTuple):
    at: float
    name: str
    entries: tuple[str, ...]
    back: bool


class Laws:
    def __init__(self, store: Store, deployments: Deployments, limits: Limits) -> None:
        self._store, self._deployments, self._limits = store, deployments, limits
        store.written = self._written
        self.rolls: list[Roll] = []
        self.contents: dict[str, list[Values]] = {}
        """Of each source, what it ever held."""
        self._open: dict[str, set[str]] = {}
        """By entry: the workloads that are under way with it."""
        self._moving: dict[str, str] = {}
        """All that are, with their exclusive group."""
        self._healthy: dict[tuple[str, str], set[str]] = {}
        """By entry and digest, as far as a controller has had its answer."""
        self._stops: dict[str, float] = {}
        """Since when a workload stops others, by its record."""
        self._users: dict[str, set[str]] = {}
        self._touched: set[str] = set()
        self._touched_at: dict[str, float] = {}
        self._had: dict[tuple[str, str], str] = {}
        """What a source held when a workload last rolled for it."""
        self._free: set[str] = set()
        """Those that began without a turn: one that was on its way then could not know of them."""
        self._deployed: dict[str, float] = {}
        """When another writer changed the template that a roll had made."""
        self.people: set[str] = set()
        """The workloads that people changed while it ran."""
        self._counts: Counter[tuple[str, str]] = Counter()

    # What people do

    def changed(self, name: str, data: Values) -> None:
        self.contents.setdefault(name, []).append(data)

    def touched(self, name: str) -> None:
        """A person changed it: what it counts as is theirs until it rolls again."""
        self._touched.add(name)
        self._touched_at[name] = self._deployments._clock.monotonic()
        self.people.add(name)
        self._close(name)

    def deployed(self, name: str) -> None:
        """Another writer changed its template: it is no trial of ours any more."""
        self._deployed[name] = self._deployments._clock.monotonic()

    # What controllers do

    def _written(self, before: Document | None, after: Document) -> None:
        assert before is not None
        name = after["metadata"]["name"]
        was, now = record(before), record(after)
        is_roll = before["spec"]["template"] != after["spec"]["template"]
        if is_roll:
            self._rolled(name, before, after)
        trial: Trial = now.get("trial") or {}
        is_open = _is_open(trial) and bool(after["spec"]["replicas"])
        is_open = is_open and not after["spec"].get("paused")
        self._close(name)
        if is_open and (is_roll or name not in self._touched):
            self._begin(name, trial["of"], _notes(after).get("reroll.dev/exclusive", ""))
        self._not_theirs(name, was.get("trial") or {}, trial, is_roll=is_roll)
        if trial.get("v") == "healthy" != (was.get("trial") or {}).get("v"):
            for entry in trial["of"]:
                self._healthy.setdefault((entry, now["s"].get(entry, "")), set()).add(name)
        if _stops(after):
            self._stops.setdefault(name, self._deployments._clock.monotonic())
        else:
            self._stops.pop(name, None)
        for entry in now.get("s", ()):
            self._users.setdefault(entry, set()).add(name)

    def _not_theirs(self, name: str, was: Trial, trial: Trial, *, is_roll: bool) -> None:
        """The rollout of another writer's template is no verdict on our content."""
        if is_roll:
            self._deployed.pop(name, None)
        known = self._deployments._clock.monotonic() - ON_ITS_WAY
        for word in ("v", "b"):
            is_new = trial.get(word) in {"healthy", "failed"} and was.get(word) != trial[word]
            if is_new and self._deployed.get(name, known) < known:
                raise BrokenLawError(f"{name} is {trial[word]} with the template of another writer")

    def _begin(self, name: str, entries: list[str], exclusive: str) -> None:
        for entry in entries:
            self._open.setdefault(entry, set()).add(name)
        self._moving[name] = exclusive

    def _close(self, name: str) -> None:
        for names in self._open.values():
            names.discard(name)
        self._moving.pop(name, None)

    def _rolled(self, name: str, before: Document, after: Document) -> None:
        was, now = record(before), record(after)
        trial: Trial = now.get("trial") or {}
        is_back = bool(trial.get("back")) and not (was.get("trial") or {}).get("back")
        changed = [one for one in now.get("by") or () if was["s"].get(one) != now["s"][one]]
        at = self._deployments._clock.monotonic()
        self.rolls.append(Roll(at, name, tuple(changed), is_back))
        self._touched.discard(name)
        if is_back:
            self._free.add(
                name
            )  # It waits for nobody, and a roll that was sent does not know of it.
        if is_back or now.get("why") == "Pinned":
            return
        if not changed and was.get("why") != "Released":
            raise BrokenLawError(f"{name} rolled twice for the same content: {was} {now}")
        for entry in changed:
            self._once(name, entry, now["s"][entry])
            self._had[name, entry] = self._data(_place(after)[0], entry)
        is_free = self._is_free(name, before)
        (self._free.add if is_free else self._free.discard)(name)
        if trial and not is_free:
            for entry in changed:
                self._not_stopped(name, entry, after)
                self._in_turn(name, entry, now["s"][entry], after)
            self._in_traffic(name, after)

    def _once(self, name: str, entry: str, digest: str) -> None:
        """A content rolls a workload once; it may come back, as often as it came."""
        self._counts[name, entry] += 1
        times = len(self.contents[entry.partition("/")[2]]) - 1
        if self._counts[name, entry] > times:
            raise BrokenLawError(f"{name} rolled {self._counts[name, entry]} times for {entry}")

    def _is_free(self, name: str, before: Document) -> bool:
        """Whether it waits for nobody: it is sick as it is, or its rollout tells nothing."""
        trial: Trial = record(before).get("trial") or {}
        state, spec = self._deployments.states[_place(before)], before["spec"]
        is_sick = state.gave_up and not _is_open(trial)
        latest = self._deployments._clock.monotonic() - ON_ITS_WAY
        if self._touched_at.get(name, latest) > latest:
            return True  # It was, before a person changed it: that may not be known yet.
        return trial.get("v") in {"failed", "stuck"} or is_sick or not spec["replicas"]

    def _not_stopped(self, name: str, entry: str, after: Document) -> None:
        """Content that failed stops: who is behind does not begin with it."""
        home, known = _place(after)[0], self._deployments._clock.monotonic() - ON_ITS_WAY
        for other, since in self._stops.items():
            there = self._store.all("deployments").get((home, other))
            if there is None or other == name or since > known or entry not in _stops(there):
                continue
            if record(there)["s"].get(entry) == record(after)["s"][entry]:
                trial = record(there)["trial"]
                raise BrokenLawError(f"{name} began with {entry}, with which {other} is {trial}")

    def _in_turn(self, name: str, entry: str, digest: str, after: Document) -> None:
        others = self._open.get(entry, set()) - self._free - {name}
        healthy = len(self._healthy.get((entry, digest), ()))
        limits, wave = self._limits_of(entry, after), _wave(after)
        most = min(
            (allowed(one, len(self._users.get(entry, ())), healthy) for one in limits),
            default=len(others) + 1,
        )
        if len(others) < most and not wave:
            return  # It costs too much to look at each of thousands.
        begun = {one for one in others if not self._is_past(one, after, entry)}
        if len(begun) >= most:
            raise BrokenLawError(
                f"{name} began with {entry} beside {sorted(begun)}: {limits} allow {most}, "
                f"{healthy} are healthy"
            )
        for other in begun:
            there = self._store.all("deployments").get((_place(after)[0], other))
            if there and _wave(there) < wave:
                raise BrokenLawError(f"{name} of wave {wave} began before {other} was healthy")

    def _is_past(self, other: str, after: Document, entry: str = "") -> bool:
        """Whether its rollout is complete, with a content that nobody will judge any more.

        Of this entry, or of all that it rolled for.
        """
        there = self._store.all("deployments").get((_place(after)[0], other))
        if there is None:
            return True
        home = _place(after)[0]
        tried = [entry] if entry else (record(there).get("trial") or {}).get("of", ())
        had, new = record(there)["s"], record(after)["s"]
        is_left = all(
            had.get(one) != new[one]
            if one in new
            else self._had.get((other, one)) != self._data(home, one)
            for one in tried
        )
        return is_left and _is_complete(there)

    def _data(self, home: str, entry: str) -> str:
        """What a source holds now."""
        source = self._store.all("configmaps").get((home, entry.partition("/")[2])) or {}
        return str(source.get("data"))

    def _limits_of(self, entry: str, after: Document) -> list[str]:
        source = self._store.all("configmaps")[_place(after)[0], entry.partition("/")[2]]
        said = (_notes(after), _notes(source))
        return [one["reroll.dev/max-parallel"] for one in said if "reroll.dev/max-parallel" in one]

    def _in_traffic(self, name: str, after: Document) -> None:
        exclusive = _notes(after).get("reroll.dev/exclusive")
        if not exclusive and self._limits == Limits():
            return
        others = {
            one: group
            for one, group in self._moving.items()
            if one != name and one not in self._free and not self._is_past(one, after)
        }
        if exclusive and exclusive in others.values():
            raise BrokenLawError(f"{name} is not alone in its group {exclusive}: {others}")
        for most in (self._limits.cluster, self._limits.namespace):
            if most and len(others) >= most:
                raise BrokenLawError(f"{name} is one more than the limit of {most}: {others}")


def allowed(limit: str, concerned: int, healthy: int) -> int:
    """How many may be under way at once."""
    if limit == "doubling":
        begun, size = 0, 1
        while begun + size <= healthy:  # Rounds of 1, 2, 4 that are over.
            begun, size = begun + size, size * 2
        return begun + size - healthy
    if limit.endswith("%"):
        return max(1, concerned * int(limit[:-1]) // 100)
    return {"one": 1, "all": concerned + 1}.get(limit) or int(limit)


def record(document: Document) -> dict[str, Any]:
    text = _notes(document).get(STATE)
    found: dict[str, Any] = msgspec.json.decode(text) if text else {"s": {}}
    return found


def _stops(document: Document) -> set[str]:
    """The entries whose content others must not begin with, as this one has it."""
    trial: Trial = record(document).get("trial") or {}
    failed = set(trial.get("past", ()))
    if trial.get("v") in {"failed", "stuck"}:
        failed |= set(trial["of"])
    goes_on = _notes(document).get("reroll.dev/on-failure") == "continue"
    return set() if goes_on and trial.get("v") != "stuck" else failed


def _is_open(trial: Trial) -> bool:
    if not trial or trial.get("sick"):
        return False
    return not (trial.get("b") if trial.get("back") else trial.get("v"))


def _is_complete(document: Document) -> bool:
    status, wanted = document.get("status") or {}, document["spec"]["replicas"]
    counts = ("replicas", "updatedReplicas", "availableReplicas")
    is_seen = status.get("observedGeneration", 0) >= document["metadata"]["generation"]
    return is_seen and all(status.get(one, 0) == wanted for one in counts)


def _wave(document: Document) -> int:
    return int(_notes(document).get("reroll.dev/wave", "0"))


def _notes(document: Document) -> dict[str, str]:
    return document["metadata"].get("annotations") or {}


def _place(document: Document) -> tuple[str, str]:
    return document["metadata"]["namespace"], document["metadata"]["name"]
