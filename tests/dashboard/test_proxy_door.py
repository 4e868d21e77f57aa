"""What an attacker tries where a proxy says who people are."""

from pathlib import Path
from typing import Any

import pytest
from tests.dashboard.doors import PROXY, PUBLIC, WORKLOAD, hidden, visit

from reroll.dashboard import streams
from reroll.dashboard.doors.proxy import ProxyDoor, Trust, TrustError, networks
from reroll.dashboard.people import Who


def behind(**said: Any) -> Any:
    trust = Trust(networks(["10.0.0.0/29", "fd00::7"]), **said)
    return lambda sessions: ProxyDoor(sessions, trust)


ALICE = {"X-Forwarded-User": "alice", "X-Forwarded-Groups": "shop, ops"}


async def test_the_proxy_is_believed() -> None:
    async with visit(behind()) as here:
        page = await here.get("/", **ALICE)
        assert (page.status_code, "alice" in page.text) == (200, True)
        assert "set-cookie" not in page.headers


@pytest.mark.parametrize("address", ["10.0.0.8", "127.0.0.1", "fd00::8", "::ffff:10.0.0.9", "?"])
async def test_headers_from_elsewhere_are_worth_nothing(address: str) -> None:
    async with visit(behind(), address=address) as here:
        for path in ("/", "/api/v1/now", "/events"):
            answer = await here.get(path, **ALICE, **{"X-Forwarded-For": PROXY, "X-Real-IP": PROXY})
            assert answer.status_code == 403
            assert "shop" not in answer.text


@pytest.mark.parametrize("address", ["::ffff:10.0.0.7", "fd00::7"])
async def test_an_address_counts_however_it_is_written(address: str) -> None:
    async with visit(behind(), address=address) as here:
        assert (await here.get("/", **ALICE)).status_code == 200


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({}, "sends no header X-Forwarded-User"),
        ({"X-Forwarded-User": " "}, "sends no header X-Forwarded-User"),
        ({"X-Forwarded-User": "system:admin"}, "belong to Kubernetes"),
        ({"X-Forwarded-User": "System:serviceaccount:a:b"}, "belong to Kubernetes"),
        ({**ALICE, "X-Forwarded-Groups": "shop,system:masters"}, "belong to Kubernetes"),
        ({**ALICE, "X-Forwarded-User": "x" * 300}, "too long"),
        ({**ALICE, "X-Forwarded-Groups": ",".join(map(str, range(300)))}, "300 groups"),
        ({"X-Forwarded-User": "a\tb"}, "plain letters"),
    ],
)
async def test_a_name_that_nobody_may_have_is_refused(said: dict[str, str], why: str) -> None:
    async with visit(behind()) as here:
        answer = await here.get("/", **said)
        assert answer.status_code == 403
        assert why in answer.text


async def test_two_users_in_one_request_are_none() -> None:
    async with visit(behind()) as here:
        two = [("X-Forwarded-User", "alice"), ("X-Forwarded-User", "admin")]
        assert (await here.client.get("/", headers=two)).status_code == 403


async def test_the_word_of_the_proxy_is_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("swordfish\n")
    async with visit(behind(secret=file)) as here:
        header = "X-Reroll-Proxy-Secret"
        assert (await here.get("/", **ALICE, **{header: "swordfish"})).status_code == 200
        for word in ("", "sword", "swordfish2"):
            assert (await here.get("/", **ALICE, **{header: word})).status_code == 403
        assert (await here.get("/", **ALICE)).status_code == 403
        file.write_text("")
        assert (await here.get("/", **ALICE, **{header: ""})).status_code == 403
        file.unlink()
        assert (await here.get("/", **ALICE, **{header: "swordfish"})).status_code == 403


async def test_only_the_groups_that_were_named_are_passed_on() -> None:
    async with visit(behind(only=frozenset(("shop",)))) as here:
        await here.get("/", **ALICE)
        session = here.sessions.lent(Who("alice", ("shop",), is_named=True))
        assert here.sessions.knows(session)


async def test_a_form_of_one_user_does_nothing_for_another() -> None:
    async with visit(behind()) as here:
        form = hidden((await here.get("/", **ALICE)).text)
        said = {"Origin": PUBLIC, "Sec-Fetch-Site": "same-origin"}
        data = {**WORKLOAD, "form_token": form}
        other = {**said, "X-Forwarded-User": "mallory"}
        assert (await here.client.post("/do/hold", data=data, headers=other)).status_code == 403
        assert here.cluster.done == []
        mine = {**said, **ALICE}
        assert (await here.client.post("/do/hold", data=data, headers=mine)).status_code == 303
        assert [one[0] for one in here.cluster.done] == ["hold"]


@pytest.mark.parametrize("text", ["10.0.0.300", "proxy.example", "", "10.0.0.0/33"])
def test_what_is_no_address_is_a_sentence(text: str) -> None:
    with pytest.raises(TrustError, match="neither an address nor a network"):
        networks([text])


async def test_somebody_with_too_many_tabs_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    async with visit(behind()) as here:
        for name in ("MOST", "MOST_IN_ALL"):
            with monkeypatch.context() as patch:
                patch.setattr(streams, name, 0)
                answer = await here.get("/events", **ALICE)
            assert (answer.status_code, "Too many tabs" in answer.text) == (503, True)
