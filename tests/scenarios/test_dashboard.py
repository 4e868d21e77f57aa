"""`reroll dashboard` as a process, with the rights of whoever starts it."""

from collections.abc import Callable
from pathlib import Path

from tests.scenarios.dashboard_story import pressed
from tests.scenarios.propagating import Start, begun, change, judged, web
from tests.scenarios.rolling import that_fails
from tests.scenarios.stage import ENABLED, Stage, eventually
from tests.support import build
from tests.support.build import encode
from tests.support.command import reroll
from tests.support.dashboard import DashboardProcess, Visitor
from tests.support.faultproxy import FaultProxy
from tests.support.faults import Match

from reroll.dashboard.pages.workload_buttons import NOT_PINNED
from reroll_dev.cluster import DevCluster

HOLD = "reroll.dev/hold"
GONE = "The cluster does not answer"
SECRET = "correct horse battery"
PAGES = ("/", "/held", "/calendar", "/timeline", "/stale", "/search", "/doctor")
READS = [
    {"apiGroups": ["apps"], "resources": ["*"], "verbs": ["get", "list"]},
    {"apiGroups": [""], "resources": ["pods", "configmaps", "events"], "verbs": ["get", "list"]},
]


def held(stage: Stage, one: build.Object) -> str:
    return str(stage.get(one)["metadata"].get("annotations", {}).get(HOLD, ""))


def test_a_change_is_seen_to_stop_and_what_can_be_done_is_done_as_the_user(
    stage: Stage, cluster: DevCluster, controller: Start
) -> None:
    well, sick = web("well", max_parallel="1"), web("sick", max_parallel="1")
    stage.make(build.configmap(), build.secret("s", {"password": SECRET}), well)
    that_fails(stage, _late(sick), "unready")
    begun(stage, controller, [well, sick])

    with DashboardProcess(cluster.kubeconfig(), stage.namespace) as one, Visitor(one) as visitor:
        assert (visitor.entered.status_code, visitor.entered.headers["location"]) == (303, "/")
        assert visitor.client.get(one.url).status_code == 401, "the address is good once"
        assert visitor.document("/now")["changes"] == []
        with visitor.client.stream("GET", "/events") as news:
            assert news.headers["x-accel-buffering"] == "no", "no proxy holds it back"
            lines = news.iter_lines()
            assert next(line for line in lines if line.startswith("data:"))

        change(stage, "bad")
        judged(stage, sick, "failed")

        def stopped() -> bool:
            changes = visitor.document("/now")["changes"]
            return bool(changes) and changes[0]["stopped"]

        eventually(stopped, "the page says so, by itself")
        told = reroll(
            *("status", "-n", stage.namespace, "--kubeconfig", cluster.kubeconfig()),
            *("--controller-namespace", stage.namespace, "-o", "json"),
        ).json
        stages = {row["name"]: row["stage"] for row in told["changes"][0]["workloads"]}
        [shown] = visitor.document("/now")["changes"]
        chips = [chip for wave in shown["waves"] for chip in wave["workloads"]]
        assert {chip["workload"]["name"]: chip["stage"] for chip in chips} == stages
        assert "web-sick" in visitor.page("/")

        page = f"/workload/Deployment/{stage.namespace}/web-well"
        said = visitor.send(page, "/do/hold", reason="incident 42", until="2h")
        assert f"Held: Deployment {stage.namespace}/web-well." in said
        assert held(stage, well).endswith("incident 42")
        rows = eventually(lambda: _held(visitor), "it is held on the page")
        assert rows["web-well"]["by"]
        assert rows["web-well"]["until"]
        assert rows["web-well"]["release"]["allowed"]
        assert "Released" in visitor.send(page, "/do/release")
        assert held(stage, well) == ""
        source = f"/ConfigMap/{stage.namespace}/app"
        assert "Held: ConfigMap" in visitor.send(f"/source{source}", "/do/hold", reason="edited")
        assert held(stage, build.configmap()) == "edited"
        assert visitor.document(f"/source{source}")["hold"]["why"] == "edited"
        assert "Released" in visitor.send(f"/source{source}", "/do/release")
        before = stage.template(well)
        assert "Restarted" in visitor.send(page, "/do/restart", reason="to see")
        assert stage.template(well) != before

        for path in (*PAGES, page, f"/source{source}", f"/graph{source}"):
            text = visitor.page(path)
            assert SECRET not in text
            assert encode(SECRET) not in text
        assert one.stop() == 0


def _held(visitor: Visitor) -> dict[str, dict[str, object]]:
    rows = {row["workload"]["name"]: row for row in visitor.document("/held")["rows"]}
    # It was there before: the change that stopped keeps it from rolling, too.
    return rows if rows.get("web-well", {}).get("reason") == "Held" else {}


def _late(one: build.Object) -> build.Object:
    one["spec"]["progressDeadlineSeconds"] = 2
    return one


def test_who_may_only_look_sees_grey_buttons_and_no_names_of_keys_of_secrets(
    stage: Stage, kubeconfig_for: Callable[..., Path]
) -> None:
    viewer = kubeconfig_for(READS, stage.namespace)
    stage.make(build.configmap(), build.secret("s", {"password": SECRET}))
    uses = ["configmap/app", "secret/s#password"]
    stage.make(build.deployment("web", uses=uses, annotations=ENABLED))

    with DashboardProcess(viewer, stage.namespace) as one, Visitor(one) as visitor:
        page = f"/workload/Deployment/{stage.namespace}/web"
        document = visitor.document(page)
        why = f"you may not patch deployments in namespace {stage.namespace}"
        found = {each["action"]: each["why"] for each in document["buttons"]}
        assert found == {"hold": why, "restart": why, "use": NOT_PINNED}
        text = visitor.page(page)
        assert "/do/" not in text
        assert "<button disabled" in text
        for path in (page, f"/source/Secret/{stage.namespace}/s", "/", "/timeline"):
            assert "password" not in visitor.page(path), path
        assert visitor.document("/now")["problems"], "what may not be read is said"
        source = visitor.document(f"/source/ConfigMap/{stage.namespace}/app")
        why = f"you may not patch configmaps in namespace {stage.namespace}"
        assert {each["why"] for each in source["buttons"]} == {why}


def test_what_a_person_decides_is_done_by_the_code_of_the_commands(
    stage: Stage, cluster: DevCluster, controller: Start
) -> None:
    with DashboardProcess(cluster.kubeconfig(), stage.namespace) as one, Visitor(one) as visitor:

        def press(page: str, action: str, **fields: str) -> str:
            eventually(lambda: action in _offered(visitor, page), f"{action} on {page}")
            return visitor.send(page, f"/do/{action}", **fields)

        pressed(stage, controller, press)


def test_it_looks_before_somebody_asks_and_pages_outlive_the_api_server(
    stage: Stage, fault_proxy: FaultProxy
) -> None:
    stage.make(build.configmap())
    stage.make(build.deployment("web", uses=["configmap/app"], annotations=ENABLED))

    with DashboardProcess(fault_proxy.kubeconfig(), stage.namespace) as one:
        fault_proxy.wait_for("passed", Match(path="/configmaps/app$"))
        with Visitor(one) as visitor:
            assert visitor.document("/now")["workloads"] == 1

            fault_proxy.refuse()

            def page() -> str:
                return visitor.page("/") if visitor.document("/now")["workloads"] else ""

            eventually(lambda: GONE in page(), "the page stays, and says that it may be old")
            stage.make(build.deployment("new", uses=["configmap/app"], annotations=ENABLED))
            fault_proxy.accept()
            eventually(lambda: visitor.document("/now")["workloads"] == 2, "it is new again")
            assert GONE not in page()


def _offered(visitor: Visitor, page: str) -> set[str]:
    answer = visitor.client.get(f"/api/v1{page}")
    found = answer.json().get("buttons", ()) if answer.status_code == 200 else ()
    return {each["action"] for each in found if each["allowed"]}
