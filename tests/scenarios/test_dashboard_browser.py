"""The dashboard in Chromium: every page, both themes, a desk and a phone, keys, and live.

Left out unless asked for (`make test-browser`), because it needs Chromium.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from tests.dashboard.hosted import running
from tests.dashboard.sample import SETTINGS, SampleCluster, edge, facts, overview, shop, standing
from tests.dashboard.sample import change as a_change
from tests.dashboard.sample import web as a_web
from tests.dashboard.showcase import Showcase, busy
from tests.scenarios.dashboard_story import pressed
from tests.scenarios.propagating import Start, begun, change, judged, web
from tests.scenarios.rolling import that_fails
from tests.scenarios.stage import Stage, eventually
from tests.support import build
from tests.support.dashboard import DashboardProcess, Tab, served

from reroll_dev.cluster import DevCluster

pytestmark = [pytest.mark.browser, pytest.mark.timeout(240)]
PATHS = (
    *("/", "/held", "/calendar", "/timeline", "/stale", "/search?q=s", "/doctor", "/nowhere"),
    *("/timeline?at=2026-11-17&kind=rolls", "/workload/Deployment/shop/search"),
    *("/workload/Deployment/shop/mailer", "/source/ConfigMap/shop/feature-flags"),
    *("/source/ConfigMap/shop/settings", "/source/Secret/shop/token"),
    "/graph/ConfigMap/shop/settings",
)
OPENED = "document.querySelectorAll('details').forEach((one) => { one.open = true; })"
WIDTHS = (1440, 390)
HOLD = "reroll.dev/hold"


@asynccontextmanager
async def sample(
    port: int, seen: Any = None, kind: type[SampleCluster] | None = None
) -> AsyncIterator[Any]:
    async with running(seen, port=port, kind=kind) as one:
        yield one.app


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_can_be_read_by_everybody(browser: Any, scheme: str) -> None:
    with served(lambda port: sample(port, busy(), Showcase)) as url:
        tab = Tab(browser, f"{url}/enter?token=token-1", color_scheme=scheme)
        for width in WIDTHS:
            tab.page.set_viewport_size({"width": width, "height": 900})
            for path in PATHS:
                tab.open(path)
                tab.page.evaluate(OPENED)
                wide = tab.page.evaluate("document.documentElement.scrollWidth")
                assert wide <= width, f"{path} scrolls sideways at {width} px"
                found = Axe().run(tab.page).response["violations"]
                faults = [(one["id"], [n["html"][:160] for n in one["nodes"][:3]]) for one in found]
                assert faults == [], (path, width, scheme)
        assert tab.faults == []
        tab.close()


def test_pages_can_be_read_without_script(browser: Any) -> None:
    with served(sample) as url:
        tab = Tab(browser, f"{url}/enter?token=token-1", java_script_enabled=False)
        assert tab.page.locator(".chip").count() == 3
        tab.page.get_by_role("link", name="Held", exact=True).click()
        tab.page.locator("summary", has_text="Release").click()
        assert "Nothing rolls now" in tab.page.inner_text(".action[open] p")
        tab.page.locator(".action[open]").get_by_role("button", name="Release").click()
        assert "Released: Deployment shop/held." in tab.page.inner_text(".notice")
        tab.page.get_by_role("button", name="Theme").click()
        assert tab.page.get_attribute("html", "data-theme") == "dark"
        tab.close()


def test_keys_find_and_go_through_what_is_shown(browser: Any) -> None:
    with served(sample) as url:
        tab = Tab(browser, f"{url}/enter?token=token-1")
        tab.page.keyboard.press("/")
        tab.page.keyboard.type("checkout")
        tab.page.keyboard.press("Enter")
        tab.page.wait_for_url("**/search?q=checkout")
        tab.page.keyboard.press("j")
        tab.page.keyboard.press("Enter")
        tab.page.wait_for_url("**/workload/Deployment/shop/checkout")
        tab.page.get_by_text("Hold…").click()
        assert tab.page.locator("details.action[open]").count() == 1
        tab.page.keyboard.press("Escape")
        assert tab.page.locator("details.action[open]").count() == 0
        tab.page.get_by_text("Hold…").click()
        hold(tab.page)
        assert tab.faults == []
        tab.close()


def test_five_thousand_workloads_are_drawn_at_once(browser: Any) -> None:
    keys = [a_web(f"web-{number}") for number in range(5000)]
    seen = overview(
        [facts(key) for key in keys],
        [a_change(SETTINGS, [standing(key, "next", at % 4) for at, key in enumerate(keys)])],
        [edge(SETTINGS, key) for key in keys],
    )
    with served(lambda port: sample(port, seen)) as url:
        tab = Tab(browser, f"{url}/enter?token=token-1")
        for path in ("/", "/search", "/graph/ConfigMap/shop/settings"):
            tab.open(path)
            assert tab.page.evaluate("document.querySelectorAll('*').length") < 4000
        assert tab.page.locator(".picture rect").count() == 200
        assert "200 objects are drawn; 4801 more" in tab.page.inner_text(".notice.cut")
        tab.close()


def test_another_page_cannot_frame_it_or_post_to_it(browser: Any) -> None:
    with served(sample) as url, served(lambda port: evil(url)) as other:
        tab = Tab(browser, f"{url}/enter?token=token-1")
        tab.page.goto(f"{other}/frame")
        tab.page.wait_for_timeout(300)
        framed = [frame.url for frame in tab.page.frames[1:]]
        assert all(not one.startswith(url) for one in framed), framed
        tab.page.goto(f"{other}/post")
        tab.page.get_by_role("button").click()
        tab.page.wait_for_load_state()
        assert "refused" in tab.page.inner_text("body")
        tab.close()


def hold(page: Any) -> None:
    """Fill in the form that is open."""
    form = page.locator('form[action="/do/hold"]')
    form.get_by_label("Reason").fill("incident 42")
    form.get_by_role("button").click()
    page.locator(".notice.good", has_text="Held").wait_for()


@asynccontextmanager
async def evil(url: str) -> AsyncIterator[Any]:
    """Another site on this machine, which knows where the dashboard is."""
    from starlette.applications import Starlette
    from starlette.responses import HTMLResponse
    from starlette.routing import Route

    form = f'<form method=post action="{url}/do/hold"><button>x</button></form>'
    pages = {"/frame": f'<iframe src="{url}/"></iframe>', "/post": form}

    def route(path: str, text: str) -> Route:
        async def answer(_: Any) -> HTMLResponse:
            return HTMLResponse(text)

        return Route(path, answer)

    yield Starlette(routes=[route(path, text) for path, text in pages.items()])


def test_a_change_is_followed_live_and_a_workload_is_held_and_released(
    stage: Stage, cluster: DevCluster, controller: Start, browser: Any
) -> None:
    well, sick = web("well", max_parallel="1"), web("sick", max_parallel="1")
    stage.make(build.configmap(), well)
    sick["spec"]["progressDeadlineSeconds"] = 2
    that_fails(stage, sick)
    begun(stage, controller, [well, sick])
    with DashboardProcess(cluster.kubeconfig(), stage.namespace) as one:
        tab = Tab(browser, one.url)
        assert "token" not in tab.page.url
        tab.page.get_by_text("Nothing is rolling.").wait_for()
        change(stage, "bad")
        tab.page.locator(".chip .name", has_text="web-sick").wait_for(timeout=60_000)
        judged(stage, sick, "failed")
        tab.page.locator(".chip.bad .name", has_text="web-sick").wait_for(timeout=60_000)

        tab.page.locator(".chip .name", has_text="web-well").click()
        tab.page.get_by_text("Hold…").click()
        hold(tab.page)
        eventually(lambda: HOLD in stage.get(well)["metadata"]["annotations"], "it is held")
        tab.page.get_by_role("link", name="Held", exact=True).click()
        row = tab.page.locator("tr", has_text="web-well")
        row.locator("summary").click(timeout=60_000)
        row.get_by_role("button", name="Release").click()
        tab.page.locator(".notice.good", has_text="Released").wait_for()
        eventually(lambda: HOLD not in stage.get(well)["metadata"]["annotations"], "released")
        assert tab.faults == []
        tab.close()


def test_what_a_person_decides_is_done_by_clicks(
    stage: Stage, cluster: DevCluster, controller: Start, browser: Any
) -> None:
    with DashboardProcess(cluster.kubeconfig(), stage.namespace) as one:
        tab = Tab(browser, one.url)

        def press(page: str, action: str, **fields: str) -> str:
            def is_offered() -> bool:
                tab.open(page)
                return bool(tab.action(action).count())

            eventually(is_offered, f"{action} on {page}")
            return tab.press(action, **fields)

        pressed(stage, controller, press)
        assert tab.faults == []
        tab.close()


def test_the_sample_has_every_state_that_is_looked_at() -> None:
    stages = {one["stage"] for one in shop().document["changes"][0]["workloads"]}
    assert {"failed", "held"} <= stages
