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
from reroll.core.tables.kinds import KINDS
from reroll.dashboard.board import Board, Saw
from reroll.dashboard.first_sight import Sights
from reroll.dashboard.overview import Overview
from reroll.dashboard.pages.now import now_page
from reroll.dashboard.paging import Query

[DEPLOYMENT] = [row for row in KINDS if row.name == "Deployment"]
BEING_READ = "is being read"


def listed(name: str, *, recorded: bool = True, **status: Any) -> Manifest:
    record = {"reroll.dev/state": write(Record(1, NOW, "Adopted", {}))} if recorded else {}
    one = build.deployment(name, replicas=2, annotations=record)
    one["metadata"] |= {"namespace": "shop", "uid": name, "generation": 1}
    counts = {"replicas": 2, "updatedReplicas": 2, "readyReplicas": 2, "availableReplicas": 2}
    one["status"] = {"observedGeneration": 1, **counts, **status}
    return msgspec.json.decode(msgspec.json.encode(one), type=Manifest)


LATE = {
    "type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": "x",
}  # fmt: skip
SIGHTS = Sights()
for page in (
    [listed("well"), listed("rolls", updatedReplicas=1)],
    [listed("sick", updatedReplicas=1, conditions=[LATE]), listed("silent", recorded=False)],
):
    SIGHTS.add(DEPLOYMENT, page)
SEEN = SIGHTS.overview(NOW)


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
        if saw:
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
        assert saw
        saw(SEEN)
        await whole.wait()
        return self.seen

    monkeypatch.setattr(SampleCluster, "overview", slow)
    monkeypatch.setattr("reroll.dashboard.app.AT_ONCE", 0.2)
    async with site() as here:
        first = await here.open("/")
        assert first.status_code == 200
        assert BEING_READ in first.text
        assert "sick" in first.text
        assert "up to date" not in first.text
        assert '<noscript><meta http-equiv="refresh"' in first.text, "without script too"
        empty = await here.open("/?namespace=none")
        assert "not known yet" in empty.text
        assert "Nothing needs you" not in empty.text
        held = await here.open("/held")
        assert held.status_code == 202, "a page that needs all of it"
        assert "data-moment" in held.text
        document = asyncio.create_task(here.get("/api/v1/now"))
        await asyncio.sleep(0)
        whole.set()
        assert (await document).json()["workloads"] != 3
        assert BEING_READ not in (await here.get("/")).text


async def test_pages_of_workloads_are_news_once_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reroll.dashboard.board.SIGHTS", 0.05)
    versions: list[int] = []
    told, whole = asyncio.Event(), asyncio.Event()

    def news(version: int) -> None:
        versions.append(version)
        if version == 2:
            told.set()

    async def make(saw: Saw) -> Overview:
        assert saw
        for _ in range(10):
            saw(SIGHTS.overview(NOW))
        assert versions == [1], "the first at once"
        await told.wait()
        whole.set()
        return overview([facts(web("a"))])

    board = Board(StillClock(), make, news)
    await asyncio.wait_for(board._once(), 5)
    assert whole.is_set()
    assert versions == [1, 2, 3], "the last of the others, then all that follows"


async def test_the_first_page_comes_before_the_cluster_has_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    never = asyncio.Event()

    async def silent(self: SampleCluster, _: Saw) -> Overview:
        await never.wait()
        return self.seen

    monkeypatch.setattr(SampleCluster, "overview", silent)
    monkeypatch.setattr("reroll.dashboard.app.AT_ONCE", 0.05)
    monkeypatch.setattr("reroll.dashboard.app.PATIENCE", 0.05)
    async with site() as here:
        first = await here.open("/")
        assert first.status_code == 200
        assert "are being listed" in first.text
        assert "Nothing" not in first.text, "what is not known is not said"
        other = await here.get("/timeline")
        assert (other.status_code, other.headers["Retry-After"]) == (202, "2")
        document = await here.get("/api/v1/timeline")
        assert (document.status_code, "listed" in document.json()["problem"]) == (503, True)


async def test_a_page_that_takes_long_is_told_of_at_once_and_comes_to_who_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read = asyncio.Event()
    audit = SampleCluster.audit

    async def slow(self: SampleCluster) -> Any:
        await read.wait()
        return await audit(self)

    monkeypatch.setattr(SampleCluster, "audit", slow)
    async with site() as here:
        await here.get("/api/v1/now")
        monkeypatch.setattr("reroll.dashboard.app.AT_ONCE", 0.05)
        first = await here.open("/stale")
        assert first.status_code == 202
        assert "is being read" in first.text
        patient = asyncio.create_task(here.get("/stale"))
        await asyncio.sleep(0)
        read.set()
        made = await patient
        assert made.status_code == 200
        assert "data-moment" not in made.text


async def test_whoever_waits_for_a_page_is_answered_when_the_dashboard_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = asyncio.Event()

    async def endless(_: SampleCluster) -> Any:
        asked.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(SampleCluster, "audit", endless)
    async with site() as here:
        waiting = [asyncio.create_task(here.get(path)) for path in ("/stale", "/api/v1/stale")]
        await asked.wait()
        here.dashboard.end()
        async with asyncio.timeout(5):
            answers = [await one for one in waiting]
        assert [one.status_code for one in answers] == [503, 503]
        assert all("was ended" in one.text for one in answers)
