"""What the scripts of the dashboard do, in Chromium: pictures that move, keys, news by any way.

Left out unless asked for (`make test-browser`), because it needs Chromium.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from tests.dashboard.hosted import Running, running
from tests.dashboard.sample import facts, overview
from tests.dashboard.sample import web as a_web
from tests.dashboard.showcase import Showcase, busy, crowded
from tests.scenarios.stage import eventually
from tests.support.buffering import buffering
from tests.support.dashboard import Tab, served

pytestmark = [pytest.mark.browser, pytest.mark.timeout(120)]
GRAPH = "/graph/ConfigMap/shop/settings"
SOON = 30_000
"""Milliseconds."""


@contextmanager
def site(seen: Any = None) -> Iterator[tuple[str, list[Running]]]:
    """Its address, and what is behind it."""
    behind: list[Running] = []

    @asynccontextmanager
    async def made(port: int) -> AsyncIterator[Any]:
        async with running(seen or busy(), port=port, kind=Showcase) as one:
            behind.append(one)
            yield one.app

    with served(made) as url:
        yield url, behind


def entered(browser: Any, url: str) -> Tab:
    return Tab(browser, f"{url}/enter?token=token-1")


def box(tab: Tab) -> dict[str, float]:
    found: dict[str, float] = tab.page.evaluate(
        "(() => { const one = document.querySelector('.picture');"
        " const svg = one.querySelector('svg').getBoundingClientRect();"
        " return {left: one.scrollLeft, top: one.scrollTop, width: svg.width}; })()"
    )
    return found


def test_a_graph_is_moved_and_zoomed_by_mouse_and_by_keys(browser: Any) -> None:
    with site(crowded()) as (url, _):
        tab = entered(browser, url)
        tab.page.set_viewport_size({"width": 900, "height": 700})
        tab.open(GRAPH)
        natural = box(tab)["width"]
        tab.page.get_by_role("button", name="Larger").click()
        assert box(tab)["width"] == pytest.approx(natural * 1.25, abs=2)
        tab.page.locator(".picture").focus()
        tab.page.keyboard.press("+")
        assert box(tab)["width"] == pytest.approx(natural * 1.5625, abs=2)
        before = box(tab)
        tab.page.keyboard.press("ArrowDown")
        tab.page.wait_for_function(
            f"document.querySelector('.picture').scrollTop > {before['top']}"
        )
        tab.page.keyboard.press("0")
        assert box(tab)["width"] < natural
        tab.page.keyboard.press("1")
        assert box(tab)["width"] == pytest.approx(natural, abs=2)

        before, area = box(tab), tab.page.locator(".picture").bounding_box()
        x, y = area["x"] + area["width"] / 2, area["y"] + area["height"] / 2
        tab.page.mouse.move(x, y)
        tab.page.mouse.down()
        tab.page.mouse.move(x, y - 120, steps=4)
        tab.page.mouse.up()
        assert box(tab)["top"] == pytest.approx(before["top"] + 120, abs=2)
        assert tab.page.url.endswith(GRAPH), "a drag is no click"
        tab.page.keyboard.down("Control")
        tab.page.mouse.wheel(0, -100)
        tab.page.keyboard.up("Control")
        eventually(lambda: box(tab)["width"] > natural, "it is larger")
        assert tab.faults == []
        tab.close()


def test_a_graph_stays_as_it_is_looked_at_when_there_is_news(browser: Any) -> None:
    with site() as (url, behind):
        tab = entered(browser, url)
        tab.open(GRAPH)
        tab.page.get_by_role("button", name="Larger").click()
        wide = box(tab)["width"]
        tab.page.evaluate("document.querySelector('.picture').dataset.old = 'yes'")
        behind[0].cluster.seen = busy()._replace(digest=b"2")
        is_old = "document.querySelector('.picture').dataset.old === 'yes'"
        eventually(lambda: not tab.page.evaluate(is_old), "it is drawn anew")
        assert box(tab)["width"] == wide
        tab.close()


def test_a_day_is_looked_at_by_the_hour(browser: Any) -> None:
    with site() as (url, _):
        tab = entered(browser, url)
        tab.open("/timeline")
        tab.page.get_by_role("link", name="11:00:").click()
        tab.page.wait_for_url("**/timeline?at=2026-11-17T11")
        assert tab.page.locator("tbody tr").count() == 2
        tab.page.get_by_role("link", name="rollbacks").click()
        assert tab.page.locator("tbody tr").count() == 1
        tab.close()


def test_an_action_needs_no_mouse(browser: Any) -> None:
    with site() as (url, behind):
        tab = entered(browser, url)
        tab.open("/workload/Deployment/shop/search")
        tab.action("restart").locator("summary").focus()
        tab.page.keyboard.press("Enter")
        tab.page.keyboard.press("Tab")
        tab.page.keyboard.type("to see")
        tab.page.keyboard.press("Enter")
        tab.page.locator(".notices .notice", has_text="Restarted").wait_for()
        assert behind[0].cluster.done == [("restart", a_web("search"), "to see")]
        assert tab.faults == []
        tab.close()


@pytest.mark.parametrize(
    ("obeys", "word"), [(True, "live"), (False, "every few seconds")], ids=["obeys", "holds back"]
)
def test_a_page_stays_new_behind_a_proxy_that_holds_answers_back(
    browser: Any, obeys: bool, word: str
) -> None:
    with site(overview([])) as (url, behind), buffering(url, obeys=obeys) as proxy:
        tab = entered(browser, proxy)
        tab.page.get_by_text("No workload is opted in yet").wait_for()
        tab.page.locator("#live .word", has_text=word).wait_for(timeout=SOON)
        failing = facts(a_web("new"), reason="Failing", message="it crashes")
        behind[0].cluster.seen = overview([failing], digest=b"2")
        tab.page.locator("#needs ~ table", has_text="deployment/new").wait_for(timeout=SOON)
        assert tab.faults == []
        tab.close()


def test_a_tab_that_is_not_seen_holds_no_connection(browser: Any) -> None:
    with site() as (url, _):
        tab = entered(browser, url)
        tab.page.locator("#live .word", has_text="live").wait_for()
        hide = "Object.defineProperty(document, 'hidden', {value: %s, configurable: true});"
        tell = "document.dispatchEvent(new Event('visibilitychange'))"
        with tab.page.expect_event("requestfailed", lambda one: one.url.endswith("/events")):
            tab.page.evaluate(hide % "true" + tell)
        with tab.page.expect_request("**/events"):
            tab.page.evaluate(hide % "false" + tell)
        tab.close()


def test_the_first_page_comes_by_itself_when_the_cluster_is_listed(
    browser: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready: list[None] = []

    async def slow(self: Showcase, _: Any) -> Any:
        while not ready:
            await asyncio.sleep(0.05)
        return self.seen

    monkeypatch.setattr(Showcase, "overview", slow)
    with site() as (url, _):
        tab = entered(browser, url)
        tab.page.get_by_text("are being listed").wait_for()
        ready.append(None)
        tab.page.get_by_text("1 rolled back").first.wait_for(timeout=SOON)
        assert tab.page.get_by_text("are being listed").count() == 0
        assert tab.faults == []
        tab.close()


def test_a_page_that_takes_long_says_so_and_comes_by_itself(
    browser: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready: list[None] = []
    audit, explain = Showcase.audit, Showcase.explain

    async def slow_audit(self: Showcase) -> Any:
        while not ready:
            await asyncio.sleep(0.05)
        return await audit(self)

    async def slow_explain(self: Showcase, key: Any) -> Any:
        while self.done and not ready:
            await asyncio.sleep(0.05)
        return await explain(self, key)

    monkeypatch.setattr(Showcase, "audit", slow_audit)
    monkeypatch.setattr(Showcase, "explain", slow_explain)
    with site() as (url, _):
        tab = entered(browser, url)
        tab.page.goto(url + "/stale")
        tab.page.get_by_text("is being read").wait_for()
        assert Axe().run(tab.page).response["violations"] == []
        assert tab.page.title() == "Stale pods · Reroll"
        ready.append(None)
        tab.page.locator("#main table").wait_for(timeout=SOON)
        assert tab.page.locator("footer a", has_text="JSON").count() == 1
        ready.clear()
        tab.open("/workload/Deployment/shop/search")
        tab.action("restart").locator("summary").click()
        tab.action("restart").locator("button").click()
        tab.page.get_by_text("is being read").wait_for()
        ready.append(None)
        tab.page.locator(".notices .notice", has_text="Restarted").wait_for(timeout=SOON)
        assert tab.faults == []
        tab.close()
