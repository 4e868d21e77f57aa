"""The workloads that use one source, by where they stand with its content.

A change of one workload costs the same however many there are.
"""

from collections.abc import Iterator
from itertools import chain

from reroll.core.model.key import Key
from reroll.core.observe.spread import Spread
from reroll.core.propagation.member import Member, Stage

_UNFINISHED = frozenset((Stage.BEHIND, Stage.UNDER_WAY))
MOST_REFUSED = 16
"""So many candidates without a turn are looked at before the others are left where they are."""


class Group:
    """Who is behind is a *candidate* for a turn, or was *called* and has not been looked at since.

    One that did not begin though it could, as far as this source goes, is neither: something else
    keeps it, and whatever that is wakes it.
    """

    def __init__(self, source: Key) -> None:
        self.source = source
        self.members: dict[Key, Member] = {}
        self._by_stage: dict[Stage, dict[Key, None]] = {stage: {} for stage in Stage}
        self._unfinished: dict[int, dict[Key, None]] = {}
        self._candidates: dict[int, dict[Key, None]] = {}
        """By wave."""
        self._free: dict[Key, None] = {}
        """Candidates that wait for nobody's turn."""
        self._called: dict[Key, None] = {}
        self._moving: dict[Key, None] = {}
        self._stops: dict[Key, None] = {}
        self._reserved: dict[Key, None] = {}

    def put(self, key: Key, member: Member) -> bool:
        """Whether it stands elsewhere than before."""
        before = self.members.get(key)
        if before == member:
            return False
        stays = before is not None and _waits_alike(before, member)
        place = key in self._called, self._is_candidate(key, before)
        self._remove(key, keep_turn=stays)
        self.members[key] = member
        self._by_stage[member.stage][key] = None
        if _is_unfinished(member):
            self._unfinished.setdefault(member.wave, {})[key] = None
        if member.moving:
            self._moving[key] = None
        if member.stops:
            self._stops[key] = None
        if member.stage is Stage.BEHIND and not (stays and any(place)):
            self._nominate(key, member)
        return True

    def drop(self, key: Key) -> bool:
        """Whether it was there."""
        was_reserved = self._reserved.pop(key, 0) is None
        if key not in self.members:
            return was_reserved
        self._remove(key)
        return True

    def _remove(self, key: Key, *, keep_turn: bool = False) -> None:
        member = self.members.pop(key, None)
        if member is None:
            return
        del self._by_stage[member.stage][key]
        if _is_unfinished(member):
            _without(self._unfinished, member.wave, key)
        self._moving.pop(key, None)
        self._stops.pop(key, None)
        if not keep_turn:
            self._called.pop(key, None)
            self._free.pop(key, None)
            _without(self._candidates, member.wave, key)

    # Turns

    def _nominate(self, key: Key, member: Member) -> None:
        if member.is_free:
            self._free[key] = None
        else:
            self._candidates.setdefault(member.wave, {})[key] = None

    def _is_candidate(self, key: Key, member: Member | None) -> bool:
        if member is None:
            return False
        return key in self._free or key in self._candidates.get(member.wave, ())

    def passed(self, key: Key) -> bool:
        """It was looked at and did not begin; whether another may have its turn."""
        member = self.members.get(key)
        if member is None or member.stage is not Stage.BEHIND:
            return False
        was_called = self._called.pop(key, 0) is None
        if self._may_begin(key, member):
            self._free.pop(key, None)
            _without(self._candidates, member.wave, key)
            return was_called
        if not self._is_candidate(key, member):
            self._nominate(key, member)
        return was_called

    def _may_begin(self, key: Key, member: Member) -> bool:
        """Whether this source has nothing against it."""
        if self._stops:
            return False
        if member.is_free:
            return True
        is_first = member.wave <= min(self._unfinished, default=member.wave)
        return is_first and self.spread(key).room > len(self._called)

    def ready(self) -> list[Key]:
        """Those that may begin now, as far as this source goes: they are called, each once."""
        if self._stops:
            return []
        found = list(self._free)
        self._free.clear()
        self._called |= dict.fromkeys(found)
        wave = min(self._unfinished, default=0)
        called, refused = [], 0
        for key in self._candidates.get(wave, ()):
            if self.spread(key).room > len(self._called):
                called.append(key)
                self._called[key] = None
            elif (refused := refused + 1) > MOST_REFUSED:
                break
        for key in called:
            _without(self._candidates, wave, key)
        return found + called

    def reserve(self, key: Key) -> None:
        """It is about to be written that it rolls."""
        self._reserved[key] = None

    def release(self, key: Key) -> None:
        """That was written, or not."""
        self._reserved.pop(key, None)

    @property
    def is_stopped(self) -> bool:
        return bool(self._stops)

    def count(self, stage: Stage) -> int:
        return len(self._by_stage[stage])

    def at(self, stage: Stage) -> Iterator[Key]:
        return iter(tuple(self._by_stage[stage]))

    def spread(self, key: Key) -> Spread:
        """What there is to know of the content for one workload."""
        member = self.members.get(key) or Member(Stage.SETTLED)
        beside = next((one for one in chain(self._moving, self._reserved) if one != key), None)
        moving = len(self._moving) + sum(one not in self._moving for one in self._reserved)
        stopper = next((one for one in self._stops if one != key), None)
        blamed = self.members[stopper] if stopper else None
        wave = min(self._unfinished, default=member.wave)
        return Spread(
            self.source,
            concerned=len(self.members),
            healthy=self.count(Stage.HEALTHY),
            moving=moving - (key in self._moving or key in self._reserved),
            beside=beside,
            before=next(iter(self._unfinished[wave])) if wave < member.wave else None,
            before_wave=wave,
            stopped_by=stopper,
            why=blamed.why if blamed else "",
            is_definite=blamed is not None and blamed.stage is Stage.FAILED,
            limits=member.limits,
            is_free=member.is_free,
        )


def _is_unfinished(member: Member) -> bool:
    return member.stage in _UNFINISHED or member.moving


def _waits_alike(one: Member, other: Member) -> bool:
    """Whether it waits for its turn as before."""
    return one.stage is other.stage is Stage.BEHIND and (one.wave, one.limits, one.is_free) == (
        other.wave,
        other.limits,
        other.is_free,
    )


def _without(waves: dict[int, dict[Key, None]], wave: int, key: Key) -> None:
    keys = waves.get(wave)
    if keys is not None:
        keys.pop(key, None)
        if not keys:
            del waves[wave]
