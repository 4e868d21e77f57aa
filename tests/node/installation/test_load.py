"""The pod under load, as the kubelet and the API server see it."""

from collections.abc import Callable

from tests.node.installation.installed import NAME, Installation
from tests.node.installation.pages import page, web
from tests.node.serving import Client, ServingStage
from tests.scenarios.stage import ENABLED
from tests.support import build

from reroll_dev.api import Api, path_to

Install = Callable[..., Installation]
# Stricter than the chart's own: one answer that comes late restarts it.
PROBES = {
    "livenessProbe": {"periodSeconds": 1, "timeoutSeconds": 5, "failureThreshold": 1},
    "readinessProbe": {"periodSeconds": 1, "timeoutSeconds": 5, "failureThreshold": 1},
}
WORKLOADS, CHANGES = 40, 4
MEGABYTE = 2**20


def ready_since(installed: Installation) -> dict[str, str]:
    return {
        name: condition["lastTransitionTime"]
        for name, pod in installed.pods().items()
        for condition in pod["status"]["conditions"]
        if condition["type"] == "Ready" and condition["status"] == "True"
    }


def test_probes_are_answered_under_load_and_the_pod_stays_within_what_it_asks_for(
    install: Install, stage: ServingStage, api: Api
) -> None:
    many = [
        build.deployment(f"web-{number}", replicas=0, annotations=ENABLED, uses="configmap/app")
        for number in range(WORKLOADS)
    ]
    one = web(annotations=ENABLED)
    stage.make(page("edition 0"), *many, one)
    installed = install(PROBES)
    for each in (*many, one):
        stage.adopted(each)
    before = ready_since(installed)
    addresses = [pod["status"]["podIP"] for pod in installed.pods().values()]
    askers = [Client(f"http://{address}:8080/metrics") for address in 2 * addresses]
    for asker in askers:
        asker.start()
    for number in range(1, CHANGES + 1):
        stage.change("ConfigMap", "app", **{"index.html": f"edition {number}"})
        stage.all_answer(one, "/", f"edition {number}")
    for asker in askers:
        asker.stop()

    assert [asker.failures for asker in askers] == [[]] * len(askers)
    assert all(asker.answers.total() for asker in askers)
    assert installed.restarts() == 0
    assert ready_since(installed) == before
    [container] = api.get(path_to("Deployment", NAME, installed.home))["spec"]["template"]["spec"][
        "containers"
    ]
    assert container["resources"]["requests"] == {"cpu": "50m", "memory": "64Mi"}
    for seen in installed.stats():
        assert 10 * MEGABYTE < seen["memory"]["workingSetBytes"] < 64 * MEGABYTE
        assert seen["cpu"]["usageCoreNanoSeconds"] > 0


def test_the_network_policy_selects_the_pods_and_names_their_ports(
    install: Install, api: Api
) -> None:
    """Nothing enforces a NetworkPolicy on this node: its CNI plugins know of none."""
    installed = install()

    spec = api.get(path_to("NetworkPolicy", NAME, installed.home))["spec"]
    selector = ",".join(f"{k}={v}" for k, v in spec["podSelector"]["matchLabels"].items())
    selected = api.list(path_to("Pod", "", installed.home), labelSelector=selector)
    assert {pod["metadata"]["name"] for pod in selected} == set(installed.pods())
    [rule] = spec["ingress"]
    [port] = rule["ports"]
    for pod in selected:
        [container] = pod["spec"]["containers"]
        ports = {each["name"]: each["containerPort"] for each in container["ports"]}
        assert ports == {"http": 8080, "probes": 8081}
        assert port["port"] == "http"
