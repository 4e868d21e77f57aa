"""A dashboard in a cluster, and several people: each sees and does what their rights allow."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.scenarios.stage import ENABLED, Stage, eventually
from tests.support import build, dashboard_rights
from tests.support.dashboard import DashboardProcess, Visitor
from tests.support.faultproxy import FaultProxy

from reroll.core.tables import rights
from reroll_dev.api import Api, path_to

HOLD = "reroll.dev/hold"
READS = [
    {"apiGroups": ["apps"], "resources": ["*"], "verbs": ["get", "list"]},
    {"apiGroups": [""], "resources": ["pods", "configmaps", "events"], "verbs": ["get", "list"]},
]
WRITES = [
    *READS,
    {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list"]},
    {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["patch"]},
]
PLACES = ("/now", "/held", "/calendar", "/timeline", "/stale", "/search?q=", "/doctor")
Kubeconfig = Callable[..., Path]


@pytest.fixture
def other(api: Api, namespace: str) -> Iterator[str]:
    """Another namespace, with a workload whose name tells where it is."""
    name = f"{namespace}-other"
    api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    yield name
    api.delete(path_to("Namespace", name))


def furnish(api: Api, namespace: str, word: str) -> None:
    """A workload with a ConfigMap and a Secret, all with this word in their names."""
    uses = [f"configmap/{word}-settings", f"secret/{word}-token#{word}-password"]
    secret = build.secret(f"{word}-token", {f"{word}-password": "x"})
    for one in (
        build.configmap(f"{word}-settings"),
        secret,
        build.deployment(f"{word}-web", uses=uses, annotations=ENABLED),
    ):
        api.create(one, namespace)


@pytest.fixture
def own(kubeconfig_for: Kubeconfig, stage: Stage) -> Callable[[str], Path]:
    """What the chart gives the account of the dashboard."""

    def of(auth: str) -> Path:
        everywhere, here = dashboard_rights.rules(auth, "reroll-digest-key", "reroll")
        login = kubeconfig_for(everywhere, None)
        account = {"kind": "ServiceAccount", "name": login.stem, "namespace": stage.namespace}
        for one in rights.grant(f"{login.stem}-own", here, account, everywhere=False):
            stage.api.create(one, stage.namespace)
        return login

    return of


def token_of(login: Path) -> str:
    return str(yaml.safe_load(login.read_text())["users"][0]["user"]["token"])


def everything(client: Any, namespace: str, word: str) -> str:
    """All that somebody is told, of everything and of the objects of one namespace."""
    objects = [f"/workload/Deployment/{namespace}/{word}-web"]
    objects += [f"/source/Secret/{namespace}/{word}-token"]
    objects += [f"/graph/ConfigMap/{namespace}/{word}-settings"]
    texts = []
    for path in (*PLACES, *objects):
        page = "/" if path == "/now" else path
        for address in (page, f"/api/v1{path}"):
            answer = client.get(address)
            assert answer.status_code in {200, 404}, (address, answer.status_code, answer.text)
            texts.append(answer.text)
    with client.stream("GET", "/events") as news:
        lines = news.iter_lines()
        texts.append(next(line for line in lines if line.startswith("data:")))
    return "\n".join(texts)


def signed_in(one: DashboardProcess, login: Path) -> Visitor:
    visitor = Visitor(one)
    assert visitor.entered.headers["location"] == "/sign-in"
    assert visitor.sign_in(token_of(login)).status_code == 303
    visitor.document("/now")  # A document waits for the first listing, and a page does not.
    return visitor


def test_two_people_with_tokens_see_and_do_what_each_may_and_nothing_of_the_other(
    stage: Stage, other: str, own: Callable[[str], Path], kubeconfig_for: Kubeconfig, audit: Any
) -> None:
    api, home = stage.api, stage.namespace
    furnish(api, home, "apples")
    furnish(api, other, "pears")
    writer, reader = kubeconfig_for(WRITES, home), kubeconfig_for(READS, other)
    flags = ("--auth", "token", "--address", "127.0.0.1")
    with DashboardProcess(own("token"), home, *flags, only=False) as one:
        mine, theirs = signed_in(one, writer), signed_in(one, reader)
        assert writer.stem in mine.page("/")
        told = everything(mine.client, home, "apples")
        assert "apples-web" in told
        assert "apples-password" in told, "who may get a Secret is told its keys"
        assert "pears" not in told
        assert other not in told
        told = everything(theirs.client, other, "pears")
        assert "pears-web" in told
        assert "pears-password" not in told
        assert "apples" not in told
        assert [row["namespace"] for row in _workloads(mine)] == [home]
        assert [row["namespace"] for row in _workloads(theirs)] == [other]
        _what_is_not_mine_looks_like_what_is_not_there(theirs, home)

        page = f"/workload/Deployment/{home}/apples-web"
        assert "Held: Deployment" in mine.send(page, "/do/hold", reason="because")
        assert stage.get(_web(home, "apples"))["metadata"]["annotations"][HOLD] == "because"
        user = f"system:serviceaccount:{home}:{writer.stem}"
        assert [call["verb"] for call in audit(user) if call["verb"] == "patch"] == ["patch"]
        document = theirs.document(f"/workload/Deployment/{other}/pears-web")
        why = f"you may not patch deployments in namespace {other}"
        assert [each["why"] for each in document["buttons"] if each["action"] == "hold"] == [why]
        assert not any(each["allowed"] for each in document["buttons"])
        _a_form_by_hand_does_nothing(theirs, other)
        assert HOLD not in stage.get(_web(other, "pears"))["metadata"]["annotations"]

        api.delete(path_to("ServiceAccount", writer.stem, home))
        eventually(lambda: _leads_to_the_form(mine), "the token is accepted no more")
        assert "has expired, or was revoked" in mine.page("/sign-in?why=expired")
        one.stop()
        for login in (writer, reader):
            assert token_of(login) not in one.said


def _web(namespace: str, word: str) -> dict[str, Any]:
    one = build.deployment(f"{word}-web")
    one["metadata"]["namespace"] = namespace
    return one


def _workloads(visitor: Visitor) -> list[dict[str, Any]]:
    hits = visitor.document("/search?q=web")["hits"]
    return [hit["node"] for hit in hits if not hit["source"]]


def _what_is_not_mine_looks_like_what_is_not_there(visitor: Visitor, namespace: str) -> None:
    for kind, page, name in (
        ("Deployment", "workload", "apples-web"),
        ("Secret", "source", "apples-token"),
        ("ConfigMap", "graph", "apples-settings"),
    ):
        there = visitor.client.get(f"/api/v1/{page}/{kind}/{namespace}/{name}")
        missing = visitor.client.get(f"/api/v1/{page}/{kind}/{namespace}/none")
        assert there.status_code == missing.status_code == 404
        assert there.text.replace(name, "none") == missing.text


def _a_form_by_hand_does_nothing(visitor: Visitor, namespace: str) -> None:
    """A button that is grey has no form; whoever makes one is refused by the API server."""
    form = visitor.page("/").partition('name="form_token" value="')[2].partition('"')[0]
    fields = {"kind": "Deployment", "namespace": namespace, "name": "pears-web"}
    answer = visitor.client.post(
        "/do/hold",
        data={"form_token": form, **fields},
        headers={"Origin": str(visitor.client.base_url).rstrip("/")},
        follow_redirects=True,
    )
    assert "notice bad" in answer.text


def _leads_to_the_form(visitor: Visitor) -> bool:
    answer = visitor.client.get("/")
    return answer.headers.get("location") == "/sign-in?why=expired"


def test_behind_a_proxy_everybody_has_the_rights_of_their_own_name(
    stage: Stage, other: str, own: Callable[[str], Path], audit: Any
) -> None:
    api, home = stage.api, stage.namespace
    furnish(api, home, "apples")
    furnish(api, other, "pears")
    _bind(api, home, WRITES, {"kind": "User", "name": "alice@example.com"})
    _bind(api, other, READS, {"kind": "Group", "name": "pickers"})
    flags = ("--auth", "proxy", "--address", "127.0.0.1", "--proxy-from", "127.0.0.1")
    account = own("proxy")
    with DashboardProcess(account, home, *flags, only=False) as one:
        alice = _named(one, "alice@example.com")
        picker = _named(one, "bob@example.com", "pickers")
        for one_of_them in (alice, picker):
            eventually(lambda: _workloads(one_of_them), "the API server has learnt of the roles")  # noqa: B023
        told = everything(alice.client, home, "apples")
        assert "apples-web" in told
        assert "pears" not in told
        told = everything(picker.client, other, "pears")
        assert "pears-web" in told
        assert "pears-password" not in told
        assert "apples" not in told
        assert _workloads(_named(one, "bob@example.com")) == [], "without a group he has nothing"

        page = f"/workload/Deployment/{home}/apples-web"
        assert "Held: Deployment" in alice.send(page, "/do/hold", reason="because")
        patches = [call for call in audit(account) if call["verb"] == "patch"]
        assert [call["impersonatedUser"]["username"] for call in patches] == ["alice@example.com"]
        _a_form_by_hand_does_nothing(picker, other)
        assert HOLD not in stage.get(_web(other, "pears"))["metadata"]["annotations"]
        for name, group in (("system:admin", ""), ("eve", "system:masters")):
            answer = _named(one, name, group).client.get("/api/v1/now")
            assert (answer.status_code, "belong to Kubernetes" in answer.text) == (403, True)


def _named(one: DashboardProcess, user: str, groups: str = "") -> Visitor:
    visitor = Visitor(one)
    visitor.client.headers.update({"X-Forwarded-User": user, "X-Forwarded-Groups": groups})
    return visitor


def _bind(
    api: Api, namespace: str, rules: Sequence[dict[str, Any]], subject: dict[str, str]
) -> None:
    whole = {"apiGroup": rights.GROUP, **subject}
    for one in rights.grant("people", rules, whole, everywhere=False):
        api.create(one, namespace)


def test_without_a_name_everybody_looks_and_nobody_does_anything(
    stage: Stage, own: Callable[[str], Path], fault_proxy: FaultProxy
) -> None:
    home = stage.namespace
    furnish(stage.api, home, "apples")
    login = fault_proxy.kubeconfig(own("none"))
    flags = ("--auth", "none", "--address", "127.0.0.1", "-n", home)
    with DashboardProcess(login, home, *flags, only=False) as one, Visitor(one) as visitor:
        visitor.document("/now")
        told = everything(visitor.client, home, "apples")
        assert "apples-web" in told
        assert "apples-password" not in told
        page = f"/workload/Deployment/{home}/apples-web"
        assert "/do/" not in visitor.page(page)
        form = visitor.page("/").partition('name="form_token" value="')[2].partition('"')[0]
        fields = {"kind": "Deployment", "namespace": home, "name": "apples-web"}
        answer = visitor.client.post(
            "/do/hold",
            data={"form_token": form, **fields},
            headers={"Origin": one.base},
            follow_redirects=True,
        )
        assert "This dashboard only shows: it was started with --auth none." in answer.text
        assert HOLD not in stage.get(_web(home, "apples"))["metadata"]["annotations"]

        fault_proxy.refuse()
        eventually(lambda: "does not answer" in visitor.page("/"), "the page says that it is old")
        assert "apples-web" in visitor.page("/search?q=apples"), "and shows what was known"
        assert visitor.client.get("/readyz").status_code == 200
        fault_proxy.accept()
        eventually(lambda: "does not answer" not in visitor.page("/"), "and is new again")
