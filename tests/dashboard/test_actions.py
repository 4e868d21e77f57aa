"""What can be done from a page: each button says what happens, who may, and does only that."""

from typing import Any

import pytest
from tests.dashboard.hosted import Site, site
from tests.dashboard.sample import (
    CONTENT,
    SETTINGS,
    facts,
    overview,
    revision,
    shop,
    waits_for_approval,
    web,
)

from reroll.core.model.approval import Ruling
from reroll.dashboard.actions import ACTIONS
from reroll.dashboard.buttons import WORDS, crowd
from reroll.dashboard.overview import Overview

SOURCE = "/source/ConfigMap/shop/settings"
CHECKOUT = "/workload/Deployment/shop/checkout"
APPROVE = ("approve", "approvals")


def unapproved(**more: Any) -> Overview:
    waits = waits_for_approval(web("search"), web("stock"), **more)
    return shop()._replace(waiting={SETTINGS: waits})


def on_canary(reason: str = "OnCanary") -> Overview:
    return overview([facts(web("checkout"), reason=reason, message="soaks")])


async def buttons(here: Site, page: str) -> dict[str, dict[str, Any]]:
    document = (await here.get(f"/api/v1{page}")).json()
    return {one["action"]: one for one in document["buttons"]}


def test_every_action_has_words_and_every_word_an_action() -> None:
    assert WORDS.keys() == ACTIONS.keys()


def test_who_is_concerned_is_counted_with_pods_and_some_are_named() -> None:
    seen = overview([facts(web(name)) for name in "abcde"])
    told = crowd(seen, [web(name) for name in "edcba"])
    assert told == "5 workloads with 10 pods (a, b, c and 2 more)"
    assert crowd(seen, [web("a")]) == "1 workload with 2 pods (a)"


async def test_what_waits_is_approved_or_rejected_with_the_content_that_was_shown() -> None:
    async with site(unapproved()) as here:
        found = await buttons(here, SOURCE)
        assert [*found] == ["approve", "reject", "hold", "urgent"]
        assert found["approve"]["fields"] == {"content": CONTENT}
        assert "2 workloads with 4 pods (search, stock)" in found["approve"]["effect"]
        document = (await here.get(f"/api/v1{SOURCE}")).json()["approval"]
        assert (document["state"], document["workloads"]) == ("waits", 2)
        where = {**SETTINGS._asdict(), "content": CONTENT}
        await here.post("/do/approve", where)
        await here.post("/do/reject", {**where, "reason": " too\nlarge "})
        await here.post("/do/reject", {**where, "reason": " "})
        assert here.cluster.done == [
            ("rule", SETTINGS, CONTENT, ""),
            ("rule", SETTINGS, CONTENT, "too large"),
        ]
        assert "reason: say it in words; nothing was done" in (await here.get("/")).text


async def test_the_first_page_has_what_waits_for_approval() -> None:
    async with site(unapproved()) as here:
        [one] = (await here.get("/api/v1/now")).json()["approvals"]
        assert (one["source"]["name"], one["state"], one["workloads"]) == ("settings", "waits", 2)
        assert "Waits for approval" in (await here.get("/")).text
        other = (await here.get("/api/v1/now?namespace=other")).json()
        assert other["approvals"] == []


async def test_a_rejection_says_by_whom_and_can_be_taken_back() -> None:
    seen = unapproved(rejected=Ruling(CONTENT, "alice", "too large"))
    async with site(seen) as here:
        assert "reject" not in await buttons(here, SOURCE)
        text = (await here.get(SOURCE)).text
        assert "rejected by alice: too large." in text


@pytest.mark.parametrize(("guarded", "allowed"), [(True, False), (None, False), (False, True)])
async def test_only_approvers_approve_where_that_is_guarded(
    guarded: bool | None, allowed: bool
) -> None:
    async with site(unapproved()) as here:
        here.cluster.denied, here.cluster.is_guarded = {APPROVE}, guarded
        found = await buttons(here, SOURCE)
        may = {name: one["allowed"] for name, one in found.items()}
        assert may == {"approve": allowed, "reject": allowed, "hold": True, "urgent": allowed}
        if not allowed:
            why = "you may not approve approvals.reroll.dev in namespace shop"
            assert {found[name]["why"] for name in ("approve", "reject", "urgent")} == {why}
        assert ("Nothing guards approvals" in (await here.get(SOURCE)).text) == (guarded is False)


async def test_a_source_is_called_urgent_and_no_longer() -> None:
    async with site() as here:
        found = await buttons(here, SOURCE)
        assert "1 workload with 2 pods (search) may roll at once" in found["urgent"]["effect"]
        await here.post("/do/urgent", SETTINGS._asdict())
        here.cluster.urgent.add(SETTINGS)
        assert "calm" in await buttons(here, SOURCE)
        await here.post("/do/calm", SETTINGS._asdict())
        assert here.cluster.done == [("urgent", SETTINGS, True), ("urgent", SETTINGS, False)]


async def test_a_workload_goes_back_to_a_revision_whose_content_is_kept() -> None:
    async with site() as here:
        here.cluster.revised = [revision(3, current=True), revision(2), revision(1, missing=True)]
        document = (await here.get(f"/api/v1{CHECKOUT}")).json()
        back = {one["fields"]["revision"]: one["why"] for one in document["back"]}
        assert back == {"2": "", "1": "token-x is gone"}
        last = (await buttons(here, CHECKOUT))["use"]
        assert last["fields"] == {"revision": "2"}
        assert "2 pods of it are replaced by pods with the content of revision 2" in last["effect"]
        await here.post("/do/use", {**web("checkout")._asdict(), "revision": "2"})
        assert here.cluster.done == [("use", web("checkout"), "2")]
        here.cluster.denied = {("get", "secrets")}
    async with site() as here:
        here.cluster.revised = [revision(3, current=True)]
        here.cluster.denied = {("get", "secrets")}
        assert "PASSWORD" not in (await here.get(CHECKOUT)).text, "nor keys of its revisions"
        assert "no revision before" in (await buttons(here, CHECKOUT))["use"]["why"]


async def test_a_canary_is_promoted_or_aborted_while_there_is_one() -> None:
    async with site(on_canary()) as here:
        here.cluster.trials[web("checkout")] = frozenset(("promoted", "aborted"))
        found = await buttons(here, CHECKOUT)
        assert [*found][:2] == ["promote", "abort"]
        assert "2 pods of it are replaced now" in found["promote"]["effect"]
        where = web("checkout")._asdict()
        await here.post("/do/promote", where)
        await here.post("/do/abort", where)
        done = [("canary", web("checkout"), word) for word in ("promoted", "aborted")]
        assert here.cluster.done == done
    async with site(on_canary("Stopped")) as here:
        here.cluster.trials[web("checkout")] = frozenset(("promoted",))
        assert "abort" not in await buttons(here, CHECKOUT)
    async with site(on_canary("UpToDate")) as here:
        here.cluster.trials[web("checkout")] = frozenset(("promoted",))
        assert "promote" not in await buttons(here, CHECKOUT), "its canary is not even asked for"


@pytest.mark.parametrize("action", sorted(ACTIONS))
async def test_an_action_is_done_only_to_what_it_is_for(action: str) -> None:
    row = ACTIONS[action]
    form = {"reason": "why", "content": CONTENT, "revision": "2"}
    async with site() as here:
        await here.post(f"/do/{action}", {**SETTINGS._asdict(), **form})
        assert bool(here.cluster.done) == row.to_sources
    async with site() as here:
        await here.post(f"/do/{action}", {**web("stock")._asdict(), **form})
        assert bool(here.cluster.done) == row.to_workloads


async def test_what_rolls_pods_is_said_before_it_is_done_and_needs_no_script() -> None:
    async with site(unapproved()) as here:
        here.cluster.revised = [revision(3, current=True), revision(2)]
        for page in (SOURCE, CHECKOUT, "/held"):
            text = (await here.get(page)).text
            forms = text.split("<details")[1:]
            assert forms
            for one in forms:
                form = one.partition("</details>")[0]
                if "/do/" in form:
                    assert "<p>" in form, page
                    assert "form_token" in form
            assert text.count('action="/do/') == sum("/do/" in one for one in forms)
