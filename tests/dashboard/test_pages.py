"""What each page says of a cluster; pure, and bounded however large the cluster is."""

import pytest
from tests.dashboard.hosted import site
from tests.dashboard.sample import (
    NOW,
    SETTINGS,
    TOKEN,
    WINDOWS,
    change,
    edge,
    facts,
    overview,
    shop,
    standing,
    web,
)

from reroll.answers.graph.graph import Graph
from reroll.answers.graph.neighbourhood import neighbourhood
from reroll.core.tables.reasons import Reason
from reroll.dashboard.pages.calendar import calendar_page
from reroll.dashboard.pages.graph import MOST, graph_page, picture
from reroll.dashboard.pages.held import rows as held_rows
from reroll.dashboard.pages.now import CHIPS, FEW, now_page
from reroll.dashboard.pages.search import search_page
from reroll.dashboard.pages.source import users_of
from reroll.dashboard.pages.stale import stale_rows
from reroll.dashboard.paging import Query, paged
from reroll.dashboard.rendering import clean
from reroll.dashboard.states import drawn

ALL = Query({})


def test_now_has_the_waves_of_a_change_and_what_needs_somebody() -> None:
    page = now_page(shop(), ALL)
    [one] = page.changes
    assert (one.source.name, one.stopped) == ("settings", True)
    assert [(wave.number, [chip.stage for chip in wave.workloads]) for wave in one.waves] == [
        (0, ["failed"]),
        (1, ["held"]),
    ]
    assert one.waves[0].workloads[0].progress == "pod x CrashLoopBackOff"
    assert one.waves[1].workloads[0].until == "2026-11-17T14:05:00Z"
    assert [(need.level, need.workload.name) for need in page.needs] == [("failing", "checkout")]
    assert [roll.workload.name for roll in page.rolls] == ["basket"]
    assert page.counts == {
        "up to date": 1,
        "rolling": 1,
        "held": 2,
        "failing": 1,
        "rolled back": 0,
        "behind": 0,
    }


@pytest.mark.parametrize(
    ("said", "level"),
    [
        ({"reason": "RollbackFailed"}, "failing"),
        ({"reason": "RolledBack"}, "rolled back"),
        ({"rollout": {"state": "failing", "message": "x"}}, "failing"),
        ({"obstacle": {"reason": "SourceMissing", "message": "x", "since": None}}, "blocked"),
        ({"obstacle": {"reason": "Forbidden", "message": "x", "since": None}}, "blocked"),
        ({"reason": "PodsOlder"}, "notice"),
        ({"obstacle": {"reason": "Held", "message": "x", "since": None}}, None),
        ({"obstacle": {"reason": "Crowded", "message": "x", "since": None}}, None),
        ({}, None),
    ],
)
def test_somebody_is_needed_for_what_does_not_end_by_itself(said, level) -> None:
    found = now_page(overview([facts(web("a"), **said)]), ALL).needs
    assert [need.level for need in found] == ([level] if level else [])


def test_an_empty_cluster_has_an_empty_page() -> None:
    page = now_page(overview([]), ALL)
    assert (page.changes, page.rolls, page.needs, page.workloads) == ([], [], [], 0)


def test_a_namespace_can_be_looked_at_alone() -> None:
    both = overview([facts(web("a"), reason="Failing"), facts(web("b", "other"), reason="Failing")])
    page = now_page(both, Query({"namespace": "other"}))
    assert [need.workload.name for need in page.needs] == ["b"]


def test_five_thousand_workloads_are_counted_and_a_few_are_drawn() -> None:
    keys = [web(f"web-{number}") for number in range(5000)]
    stages = [
        standing(key, "next" if at % 2 else "under way", at % 3) for at, key in enumerate(keys)
    ]
    stages[4999] = standing(keys[4999], "failed", 1)
    obstacle = {"reason": "SourceMissing", "message": "x", "since": None}
    seen = overview(
        [
            facts(key, reason="Failing" if at < 400 else "UpToDate", obstacle=obstacle)
            for at, key in enumerate(keys)
        ],
        [change(SETTINGS, stages)],
        [edge(SETTINGS, key) for key in keys],
    )
    page = now_page(seen, ALL)
    assert sum(page.changes[0].counts.values()) == 5000
    assert {len(wave.workloads) for wave in page.changes[0].waves} == {CHIPS}
    assert page.changes[0].waves[1].workloads[0].stage == "failed", "what needs a look comes first"
    assert (len(page.needs), page.paging.total) == (50, 400)
    made = graph_page(seen, SETTINGS)
    assert made is not None
    assert len(made[0].nodes) == MOST == 200
    assert made[0].left_out == 5001 - MOST
    assert picture(made[1], SETTINGS).count("<rect") == MOST


def test_of_many_that_are_well_or_wait_a_few_are_drawn() -> None:
    keys = [web(f"web-{number:03}") for number in range(100)]
    stages = [standing(key, "healthy") for key in keys]
    stages[50] = standing(keys[50], "under way")
    [wave] = now_page(overview([], [change(SETTINGS, stages)]), ALL).changes[0].waves
    assert (wave.total, len(wave.workloads)) == (100, 1 + FEW)
    assert wave.workloads[0].stage == "under way"
    few = [standing(key, "next") for key in keys[:CHIPS]]
    [wave] = now_page(overview([], [change(SETTINGS, few)]), ALL).changes[0].waves
    assert len(wave.workloads) == CHIPS, "all, where there is room"


async def test_pages_of_five_thousand_workloads_stay_small() -> None:
    keys = [web(f"web-{number}", f"team-{number % 100}") for number in range(5000)]
    obstacle = {"reason": "Held", "message": "x", "since": None}
    seen = overview(
        [facts(key, obstacle=obstacle) for key in keys],
        [change(SETTINGS, [standing(key, "next") for key in keys])],
        [edge(SETTINGS, key) for key in keys],
    )
    async with site(seen) as here:
        for path in ("/", "/held", "/search?q=web", "/source/ConfigMap/shop/settings", "/stale"):
            answer = await here.get(path)
            assert answer.status_code == 200
            assert len(answer.content) < 200_000, path


def test_who_is_next_to_an_object_comes_before_who_is_further_away() -> None:
    near = [web(f"z-{number}") for number in range(5)]
    far = [SETTINGS._replace(name=f"a-{number}") for number in range(20)]
    edges = [edge(SETTINGS, key) for key in near] + [edge(source, near[0]) for source in far]
    found = neighbourhood(Graph(tuple(edges), tuple(near), frozenset()), SETTINGS, 10)
    assert set(near) <= set(found.graph.workloads)
    assert len(found.graph.sources) + len(found.graph.workloads) == 10
    assert found.left_out == 16


def test_a_picture_has_links_and_escapes_names() -> None:
    odd = web('a"><script>')
    seen = overview([facts(odd)], edges=[edge(SETTINGS, odd)])
    made = graph_page(seen, odd)
    assert made is not None
    text = picture(made[1], odd)
    assert text.count('class="workload root"') == 1
    assert 'href="/source/ConfigMap/shop/settings"' in text
    assert "<script>" not in text
    assert "<style>" not in text


def test_a_workload_that_uses_nothing_has_a_graph_of_itself() -> None:
    made = graph_page(overview([facts(web("a"))]), web("a"))
    assert made is not None
    assert [one.node.name for one in made[0].nodes] == ["a"]
    assert graph_page(overview([]), web("a")) is None


def test_held_has_what_stands_in_the_way_and_until_when() -> None:
    found = {one.workload.name: one for one in held_rows(shop())}
    assert set(found) == {"held", "search"}
    assert (found["held"].deliberate, found["search"].deliberate) == (True, False)
    assert found["search"].until == "2026-11-17T14:05:00Z"


async def test_a_hold_says_by_whom_and_since_when_and_can_be_released() -> None:
    async with site() as here:
        rows = {
            one["workload"]["name"]: one for one in (await here.get("/api/v1/held")).json()["rows"]
        }
        assert rows["held"]["by"] == "kubectl-annotate"
        assert rows["held"]["since"] == "2026-11-17T12:00:00Z"
        assert rows["held"]["until"] == "2026-11-17T16:00:00Z"
        release = rows["held"]["release"]
        assert (release["action"], release["allowed"], release["why"]) == ("release", True, "")
        assert rows["search"]["release"] is None
        await here.post("/do/release", web("held")._asdict())
        assert here.cluster.done == [("hold", web("held"), None)]


def test_users_of_a_source_say_who_is_behind() -> None:
    found = {one.workload.name: one for one in users_of(shop(), SETTINGS)}
    assert len(found) == 5
    assert [name for name, one in found.items() if one.behind] == ["search"]
    assert found["checkout"].stage == "failed"
    assert [one.workload.name for one in users_of(shop(), TOKEN)] == ["checkout"]


def test_search_finds_by_every_word_and_puts_beginnings_first() -> None:
    seen = overview(
        [facts(web("db")), facts(web("my-db")), facts(web("web"))],
        edges=[edge(SETTINGS._replace(name="db-config"), web("web"))],
    )
    page = search_page(seen, Query({"q": "db"}))
    assert [hit.node.name for hit in page.hits] == ["db", "db-config", "my-db"]
    assert [hit.node.name for hit in search_page(seen, Query({"q": "configmap db"})).hits] == [
        "db-config"
    ]
    assert search_page(seen, Query({"q": "nothing"})).hits == []
    assert search_page(seen, ALL).paging.total == 4


def test_a_calendar_has_the_windows_and_a_month_of_them() -> None:
    seen = overview([], windows=WINDOWS)
    page = calendar_page(seen, ALL, NOW)
    assert [(one["name"], one["active"], one["denies"]) for one in page.windows] == [
        ("office", True, False),
        ("holidays", False, True),
    ]
    assert (page.month, page.before, page.after, page.zone) == (
        "2026-11",
        "2026-10",
        "2026-12",
        "UTC",
    )
    assert len(page.days) == 30
    tuesday = page.days[16]
    assert (tuesday.date, tuesday.weekday) == ("2026-11-17", 1)
    assert tuesday.spans == [{"times": "09:00-17:00", "what": "office"}]
    december = calendar_page(seen, Query({"month": "2026-12", "zone": "Europe/Oslo"}), NOW)
    assert december.zone == "Europe/Oslo"
    assert {"deny holidays"} <= {span["what"] for span in december.days[24].spans}


@pytest.mark.parametrize(
    "words", [{"month": "x"}, {"month": "0001-01"}, {"month": "9999-12"}, {"zone": "x"}]
)
def test_a_month_or_zone_that_there_is_not_is_this_one(words: dict[str, str]) -> None:
    page = calendar_page(overview([], windows=WINDOWS), Query(words), NOW)
    assert (page.month, page.zone, len(page.days)) == ("2026-11", "UTC", 30)


async def test_the_calendar_is_drawn() -> None:
    place = {**web("a")._asdict(), "open": False, "frozenBy": None, "since": None, "until": None,
             "opens": "2026-11-18T09:00:00Z", "windows": ["office"], "problem": ""}  # fmt: skip
    async with site(overview([facts(web("a"))], windows=WINDOWS, places=(place,))) as here:
        text = (await here.get("/calendar")).text
        assert "09:00-17:00 office" in text
        assert "2026-11-18 09:00 UTC" in text
        assert "no freeze" in text
    async with site(overview([])) as here:
        assert "has no windows" in (await here.get("/calendar")).text


def test_stale_pods_are_taken_together_by_workload_and_source() -> None:
    def pod(name: str, verdict: str) -> dict[str, object]:
        told = {"changed": "2026-11-17T13:00:00Z", "changedBy": "kubectl", "why": ""}
        what = {"source": SETTINGS._asdict(), "how": "env LEVEL", "verdict": verdict}
        use = {**what, **told, "certain": True}
        return {"name": name, "namespace": "shop", "workload": web("a")._asdict(), "uses": [use]}

    found = stale_rows([pod("a-1", "stale"), pod("a-2", "stale"), pod("a-3", "current")])
    assert [(one.verdict, one.pods, one.how) for one in found] == [
        ("stale", ["a-1", "a-2"], ["env"])
    ]


@pytest.mark.parametrize(
    ("text", "page"), [("", 1), ("2", 2), ("99", 3), ("-1", 1), ("x", 1), ("9" * 30, 1), ("²", 1)]
)
def test_a_page_that_is_not_there_is_one_that_is(text: str, page: int) -> None:
    shown, paging = paged(range(120), Query({"page": text}))
    assert (paging.page, paging.pages, paging.total) == (page, 3, 120)
    assert len(shown) <= 50


def test_every_reason_has_a_sign_and_a_tone() -> None:
    for reason in Reason:
        one = drawn(reason.word)
        assert one.sign
        assert one.tone in {"good", "busy", "wait", "held", "bad", "back", "quiet"}
    assert drawn("failed").sign != drawn("healthy").sign != drawn("held").sign


def test_a_sentence_begins_with_a_capital_and_a_name_stays_as_it_is() -> None:
    assert clean(": a hold keeps it") == "A hold keeps it"
    assert clean("web-7d9f-x2x: container app") == "web-7d9f-x2x: container app"
    assert clean("") == ""
