"""One listing for all browsers, no more often than it may, and none when nobody reads."""

import asyncio

import pytest
from tests.dashboard.sample import StillClock, facts, overview, web

from reroll.dashboard.board import IDLE, SHARE, Board
from reroll.dashboard.cache import Cache
from reroll.dashboard.paging import Query
from reroll.dashboard.shelf import MOST as SHELVED
from reroll.dashboard.shelf import Shelf
from reroll.dashboard.site import PAGES, Made, Wanted
from reroll.dashboard.streams import MOST, Streams
from reroll.kube.errors import Unavailable


async def test_an_answer_is_asked_for_once_whoever_asks_and_again_when_it_is_old() -> None:
    clock, asked = StillClock(), []
    cache = Cache(clock)

    async def ask() -> int:
        asked.append(None)
        await asyncio.sleep(0)
        return len(asked)

    assert await asyncio.gather(*(cache.get("a", 5, ask) for _ in range(50))) == [1] * 50
    clock.seconds = 4
    assert await cache.get("a", 5, ask) == 1
    clock.seconds = 6
    assert await cache.get("a", 5, ask) == 2
    cache.forget()
    assert await cache.get("a", 5, ask) == 3


async def test_an_answer_that_took_long_is_kept_for_longer_unless_it_must_be_new() -> None:
    clock, asked = StillClock(), []
    cache = Cache(clock)

    async def ask() -> int:
        asked.append(None)
        clock.seconds += 5
        return len(asked)

    assert await cache.get("a", 2, ask) == 1
    clock.seconds += SHARE * 5 - 1
    assert await cache.get("a", 2, ask) == 1
    assert await cache.get("a", 0, ask) == 2
    clock.seconds += SHARE * 5
    assert await cache.get("a", 2, ask) == 3


async def test_an_error_is_told_to_all_who_wait_and_not_kept() -> None:
    cache, fails = Cache(StillClock()), [True]

    async def ask() -> str:
        await asyncio.sleep(0)
        if fails:
            fails.clear()
            raise Unavailable("it does not answer")
        return "well"

    both = await asyncio.gather(*(cache.get("a", 5, ask) for _ in range(2)), return_exceptions=True)
    assert [type(one) for one in both] == [Unavailable, Unavailable]
    assert await cache.get("a", 5, ask) == "well"


async def test_only_so_many_answers_are_kept() -> None:
    cache, asked = Cache(StillClock(), most=2), []

    async def ask() -> None:
        asked.append(None)

    for name in "abca":
        await cache.get(name, 5, ask)
    assert len(asked) == 4


async def test_whoever_gives_up_does_not_end_what_others_wait_for() -> None:
    cache, ready = Cache(StillClock()), asyncio.Event()

    async def ask() -> str:
        await ready.wait()
        return "answer"

    first = asyncio.create_task(cache.get("a", 5, ask))
    second = asyncio.create_task(cache.get("a", 5, ask))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    ready.set()
    assert await second == "answer"


class Listings:
    """Overviews to come, and how many were made."""

    def __init__(self) -> None:
        self.made = 0
        self.error: Exception | None = None
        self.digest = b"1"

    async def make(self, _):
        self.made += 1
        if self.error:
            raise self.error
        return overview([facts(web("a"))], digest=self.digest)


async def test_news_are_told_when_there_are_any_and_an_outage_is_one() -> None:
    listings, versions = Listings(), []
    board = Board(StillClock(), listings.make, versions.append)
    for digest, error in (
        (b"1", None),
        (b"1", None),
        (b"2", None),
        (b"2", Unavailable("gone")),
        (b"2", None),
    ):
        listings.digest, listings.error = digest, error
        await board._once()
    assert versions == [1, 2, 3, 4]
    assert board.problem == ""


async def test_the_last_overview_stays_while_the_cluster_does_not_answer() -> None:
    listings = Listings()
    board = Board(StillClock(), listings.make)
    await board._once()
    listings.error = Unavailable("the API server does not answer")
    await board._once()
    assert board.current is not None
    assert "does not answer" in board.problem


async def test_a_fault_in_the_program_is_not_hidden() -> None:
    listings = Listings()
    listings.error = RuntimeError("a bug")
    with pytest.raises(RuntimeError):
        await Board(StillClock(), listings.make)._once()


async def test_nothing_is_listed_while_nobody_reads_and_at_once_when_somebody_does() -> None:
    clock, listings = StillClock(), Listings()
    board = Board(clock, listings.make)
    clock.seconds = IDLE + 1
    resting = asyncio.create_task(board._rest(0))
    for _ in range(10):
        await asyncio.sleep(0)
    assert not resting.done()
    board.read()
    await asyncio.wait_for(resting, 5)


async def test_a_write_is_seen_at_once() -> None:
    board = Board(StillClock(), Listings().make)
    resting = asyncio.create_task(board._rest(3600))
    await asyncio.sleep(0)
    board.hurry()
    await asyncio.wait_for(resting, 5)


async def test_the_same_page_of_the_same_overview_is_made_once() -> None:
    made = []

    async def make(wanted: Wanted) -> Made:
        made.append(wanted.key)
        return Made(None)

    page, shelf = PAGES[0]._replace(make=make), Shelf()
    first, second = overview([]), overview([])
    for seen, words in ((first, {}), (first, {}), (first, {"page": "2"}), (second, {})):
        await shelf.made(page, Wanted(None, seen, Query(words), web("a")))  # type: ignore[arg-type]
    assert len(made) == 3
    for number in range(SHELVED + 1):
        await shelf.made(page, Wanted(None, second, Query({"q": str(number)}), web("a")))  # type: ignore[arg-type]
    assert len(shelf._kept) == SHELVED
    await shelf.made(page, Wanted(None, first, Query({}), web("a")))  # type: ignore[arg-type]
    assert len(shelf._kept) == 1, "nothing is kept that was made of another"


async def test_a_stream_fills_small_buffers_and_says_that_it_is_there(monkeypatch) -> None:
    monkeypatch.setattr("reroll.dashboard.streams.EVERY", 0)
    read: list[None] = []
    streams = Streams(lambda: 7, lambda: read.append(None))
    tab = streams.stream()
    assert len(await anext(tab)) > 2048
    assert [await anext(tab) for _ in range(3)] == ["event: version\ndata: 7\n\n"] * 3
    assert streams.ask() == 7
    assert len(read) == 3, "who asks reads too"
    await tab.aclose()


async def test_fifty_tabs_are_told_and_too_many_are_refused() -> None:
    version, read = [1], []
    streams = Streams(lambda: version[0], lambda: read.append(None))
    tabs = [streams.stream() for _ in range(50)]
    for tab in tabs:
        assert "retry: 3000" in await anext(tab)
        assert "data: 1" in await anext(tab)
    waiting = [asyncio.ensure_future(anext(tab)) for tab in tabs]
    await asyncio.sleep(0)
    version[0] = 2
    streams.wake()
    assert all("data: 2" in said for said in await asyncio.gather(*waiting))
    assert len(read) == 50
    assert streams.has_room
    more = [streams.stream() for _ in range(MOST - 50)]
    for tab in more:
        await anext(tab)
    assert not streams.has_room
    for tab in (*tabs, *more):
        await tab.aclose()
    assert streams.has_room
