"""Every page has its document, the document is as documented, and it tells no more than it may."""

import asyncio

import msgspec
import pytest
from tests.dashboard.hosted import site
from tests.dashboard.sample import SETTINGS, TOKEN, SampleCluster, held_by_somebody, overview, web
from tests.support.dashboard_reference import PAGE, UPDATE, documents, reference

from reroll.dashboard.overview import Overview
from reroll.dashboard.pages.workload_buttons import NOT_PINNED
from reroll.dashboard.site import NAV, PAGES

PATHS = {
    "source": "/ConfigMap/shop/settings",
    "workload": "/Deployment/shop/checkout",
    "graph": "/ConfigMap/shop/settings",
}


def test_the_reference_is_what_the_documents_are() -> None:
    assert PAGE.read_text(encoding="utf-8") == reference(), f"run `{UPDATE}`"


def test_every_document_and_every_page_says_what_it_is() -> None:
    assert [
        one.name for one in documents().values() if not one.meaning and len(one.fields) > 4
    ] == []
    assert [page.name for page in PAGES if not page.help] == []
    assert NAV[0].path == "/", "the first page is what needs somebody now"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
async def test_the_document_of_a_page_is_of_its_type(page) -> None:
    async with site() as here:
        answer = await here.get(f"/api/v1/{page.name}{PATHS.get(page.name, '')}")
        assert answer.status_code == 200, answer.text
        assert answer.headers["content-type"] == "application/json"
        document = msgspec.json.decode(answer.content, type=page.document, strict=True)
        assert msgspec.json.decode(msgspec.json.encode(document)) == answer.json()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
async def test_a_page_is_whole_without_script(page) -> None:
    async with site() as here:
        answer = await here.get(f"{page.path.partition('/{')[0]}{PATHS.get(page.name, '')}")
        assert answer.status_code == 200, answer.text
        assert answer.text.count("<h1>") == 1
        assert answer.text.rstrip().endswith("</html>")


async def test_what_is_not_there_is_a_sentence() -> None:
    async with site() as here:
        for path in ("source/ConfigMap/shop/none", "workload/Deployment/shop/none"):
            page, document = await here.get(f"/{path}"), await here.get(f"/api/v1/{path}")
            assert (page.status_code, document.status_code) == (404, 404)
            assert "nothing to show" in document.json()["problem"]
        odd = await here.get("/workload/%2e%2e/%2e%2e/x")
        assert odd.status_code == 404


async def test_a_page_does_not_wait_for_a_cluster_that_takes_long_to_list(monkeypatch) -> None:
    ready = asyncio.Event()

    async def slow(self: SampleCluster, _: object) -> Overview:
        await ready.wait()
        return self.seen

    monkeypatch.setattr(SampleCluster, "overview", slow)
    monkeypatch.setattr("reroll.dashboard.app.AT_ONCE", 0)
    async with site() as here:
        answer = await here.open("/held")
        assert (answer.status_code, answer.headers["retry-after"]) == (202, "2")
        assert "being listed" in answer.text
        assert '<noscript><meta http-equiv="refresh"' in answer.text, "without script too"
        document = asyncio.create_task(here.get("/api/v1/held"))
        ready.set()
        assert (await document).status_code == 200, "a program waits"
        assert (await here.get("/held")).status_code == 200
        assert (await here.get("/version")).json() == {"version": 1}


async def test_the_names_of_keys_of_a_secret_are_for_who_may_get_it() -> None:
    paths = ["/source/Secret/shop/token", "/workload/Deployment/shop/checkout", "/timeline"]
    others = ["/graph/Secret/shop/token", "/search", "/", "/held", "/stale"]
    async with site() as here:
        for path in paths:
            assert "PASSWORD" in (await here.get(path)).text, path
    async with site() as here:
        here.cluster.denied = {("get", "secrets")}
        for path in (*paths, *others):
            assert "PASSWORD" not in (await here.get(path)).text, path
            api = "/now" if path == "/" else path
            assert "PASSWORD" not in (await here.get(f"/api/v1{api}")).text, path
        assert "only who may get the Secret" in (await here.get(paths[0])).text


async def test_the_names_of_keys_of_a_config_map_are_for_everybody() -> None:
    async with site() as here:
        here.cluster.denied = {("get", "secrets")}
        assert "PASSWORD" in (await here.get("/source/ConfigMap/shop/settings")).text


async def test_a_button_that_may_not_be_pressed_says_why() -> None:
    async with site() as here:
        here.cluster.denied = {("patch", "deployments")}
        document = (await here.get("/api/v1/workload/Deployment/shop/stock")).json()
        why = "you may not patch deployments in namespace shop"
        buttons = {one["action"]: one["why"] for one in document["buttons"]}
        assert buttons == {"hold": why, "restart": why, "use": NOT_PINNED}
        text = (await here.get("/workload/Deployment/shop/stock")).text
        assert "<button disabled" in text
        assert why in text
        assert "/do/" not in text
        held = (await here.get("/api/v1/held")).json()["rows"]
        assert [one["release"]["allowed"] for one in held if one["release"]] == [False]
        here.cluster.denied = {("patch", "configmaps")}
        source = (await here.get("/api/v1/source/ConfigMap/shop/settings")).json()
        why = "you may not patch configmaps in namespace shop"
        assert [one["why"] for one in source["buttons"]] == [why, why]


async def test_a_source_is_held_and_released() -> None:
    async with site() as here:
        document = (await here.get("/api/v1/source/ConfigMap/shop/settings")).json()
        assert document["hold"] is None
        assert [one["action"] for one in document["buttons"]] == ["hold", "urgent"]
        fields = {**SETTINGS._asdict(), "reason": "incident 42", "until": "2h"}
        await here.post("/do/hold", fields)
        assert here.cluster.done == [("hold", SETTINGS, "until 2026-11-17T16:00:00Z incident 42")]
        here.cluster.holders[SETTINGS] = held_by_somebody(SETTINGS)
        document = (await here.get("/api/v1/source/ConfigMap/shop/settings")).json()
        assert document["hold"]["by"] == "kubectl-annotate"
        assert [one["action"] for one in document["buttons"]] == ["release", "urgent"]
        await here.post("/do/release", SETTINGS._asdict())
        assert here.cluster.done[1:] == [("hold", SETTINGS, None)]


async def test_a_hold_that_stands_on_a_source_is_released_there() -> None:
    async with site() as here:
        here.cluster.holders[web("held")] = held_by_somebody(SETTINGS)
        rows = (await here.get("/api/v1/held")).json()["rows"]
        [row] = [one for one in rows if one["workload"]["name"] == "held"]
        assert row["on"] == SETTINGS._asdict()
        why = "the hold stands on configmap/settings"
        assert (row["release"]["allowed"], row["release"]["why"]) == (False, why)
        assert "/source/ConfigMap/shop/settings" in (await here.get("/held")).text


@pytest.mark.parametrize("action", ["hold", "restart"])
async def test_what_no_workload_uses_cannot_be_changed_from_here(action: str) -> None:
    async with site() as here:
        for key in (SETTINGS._replace(name="other"), SETTINGS._replace(kind="Namespace")):
            await here.post(f"/do/{action}", key._asdict())
        assert here.cluster.done == []
        if action == "restart":
            await here.post("/do/restart", SETTINGS._asdict())
            assert here.cluster.done == []


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"until": "yesterday"}, "until: &#39;yesterday&#39; is neither a time nor a duration"),
        ({"reason": "true"}, "is no reason"),
        ({"name": "none"}, "There is no Deployment shop/none any more"),
        ({"reason": "x" * 501}, "at most 500 characters"),
    ],
)
async def test_a_form_that_cannot_be_used_is_told_in_a_sentence(fields, said) -> None:
    async with site() as here:
        where = {"kind": "Deployment", "namespace": "shop", "name": "stock"}
        await here.post("/do/hold", {**where, **fields})
        assert said in (await here.get("/")).text
        assert here.cluster.done == []


async def test_a_restart_has_its_reason() -> None:
    async with site() as here:
        where = web("stock")._asdict()
        answer = await here.post(
            "/do/restart", {**where, "reason": " rotate\nit ", "back": "/held"}
        )
        assert answer.headers["location"] == "/held"
        assert here.cluster.done == [("restart", web("stock"), "rotate it")]


async def test_the_theme_is_the_browsers_or_the_one_that_was_chosen() -> None:
    async with site() as here:
        assert "data-theme" not in (await here.get("/")).text
        await here.post("/theme", {"theme": "dark"})
        assert 'data-theme="dark"' in (await here.get("/")).text
        await here.post("/theme", {"theme": "<b>"})
        assert "data-theme" not in (await here.get("/")).text


async def test_a_page_without_workloads_says_why() -> None:
    async with site(overview([])) as here:
        assert "No workload is opted in yet" in (await here.get("/")).text
    blind = overview([])
    blind.document["problems"].append("deployments.apps may not be listed")
    async with site(blind) as here:
        text = (await here.get("/")).text
        assert "starts it with <code>-n NAME</code>" in text
        assert "deployments.apps may not be listed" in text


async def test_a_secret_without_readers_has_its_page() -> None:
    async with site() as here:
        document = (await here.get("/api/v1/source/Secret/shop/token")).json()
        assert document["source"] == TOKEN._asdict()
        assert document["rolled"] == 1
