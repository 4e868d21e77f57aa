"""What an attacker tries where people sign in with tokens."""

import httpx
import pytest
from tests.dashboard.doors import GOOD, PUBLIC, Server, hidden, post, signed_in, with_tokens

from reroll.dashboard.doors.token import LONGEST
from reroll.dashboard.people import Who
from reroll.dashboard.security import BY_HTTPS_ALONE, LONGEST_BODY
from reroll.dashboard.sessions import IDLE, MOST, MOST_IN_ALL, Sessions
from reroll.dashboard.sessions import LONGEST as LONGEST_SESSION


async def test_who_is_not_signed_in_gets_a_form_and_nothing_else() -> None:
    async with with_tokens() as here:
        for path in ("/", "/held", "/workload/Deployment/shop/checkout"):
            answer = await here.get(path)
            assert answer.status_code == 303
            assert answer.headers["location"].startswith("/sign-in")
        for path in ("/api/v1/now", "/events", "/api/v1/search?q=s"):
            answer = await here.get(path)
            assert answer.status_code == 401
            assert "shop" not in answer.text


async def test_a_token_is_exchanged_for_a_cookie_that_tells_nothing_of_it() -> None:
    async with with_tokens() as here:
        answer = await signed_in(here, next="/held")
        assert (answer.status_code, answer.headers["location"]) == (303, "/held")
        cookie = answer.headers["set-cookie"]
        for word in ("__Host-reroll=", "HttpOnly", "SameSite=strict", "Secure", "Path=/"):
            assert word in cookie
        assert GOOD not in str(answer.headers)
        page = await here.get("/")
        assert "alice" in page.text
        assert GOOD not in page.text
        assert page.headers["strict-transport-security"] == BY_HTTPS_ALONE


async def test_behind_a_port_forward_there_is_no_https_to_insist_on() -> None:
    async with with_tokens(url="http://localhost:9999") as here:
        answer = await signed_in(here)
        assert "Secure" not in answer.headers["set-cookie"]
        assert "strict-transport-security" not in answer.headers
        assert (await here.get("/")).status_code == 200


@pytest.mark.parametrize(
    ("token", "status"),
    [("wrong", 401), ("", 400), ("a b", 400), ("a\r\nX: y", 400), ("é", 400), ("down", 502)],
)
async def test_another_token_opens_nothing(token: str, status: int) -> None:
    async with with_tokens() as here:
        answer = await signed_in(here, token)
        assert answer.status_code == status
        assert 'role="alert"' in answer.text
        assert token == "" or f'"{token}"' not in answer.text
        assert (await here.get("/")).status_code == 303


async def test_a_token_that_is_too_long_is_not_sent_on() -> None:
    server = Server()
    async with with_tokens(server) as here:
        assert (await signed_in(here, "x" * (LONGEST + 1))).status_code == 400
        assert (await signed_in(here, "x" * (LONGEST_BODY + 1))).status_code == 413
        assert server.asked == []


async def test_nobody_signs_another_in() -> None:
    """A form of an attacker, with the attacker's token, would show the attacker's deeds."""
    server = Server()
    async with with_tokens(server) as here:
        data = {"token": GOOD, "form_token": "0" * 64}
        ours = {"Origin": PUBLIC, "Sec-Fetch-Site": "same-origin"}
        assert (await here.client.post("/sign-in", data=data, headers=ours)).status_code == 403
        stolen = hidden((await here.get("/sign-in")).text)
        here.client.cookies.clear()
        data["form_token"] = stolen
        assert (await here.client.post("/sign-in", data=data, headers=ours)).status_code == 403
        for said in (
            {"Origin": "https://evil.example"},
            {},
            {**ours, "Sec-Fetch-Site": "cross-site"},
        ):
            assert (await here.client.post("/sign-in", data=data, headers=said)).status_code == 403
        assert server.asked == []


async def test_a_session_that_somebody_else_chose_is_never_used() -> None:
    async with with_tokens() as here:
        here.client.cookies.set("__Host-reroll", "chosen-by-an-attacker")
        await signed_in(here)
        mine = [one.value for one in here.client.cookies.jar if one.name == "__Host-reroll"]
        assert "chosen-by-an-attacker" not in mine[-1:]
        here.client.cookies.clear()
        here.client.cookies.set("__Host-reroll", "chosen-by-an-attacker")
        assert (await here.get("/")).status_code == 303


async def test_signing_in_again_ends_the_session_before() -> None:
    async with with_tokens() as here:
        await signed_in(here)
        before = here.client.cookies["__Host-reroll"]
        await signed_in(here)
        assert before != here.client.cookies["__Host-reroll"]
        assert not here.sessions.knows(before)


async def test_a_cookie_that_was_stolen_is_worth_nothing_after_signing_out() -> None:
    async with with_tokens() as here:
        await signed_in(here)
        stolen = here.client.cookies["__Host-reroll"]
        assert (await post(here, "/sign-out")).headers["location"] == "/sign-in"
        here.client.cookies.clear()
        here.client.cookies.set("__Host-reroll", stolen)
        assert (await here.get("/")).status_code == 303
        assert (await here.get("/api/v1/now")).status_code == 401


async def test_signing_out_needs_the_form_of_the_session() -> None:
    async with with_tokens() as here:
        await signed_in(here)
        said = {"Origin": PUBLIC, "Sec-Fetch-Site": "same-origin"}
        answer = await here.client.post("/sign-out", data={"form_token": "x"}, headers=said)
        assert answer.status_code == 403
        assert (await here.get("/")).status_code == 200


async def test_a_program_sends_its_token_and_the_wrong_one_is_refused() -> None:
    server = Server()
    async with with_tokens(server) as here:
        for _ in range(3):
            answer = await here.get("/api/v1/now", Authorization=f"Bearer {GOOD}")
            assert answer.status_code == 200
        assert server.asked == [GOOD], "it is asked once who that is"
        for bad in ("Bearer wrong", "Bearer", "Basic YTpi", "", f"bearer {GOOD} x", GOOD):
            assert (await here.get("/api/v1/now", Authorization=bad)).status_code == 401, bad
        assert (await here.get("/api/v1/now")).status_code == 401, "and it leaves no session behind"


async def test_a_token_that_is_accepted_no_more_leads_to_the_form_with_a_sentence() -> None:
    async with with_tokens() as here:
        await signed_in(here)
        session = here.client.cookies["__Host-reroll"]
        here.cluster.user = None
        here.cluster.clock.seconds += 60
        answer = await here.get("/held")
        assert answer.headers["location"] == "/sign-in?why=expired&next=%2Fheld"
        assert "has expired, or was revoked" in (await here.get(answer.headers["location"])).text
        assert not here.sessions.knows(session)


async def test_a_link_from_elsewhere_gets_nothing_but_leads_on() -> None:
    async with with_tokens() as here:
        said = {"Sec-Fetch-Site": "cross-site"}
        answer = await here.get("/held?reason=Held", **said)
        assert 'content="0;url=/held?reason=Held"' in answer.text
        for path in ("//evil.example/x", '/"><script>alert(1)</script>', "/%22%3E%3Cscript%3E"):
            text = (await here.client.get(httpx.URL(PUBLIC + path), headers=said)).text
            assert "url=//" not in text
            assert "<script" not in text


@pytest.mark.parametrize("to", ["//evil.example", "https://evil.example", "/\\evil.example"])
async def test_nobody_is_led_away_by_signing_in(to: str) -> None:
    async with with_tokens() as here:
        assert (await signed_in(here, next=to)).headers["location"] == "/"


def test_sessions_end_and_are_bounded() -> None:
    now, drawn = [0.0], iter(range(10_000))
    sessions = Sessions(lambda: f"{next(drawn)}", lambda: now[0])
    first = sessions.open(Who("alice"))
    others = [sessions.open(Who("bob")) for _ in range(MOST + 5)]
    assert sessions.knows(first), "one person takes no place of another"
    gone: list[Who] = []
    sessions.gone = gone.append
    assert not sessions.knows(others[0])
    for number in range(MOST_IN_ALL + 5):
        sessions.open(Who(f"user-{number}"))
    assert not sessions.knows(first)
    assert Who("alice") in gone, "nothing of theirs is kept"
    used, idle = sessions.open(Who("carol")), sessions.open(Who("dave"))
    while now[0] < LONGEST_SESSION:
        now[0] += IDLE - 1
        assert sessions.knows(used) == (now[0] <= LONGEST_SESSION)
    assert not sessions.knows(idle)
