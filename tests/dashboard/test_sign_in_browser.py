"""Signing in and out in Chromium. Left out unless asked for (`make test-browser`)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from tests.dashboard.doors import GOOD, HOSTS, Server
from tests.dashboard.hosted import running
from tests.support.dashboard import Tab, served

from reroll.dashboard.doors.token import TokenDoor
from reroll.dashboard.rendering import sign_in_page
from reroll.dashboard.sessions import Sessions

pytestmark = [pytest.mark.browser, pytest.mark.timeout(120)]


@asynccontextmanager
async def with_tokens(port: int) -> AsyncIterator[Any]:
    def door(sessions: Sessions) -> TokenDoor:
        return TokenDoor(sessions, Server().introduce, sign_in_page)

    async with running(port=port, door=door, hosts=HOSTS) as one:
        yield one.app


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_somebody_signs_in_sees_who_they_are_and_signs_out(browser: Any, scheme: str) -> None:
    with served(with_tokens) as url:
        tab = Tab(browser, f"{url}/held", color_scheme=scheme)
        page = tab.page
        for width in (1440, 390):
            page.set_viewport_size({"width": width, "height": 900})
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert Axe().run(page).response["violations"] == []
        page.get_by_label("Bearer token").fill("wrong")
        page.get_by_role("button", name="Sign in").click()
        assert "does not accept this token" in page.get_by_role("alert").inner_text()
        page.get_by_label("Bearer token").fill(GOOD)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(f"{url}/held")
        assert page.locator(".who").inner_text() == "alice"
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert Axe().run(page).response["violations"] == []
        assert page.evaluate("document.cookie") == "", "no script sees a cookie"
        page.get_by_role("button", name="Sign out").click()
        page.wait_for_url(f"{url}/sign-in")
        tab.open("/held")
        assert page.get_by_label("Bearer token").is_visible()
        assert [one for one in tab.faults if "401" not in one] == []
        tab.close()
