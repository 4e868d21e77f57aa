"""Keeps current where workloads stand with the contents of their sources, and wakes who is next.

Only for sources whose changes somebody wants to propagate with care: for all others it costs
nothing. Everything here follows from the world, except who is about to be written (`reserve`).
"""

from collections.abc import Callable, Iterable
from typing import Protocol

import msgspec

from reroll.controller.rotation import Rotation
from reroll.core.model.key import Key
from reroll.core.model.pace import Limits
from reroll.core.observe.compare import compare
from reroll.core.observe.snapshot import Snapshot
from reroll.core.observe.spread import Spread, Traffic
from reroll.core.propagation.group import Group
from reroll.core.propagation.member import Member, Stage, members
from reroll.core.tables.reasons import Reason
from reroll.engine.gates import GateBoard, Rules
from reroll.engine.source_index import SourceIndex
from reroll.engine.tracked import Tracked

PASSING = frozenset(
    (Reason.DEBOUNCING, Reason.PACED, Reason.WAITING, Reason.LOOKING_BACK, Reason.AFTER_OTHERS,
     Reason.CROWDED, Reason.STOPPED, Reason.WINDOW_CLOSED, Reason.FROZEN, Reason.GATE_ASKED,
     Reason.GATE_CLOSED, Reason.GATE_UNKNOWN, Reason.ON_CANARY)
)  # fmt: skip
"""What keeps a workload for a moment, or is propagation itself: it is still in others' way."""


GroupId = tuple[Key, str]
"""A source and a namespace whose workloads use it; without one, it is those of all namespaces.

What happens in one namespace is nothing to another, unless the source itself asks for care.
"""
Scope = tuple[str, str]
"""A namespace and an exclusive group in it; a namespace; or, both empty, the cluster."""
NO_GROUP: Scope = ("", "-")
UNLIMITED = 2**31


def _scopes(key: Key, exclusive: str) -> tuple[Scope, Scope, Scope]:
    group = (key.namespace, exclusive) if exclusive else NO_GROUP
    return ("", ""), (key.namespace, ""), group


def _namespace(key: Key) -> str:
    return key.namespace


class Looks(Protocol):
    """What it needs of the world."""

    workloads: dict[Key, Tracked]

    @property
    def sources(self) -> SourceIndex: ...

    def standing(self, key: Key) -> Snapshot | None: ...


class Propagation:
    """`wake(key)`: a workload may be next."""

    def __init__(self, world: Looks, scope: Rules, wake: Callable[[Key], None]) -> None:
        self._world, self._limits, self._wake = world, scope.limits, wake
        self.gates = GateBoard(scope.gates, wake, at_once=scope.at_once)
        self._groups: dict[GroupId, Group] = {}
        self._governors: dict[GroupId, set[Key]] = {}
        """The workloads of a namespace that ask for care with a source."""
        self._of: dict[Key, tuple[GroupId, ...]] = {}
        """The groups of each workload, one for each of its sources that is governed."""
        self._blocked: set[Key] = set()
        self._moving: dict[Key, str] = {}
        """Those under way, with their exclusive group."""
        self._under_way: dict[Scope, dict[Key, None]] = {}
        self._waiting: dict[Scope, Rotation[Key]] = {}
        """Who waits for others to end: in the cluster, in a namespace, in an exclusive group."""
        self._called: dict[Key, Scope] = {}
        """Of those, who may begin and has not been looked at since."""
        self._reserved: set[Key] = set()

    # What there is to know

    def governs(self, key: Key) -> bool:
        """Whether the rollouts of a workload are judged."""
        return key in self._of

    def _group(self, source: Key, namespace: str) -> GroupId | None:
        """The group of the workloads of a namespace that use a source, if that is governed."""
        if source in self._world.sources.paced:
            return source, ""
        group = source, namespace
        return group if group in self._governors or self._limits != Limits() else None

    @property
    def _is_used(self) -> bool:
        """Whether anything is governed at all."""
        return bool(self._governors or self._world.sources.paced or self._limits != Limits())

    def spreads(self, key: Key) -> tuple[Spread, ...]:
        return tuple(self._groups[group].spread(key) for group in sorted(self._of.get(key, ())))

    def traffic(self, key: Key, exclusive: str) -> Traffic | None:
        if not exclusive and self._limits == Limits():
            return None
        cluster, namespace, group = (
            self._under_way.get(one, {}) for one in _scopes(key, exclusive)
        )
        mine = key in self._moving
        beside = next((other for other in group if other != key), None)
        return Traffic(self._limits, len(cluster) - mine, len(namespace) - mine, beside)

    def groups(self) -> Iterable[Group]:
        return self._groups.values()

    # What changes

    def refresh(self, key: Key) -> None:
        """Something about a workload, or about one of its sources, changed."""
        tracked = self._world.workloads.get(key)
        if tracked is None:
            self.drop(key)
            return
        asks = bool(tracked.policy.enabled) and tracked.policy.pace.governs
        if not (asks or key in self._of or self._is_used):
            return
        sources = {reference.source for reference in tracked.references}
        self._govern(key, sources if asks else set())
        found = (self._group(one, key.namespace) for one in sources if tracked.policy.enabled)
        governed = tuple(filter(None, found))
        before = self._of.get(key)
        if not governed:
            if before is not None:
                self.drop(key)
                self._wake(key)  # It may have waited for others, and waits for none any more.
            return
        self._of[key] = governed
        self._place(key, before or (), governed)

    def _place(self, key: Key, before: tuple[GroupId, ...], governed: tuple[GroupId, ...]) -> None:
        snapshot = self._world.standing(key)
        if snapshot is None:
            return
        stopped = frozenset(
            one[0] for one in governed if (group := self._groups.get(one)) and group.is_stopped
        )
        found = members(snapshot, compare(snapshot), stopped, blocked=key in self._blocked)
        for one in set(before).difference(governed):
            self._put(one, key, None)
        for one in governed:
            self._put(one, key, found.get(one[0]) or Member(Stage.SETTLED))
        moves = key in self._reserved or any(
            found[source].moving for source, _ in governed if source in found
        )
        self._move(key, snapshot.policy.pace.exclusive if moves else None)

    def _put(self, group_id: GroupId, key: Key, member: Member | None) -> None:
        """Where it stands in a group now; `None`: nowhere."""
        group = self._groups.get(group_id)
        if group is None:
            group = self._groups[group_id] = Group(group_id[0])
        was_stopped = group.is_stopped
        changed = group.put(key, member) if member else group.drop(key)
        if changed:
            self._offer(group, told=group.is_stopped != was_stopped)
        if not group.members:
            self._groups.pop(group_id, None)

    def drop(self, key: Key) -> None:
        """It is gone, or uses nothing that is governed any more."""
        self._blocked.discard(key)
        self.gates.leave(key)
        if scope := self._called.pop(key, None):
            self._serve(scope)
        self._govern(key, set())
        self._move(key, None)
        for group in self._of.pop(key, ()):
            self._put(group, key, None)

    def _govern(self, key: Key, sources: set[Key]) -> None:
        """It asks for care with these sources; for others, nobody may ask any more."""
        asked = {(source, key.namespace) for source in sources}
        for one in asked:
            others = self._governors.setdefault(one, set())
            is_new = not others
            others.add(key)
            if is_new:
                self._refresh_users(one[0], but=key)
        for source, _ in self._of.get(key, ()):
            one = source, key.namespace
            if one not in asked and key in (others := self._governors.get(one, set())):
                others.discard(key)
                if not others:
                    del self._governors[one]
                    self._refresh_users(source, but=key)

    def _refresh_users(self, source: Key, but: Key) -> None:
        """Those of the same namespace."""
        for user in self._world.sources.users(source):
            if user.namespace == but.namespace and user != but and user in self._world.workloads:
                self.refresh(user)

    # Turns

    def _move(self, key: Key, exclusive: str | None) -> None:
        """It is under way, in this exclusive group; `None`: it is not."""
        before = self._moving.get(key)
        if before == exclusive:
            return
        if before is not None:
            del self._moving[key]
            for scope in _scopes(key, before):
                self._under_way.get(scope, {}).pop(key, None)
                self._serve(scope)
        if exclusive is not None:
            self._moving[key] = exclusive
            for scope in _scopes(key, exclusive):
                if scope != NO_GROUP:
                    self._under_way.setdefault(scope, {})[key] = None

    def _serve(self, scope: Scope) -> None:
        """Somebody is not under way there any more: who waited for that is looked at."""
        waiting = self._waiting.get(scope)
        if waiting is None:
            return
        room = self._most(scope) - len(self._under_way.get(scope, {}))
        while room > 0 and waiting.times:
            key = waiting.pop()[0]
            if key in self._of:  # Else it has left since, and would not use its turn.
                room -= 1
                self._called[key] = scope
                self._wake(key)
        if not waiting.times:
            del self._waiting[scope]

    def _most(self, scope: Scope) -> int:
        namespace, group = scope
        if group:
            return 1
        return (self._limits.namespace if namespace else self._limits.cluster) or UNLIMITED

    def _wait(self, key: Key, exclusive: str) -> None:
        """It is looked at when there is room where there was none."""
        for scope in _scopes(key, exclusive):
            if scope != NO_GROUP and len(self._under_way.get(scope, {})) >= self._most(scope):
                waiting = self._waiting.setdefault(scope, Rotation(_namespace))
                if key not in waiting.times:
                    waiting.add(key, 0.0)
                return

    def _offer(self, group: Group, *, told: bool = False, but: Key | None = None) -> None:
        """Wake who may begin; `told`: all, because the change was stopped, or is no longer."""
        for key in tuple(group.members) if told else group.ready():
            if told and len(self._of.get(key, ())) > 1:
                self.refresh(key)  # It is in nobody's way with its other sources, or is again.
            if key != but:
                self._wake(key)

    def take_note(
        self, key: Key, reason: Reason, *, begins: bool = False, failed: bool = False
    ) -> None:
        """What came of a look at a workload: whether it is still in the way of others."""
        called = self._called.pop(key, None)
        if key not in self._of:
            return
        blocked = failed or (reason.held and reason not in PASSING)
        if reason is Reason.CROWDED and (tracked := self._world.workloads.get(key)):
            self._wait(key, tracked.policy.pace.exclusive)
        if blocked != (key in self._blocked):
            (self._blocked.add if blocked else self._blocked.discard)(key)
            self.refresh(key)
        if begins:
            return
        if reason is Reason.PACED:  # It keeps its turn, and waits for that of the pace.
            if called is not None:
                self._called[key] = called
            return
        if called is not None:
            self._serve(called)
        for one in self._of.get(key, ()):
            group = self._groups[one]
            if group.passed(key):
                self._offer(group)

    def reserve(self, key: Key) -> None:
        """It is about to be written that a workload rolls."""
        if key not in self._of:
            return
        self._reserved.add(key)
        for group in self._of[key]:
            self._groups[group].reserve(key)
        tracked = self._world.workloads[key]
        self._move(key, tracked.policy.pace.exclusive)

    def release(self, key: Key) -> None:
        """That was written, or it is known that it was not."""
        if key not in self._reserved:
            return
        self._reserved.discard(key)
        for group in self._of.get(key, ()):
            self._groups[group].release(key)
        self.refresh(key)
        for group in self._of.get(key, ()):
            # Not itself: after an error it waits longer and longer.
            self._offer(self._groups[group], but=key)


def with_propagation(snapshot: Snapshot, propagation: Propagation) -> Snapshot:
    """The snapshot, with what its decision has to know of others."""
    key = snapshot.workload.key
    return msgspec.structs.replace(
        snapshot,
        spreads=propagation.spreads(key),
        traffic=propagation.traffic(key, snapshot.policy.pace.exclusive),
        gates=propagation.gates.readings(key, snapshot.policy.pace.gates),
        problems=snapshot.problems + propagation.gates.problems(key, snapshot.policy.pace.gates),
    )
