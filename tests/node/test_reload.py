"""Strategy `reload`: the server reads the new file, which the kubelet brings after a while."""

from collections.abc import Callable

from tests.node.serving import PATIENCE, PORT, ServingStage, serving
from tests.scenarios.stage import ENABLED, Controller, eventually
from tests.support import build

FILES = "/etc/configmap/files"
RELOAD = {
    **ENABLED,
    "reroll.dev/strategy": "reload",
    "reroll.dev/reload-port": str(PORT),
    # The kubelet of the development cluster brings files within 8 seconds.
    "reroll.dev/reload-again": "15s",
}


def test_a_server_that_is_asked_to_reload_has_the_new_file_and_goes_on(
    stage: ServingStage, controller: Callable[..., Controller]
) -> None:
    """Its pages are those of its last reload, whatever its files say by now."""
    server = serving(WEB_ROOT=FILES)
    web = build.deployment(replicas=2, annotations=RELOAD, mounts="configmap/files", **server)
    stage.make(build.configmap("files", {"page": "first"}), web)
    controller()
    first = stage.adopted(web)
    stage.settled(web)
    stage.all_answer(web, "/page", "first")
    pods = stage.uids(web)

    stage.change("ConfigMap", "files", page="second")

    stage.rolled(web, since=first["n"])
    eventually(lambda: "todo" not in stage.record(web), "the reload is done", PATIENCE)
    assert stage.answers(web, "/page") == ["second"] * 2
    assert stage.uids(web) == pods
    assert len(stage.revisions(web)) == 1
