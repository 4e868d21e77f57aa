"""Where one workload stands with each change that propagates, and since when. Pure."""

from datetime import datetime
from typing import Any, NamedTuple

from reroll.core.model.content import Content
from reroll.core.model.key import Key
from reroll.core.model.pace import OnFailure, SourcePace
from reroll.core.observe.compare import compare
from reroll.core.observe.snapshot import Snapshot
from reroll.core.observe.spread import Spread
from reroll.core.policy.durations import ago
from reroll.core.propagation.member import Stage, members, on_failure


class ChangeStanding(NamedTuple):
    source: Key
    stage: Stage
    since: datetime | None
    wave: int
    spread: Spread
    on_failure: OnFailure

    def sentence(self, now: datetime) -> str:
        spread, since = self.spread, f", {ago(self.since, now)}" if self.since else ""
        name = f"{self.source.kind.lower()}/{self.source.name}"
        moving = spread.moving + (self.stage is Stage.UNDER_WAY)
        others = f"{spread.healthy} of {spread.concerned} healthy, {moving} under way"
        return (
            f"Change of {name}: {self.stage.value}{since}, wave {self.wave}; {others}; "
            f"on failure: {self.on_failure.value}"
        )

    def facts(self) -> dict[str, Any]:
        return {
            "source": self.source._asdict(),
            "stage": self.stage.value,
            "since": self.since.isoformat() if self.since else None,
            "wave": self.wave,
            "concerned": self.spread.concerned,
            "healthy": self.spread.healthy,
            "onFailure": self.on_failure.value,
        }


def standings(snapshot: Snapshot) -> list[ChangeStanding]:
    """For each of its sources that is governed."""
    if not snapshot.spreads:
        return []
    found = members(snapshot, compare(snapshot), blocked=False)
    return [
        ChangeStanding(
            spread.source,
            found[spread.source].stage,
            _since(snapshot, spread.source, found[spread.source].stage),
            snapshot.policy.pace.wave,
            spread,
            on_failure(snapshot.policy.pace, _pace(snapshot, spread.source)),
        )
        for spread in snapshot.spreads
        if spread.source in found
    ]


def _pace(snapshot: Snapshot, source: Key) -> SourcePace | None:
    content = snapshot.sources.get(source)
    return content.pace if isinstance(content, Content) else None


def _since(snapshot: Snapshot, source: Key, stage: Stage) -> datetime | None:
    """When its source was written, when it rolled, or when its verdict fell."""
    record, content = snapshot.record, snapshot.sources.get(source)
    if stage in {Stage.BEHIND, Stage.BLOCKED}:
        return content.changed.at if isinstance(content, Content) else None
    if record is None or record.trial is None or stage is Stage.SETTLED:
        return None
    return record.trial.at or record.rolled
