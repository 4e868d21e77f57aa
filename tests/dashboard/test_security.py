"""What an attacker tries: another site, another name, another session, a page in a frame."""

from html.parser import HTMLParser
from typing import Any

import pytest
from tests.dashboard.hosted import Site, site
from tests.dashboard.sample import COOKIE, URL

from reroll.dashboard.doors.door import is_own_path
from reroll.dashboard.security import HEADERS, LONGEST_BODY
from reroll.dashboard.sessions import MOST, Sessions

WORKLOAD = {"kind": "Deployment", "namespace": "shop", "name": "stock"}
PAGES = (
    *("/", "/held", "/calendar", "/timeline", "/stale", "/search?q=s", "/doctor"),
    *("/workload/Deployment/shop/checkout", "/source/ConfigMap/shop/settings"),
    *("/source/Secret/shop/token", "/graph/ConfigMap/shop/settings", "/nowhere"),
)


async def test_nothing_of_the_cluster_is_told_without_a_session() -> None:
    async with site(entered=False) as here:
        for path in (*PAGES, "/api/v1/now", "/events", "/do/hold"):
            answer = await here.get(path)
            assert answer.status_code == 401, path
            assert "shop" not in answer.text


async def test_the_token_of_the_first_address_is_good_once_and_leaves_the_address() -> None:
    async with site(entered=False) as here:
        token = here.sessions.token
        first = await here.get(f"/enter?token={token}&next=/held")
        assert (first.status_code, first.headers["location"]) == (303, "/held")
        cookie = first.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        here.client.cookies.clear()
        again = await here.get(f"/enter?token={token}")
        assert again.status_code == 401
        assert "set-cookie" not in again.headers
        assert (await here.get("/enter?token=")).status_code == 401


@pytest.mark.parametrize("guess", ["", "token", "x" * 43, "token-1x", "é"])
async def test_a_token_that_was_guessed_opens_nothing(guess: str) -> None:
    async with site(entered=False) as here:
        assert (await here.client.get("/enter", params={"token": guess})).status_code == 401
        assert here.sessions.token, "a wrong guess does not use it up"


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1", "127.0.0.1:80", "evil.example:8300", "127.0.0.1.nip.io:8300", ""],
)
async def test_a_name_that_leads_here_by_somebody_elses_dns_is_refused(host: str) -> None:
    async with site() as here:
        for path in ("/", "/static/style.css", "/enter?token=x"):
            assert (await here.get(path, host=host)).status_code == 421


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://127.0.0.1:8300", "http://127.0.0.1:1"]
)
async def test_another_origin_is_refused_whatever_it_asks_for(origin: str) -> None:
    async with site() as here:
        assert (await here.get("/", origin=origin)).status_code == 403
        assert (await here.post("/do/hold", WORKLOAD, Origin=origin)).status_code == 403
        assert here.cluster.done == []


async def test_a_form_needs_an_origin_and_comes_from_the_same_site() -> None:
    async with site() as here:
        body = {**WORKLOAD, "form_token": here.form_token}
        assert (await here.client.post("/do/hold", data=body)).status_code == 403
        other = await here.post("/do/hold", WORKLOAD, **{"Sec-Fetch-Site": "cross-site"})
        assert other.status_code == 403
        assert here.cluster.done == []


@pytest.mark.parametrize("token", ["", "0" * 64, "é"])
async def test_a_form_without_the_token_of_its_session_does_nothing(token: str) -> None:
    async with site() as here:
        for action in ("hold", "release", "restart"):
            answer = await here.post(f"/do/{action}", {**WORKLOAD, "form_token": token})
            assert answer.status_code == 403
        assert here.cluster.done == []


async def test_the_form_token_of_another_session_does_nothing() -> None:
    async with site() as here:
        other = here.sessions.form_token("another session")
        assert (await here.post("/do/hold", {**WORKLOAD, "form_token": other})).status_code == 403
        assert here.cluster.done == []


async def test_a_get_changes_nothing() -> None:
    async with site() as here:
        for path in ("/do/hold", "/do/restart", "/theme"):
            answer = await here.client.get(path, params={**WORKLOAD, "form_token": here.form_token})
            assert answer.status_code == 405
        assert here.cluster.done == []


async def test_other_methods_are_refused() -> None:
    async with site() as here:
        for method in ("PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"):
            assert (await here.client.request(method, "/")).status_code == 405


async def test_what_is_too_large_or_no_form_is_refused() -> None:
    async with site() as here:
        large = await here.post("/do/hold", {**WORKLOAD, "reason": "x" * LONGEST_BODY})
        assert large.status_code == 413
        said = {"Origin": URL, "Content-Type": "text/plain"}
        plain = await here.client.post("/do/hold", content=b"form_token=x", headers=said)
        assert plain.status_code == 413
        assert (await here.get(f"/?q={'x' * 5000}")).status_code == 414
        many = await here.post("/do/hold", {f"a{n}": "1" for n in range(100)})
        assert many.status_code == 413
        assert here.cluster.done == []


async def test_every_answer_carries_the_headers_that_keep_browsers_from_helping_others() -> None:
    async with site() as here:
        answers = [await here.get(path) for path in (*PAGES, "/static/page.js", "/api/v1/now")]
        answers += [await here.get("/", host="evil.example"), await here.get("/static/../app.py")]
        here.client.cookies.clear()
        answers.append(await here.get("/"))
    for answer in answers:
        missing = [name for name, value in HEADERS.items() if answer.headers.get(name) != value]
        assert missing == [], answer.url
    policy = HEADERS["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert HEADERS["Cache-Control"] == "no-store"


class Inline(HTMLParser):
    """What a strict policy would not run, and what it would load from elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.faults: list[str] = []
        self.forms: list[list[str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        if tag == "style" or (tag == "script" and not known.get("src")):
            self.faults.append(tag)
        self.faults += [f"{tag} {name}" for name in known if name == "style" or name[:2] == "on"]
        for name in ("src", "href", "action"):
            if (known.get(name) or "/")[:1] not in {"/", "#"} or (known.get(name) or "")[
                :2
            ] == "//":
                self.faults.append(f"{tag} {name} {known[name]}")
        if tag == "form":
            self.forms.append([known.get("method") or "get"])
        elif tag == "input" and self.forms:
            self.forms[-1].append(known.get("name") or "")


async def test_no_page_has_inline_script_or_style_or_loads_from_elsewhere() -> None:
    async with site() as here:
        for path in PAGES:
            parser = Inline()
            parser.feed((await here.get(path)).text)
            assert parser.faults == [], path
            posts = [fields for method, *fields in parser.forms if method == "post"]
            assert posts, "there is at least the switch of the theme"
            assert all("form_token" in fields for fields in posts), path


@pytest.mark.parametrize(
    "path", ["//evil.example", "http://evil.example", "/\\evil.example", "evil", "/a\nb"]
)
async def test_nobody_is_led_away(path: str) -> None:
    assert not is_own_path(path)
    async with site() as here:
        answer = await here.post("/theme", {"theme": "dark", "back": path})
        assert answer.headers["location"] == "/"
        answer = await here.post("/do/hold", {**WORKLOAD, "back": path})
        assert answer.headers["location"] == "/"
    async with site(entered=False) as here:
        words = {"token": here.sessions.token, "next": path}
        assert (await here.client.get("/enter", params=words)).headers["location"] == "/"


@pytest.mark.parametrize("file", ["app.py", "..%2fapp.py", "../app.py", "style.css/x"])
async def test_only_the_three_files_are_served(file: str) -> None:
    async with site() as here:
        assert (await here.get(f"/static/{file}")).status_code == 404


async def test_a_notice_is_told_to_its_own_session_once() -> None:
    async with site() as here:
        assert (await here.post("/do/hold", WORKLOAD)).status_code == 303
        assert "Held: Deployment shop/stock" in (await here.get("/")).text
        assert "Held: Deployment shop/stock" not in (await here.get("/")).text


async def test_hostile_names_and_messages_stay_text(hostile: Any) -> None:
    async with site(hostile) as here:
        for path in ("/", "/held", "/search?q=%3Cscript%3E", "/source/ConfigMap/shop/settings"):
            text = (await here.get(path)).text
            assert "<script>alert" not in text
            assert "<img" not in text


@pytest.fixture
def hostile() -> Any:
    from tests.dashboard.sample import SETTINGS, edge, facts, overview, web

    bad = "<script>alert(1)</script><img src=x onerror=alert(1)>"
    obstacle = {"reason": "SourceMissing", "message": bad, "since": None}
    one = facts(web("x"), reason="SourceMissing", message=bad, obstacle=obstacle)
    return overview([one], edges=[edge(SETTINGS, web("x"), bad)], notes=(bad,))


async def test_read_only_has_no_buttons_and_does_nothing() -> None:
    async with site(read_only=True) as here:
        text = (await here.get("/workload/Deployment/shop/stock")).text
        assert "/do/" not in text
        await here.post("/do/hold", WORKLOAD)
        assert here.cluster.done == []
        assert "--read-only" in (await here.get("/")).text


def test_sessions_are_bounded() -> None:
    drawn = iter(range(1000))
    sessions = Sessions(lambda: f"{next(drawn)}")
    known = []
    for _ in range(MOST + 1):
        sessions._tokens.add("again")
        known.append(sessions.enter("again") or "")
    assert not sessions.knows(known[0])
    assert all(map(sessions.knows, known[1:]))


async def test_a_stream_tells_the_version_and_is_not_held_back() -> None:
    async with site() as here:
        news = here_streams(here)
        assert "event: version" in "".join([await anext(news), await anext(news)])
        await news.aclose()


def here_streams(here: Site) -> Any:
    from reroll.dashboard.streams import Streams

    return Streams(lambda: 1, lambda: None).stream()


def test_the_cookie_has_the_port_in_its_name() -> None:
    assert COOKIE.endswith("8300"), "two dashboards of one machine do not end each other's session"
