"""A dashboard in a cluster, by each of its doors, as a browser sees it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
from tests.dashboard.hosted import Site, running

from reroll.dashboard.doors.token import TokenDoor
from reroll.dashboard.hosts import Hosts, public
from reroll.dashboard.people import Who
from reroll.dashboard.rendering import sign_in_page
from reroll.dashboard.sessions import Sessions
from reroll.kube.errors import Unauthorized, Unavailable

PUBLIC = "https://reroll.example.com"
HOSTS = Hosts(public([PUBLIC]), is_forwarded=True)
GOOD = "eyJhbGciOi.good-token_1"
WORKLOAD = {"kind": "Deployment", "namespace": "shop", "name": "stock"}
PROXY = "10.0.0.7"


class Server:
    """Whom the API server knows by which token."""

    def __init__(self) -> None:
        self.names = {GOOD: "alice", "bobs": "bob"}
        self.asked: list[str] = []

    async def introduce(self, who: Who) -> str:
        self.asked.append(who.token)
        if who.token == "down":
            raise Unavailable("the API server did not answer in time")
        if who.token not in self.names:
            raise Unauthorized("Unauthorized")
        return self.names[who.token]


@asynccontextmanager
async def visit(
    door: Any, *, address: str = PROXY, url: str = PUBLIC, read_only: bool = False
) -> AsyncIterator[Site]:
    async with running(door=door, hosts=HOSTS, read_only=read_only) as one:
        transport = httpx.ASGITransport(one.app, client=(address, 4711))
        async with httpx.AsyncClient(transport=transport, base_url=url) as client:
            yield Site(one, client)


@asynccontextmanager
async def with_tokens(server: Server | None = None, **more: Any) -> AsyncIterator[Site]:
    known = server or Server()

    def door(sessions: Sessions) -> TokenDoor:
        return TokenDoor(sessions, known.introduce, sign_in_page)

    async with visit(door, **more) as site:
        yield site


def hidden(text: str) -> str:
    return text.partition('name="form_token" value="')[2].partition('"')[0]


async def signed_in(here: Site, token: str = GOOD, **fields: str) -> httpx.Response:
    form = hidden((await here.get("/sign-in")).text)
    said = {"Origin": str(here.client.base_url), "Sec-Fetch-Site": "same-origin"}
    data = {"form_token": form, "token": token, **fields}
    return await here.client.post("/sign-in", data=data, headers=said)


async def post(here: Site, path: str, **fields: str) -> httpx.Response:
    form = hidden((await here.get("/")).text)
    said = {"Origin": str(here.client.base_url), "Sec-Fetch-Site": "same-origin"}
    return await here.client.post(path, data={"form_token": form, **fields}, headers=said)
