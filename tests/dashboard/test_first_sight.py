"""The first page of a large cluster: what workloads tell by themselves, until all else is read."""

import asyncio
from typing import Any

import msgspec
import pytest
from tests.dashboard.hosted import site
from tests.dashboard.sample import NOW, SampleCluster, StillClock, facts, overview, web
from tests.support import build

from reroll.core.model.metadata import Manifest
from reroll.core.model.record import Record, write
from reroll.core.tables.kinds import KINDS, Kind
from reroll.dashboard.board import Board, Saw
from reroll.dashboard.first_sight import first_sight
from reroll.dashboard.overview import Overview
from reroll.dashboard.pages.now import now_page
from reroll.dashboard.paging import Query

[DEPLOYMENT] = [row for row in KINDS if row.name == "Deployment"]
BEING_READ = "is being read"


def listed(name: str, *, recorded: bool = True, **status: Any) -> tuple[Kind, Manifest]:
    record = {"reroll.dev/state": write(Record(1, NOW, "Adopted", {}))} if recorded else {}
    one = build.deployment(name, replicas=2, annotations=record)
    one["metadata"] |= {"namespace": "shop", "uid": name, "generation": 1}
    counts = {"replicas": 2, "updatedReplicas": 2, "readyReplicas": 2, "availableReplicas": 2}
    one["status"] = {"observedGeneration": 1, **counts, **status}
    return DEPLOYMENT, msgspec.json.decode(msgspec.json.encode(one), type=Manifest)


LATE = {
    "type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": "x",
}  # fmt: skip
SEEN = first_sight(
    [
        listed("well"),
        listed("rolls", updatedReplicas=1),
        listed("sick", updatedReplicas=1, conditions=[LATE]),
        listed("silent", recorded=False),
    ],
    NOW,
)


def test_rollouts_are_seen_and_nothing_is_said_of_what_is_not_read() -> None:
    page = now_page(SEEN, Query({}))
    assert page.workloads == 3, "who has no record is not known to count"
    assert page.counts == {"rolling": 1, "failing": 1}
    assert [one.workload.name for one in page.rolls] == ["rolls"]
    assert [(one.workload.name, one.level) for one in page.needs] == [("sick", "failing")]
    assert now_page(SEEN, Query({"namespace": "other"})).workloads == 0


async def test_a_first_sight_is_news_and_gone_when_all_is_read() -> None:
    versions: list[int] = []
    whole = asyncio.Event()

    async def make(saw: Saw) -> Overview:
        saw(SEEN)
        await whole.wait()
        return overview([facts(web("a"))])

    board = Board(StillClock(), make, versions.append)
    once = asyncio.create_task(board._once())
    await board.first(5, whole=False)
    assert (board.current, board.first_sight, versions) == (None, SEEN, [1])
    whole.set()
    await board.first(5, whole=True)
    await once
    assert (board.first_sight, versions) == (None, [1, 2])
    await board._once()
    assert (board.first_sight, versions) == (None, [1, 2]), "what was read is better"


async def test_people_see_it_and_programs_wait_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = asyncio.Event()

    async def slow(self: SampleCluster, saw: Saw) -> Overview:
        saw(SEEN)
        await whole.wait()
        return self.seen

    monkeypatch.setattr(SampleCluster, "overview", slow)
    monkeypatch.setattr("reroll.dashboard.app.AT_ONCE", 0.2)
    async with site() as here:
        first = await here.get("/")
        assert first.status_code == 200
        assert BEING_READ in first.text
        assert "sick" in first.text
        assert "up to date" not in first.text
        assert '<noscript><meta http-equiv="refresh"' in first.text, "without script too"
        empty = await here.get("/?namespace=none")
        assert "not known yet" in empty.text
        assert "Nothing needs you" not in empty.text
        assert (await here.get("/held")).status_code == 503, "a page that needs all of it"
        document = asyncio.create_task(here.get("/api/v1/now"))
        await asyncio.sleep(0)
        whole.set()
        assert (await document).json()["workloads"] != 3
        assert BEING_READ not in (await here.get("/")).text
