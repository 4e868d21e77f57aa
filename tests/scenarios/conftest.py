"""Fixtures of the scenarios: the controller as a process, on a namespace of the control plane."""

import fcntl
import os
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from tests.chart.rendered import template
from tests.conftest import RUN_FOLDER
from tests.scenarios import custom
from tests.scenarios import injecting as injections
from tests.scenarios.csi import Driver
from tests.scenarios.listener import Listener
from tests.scenarios.pins import Installation, webhook_flags
from tests.scenarios.stage import Controller, Stage, Web
from tests.support import minors, session
from tests.support.chart import FEATURES
from tests.support.command import Finished, reroll
from tests.support.tools import Runner, kubeconfig_of

from reroll.core.tables import rights
from reroll.core.tables.kinds import Kind
from reroll_dev.api import Api, path_to
from reroll_dev.cluster import DevCluster


@pytest.fixture(scope="session")
def chart_rules(control_plane: dict[str, Path], tools_home: Path) -> list[rights.Rule]:
    """What the roles of the chart allow, with every feature on."""
    helm = Runner(session.programs(["helm"], os.environ)["helm"], tools_home, _no_cluster)
    gates = {"gates": [{"name": "analysis", "analysisTemplate": "any"}]}
    features = dict.fromkeys(FEATURES, True)
    values = {"features": features, "pins": {"mode": "webhook"}, "settings": gates}
    roles = [one for one in template(helm, values) if one["kind"] in {"ClusterRole", "Role"}]
    return [rule for role in roles for rule in role.get("rules", ())]


def _no_cluster() -> DevCluster:
    raise AssertionError("the chart is rendered without a cluster")


@pytest.fixture
def reroll_kubeconfig(
    cluster: DevCluster, kubeconfig_for: Callable[..., Path], chart_rules: list[rights.Rule]
) -> Iterator[Path]:
    """An identity with the rights that the chart gives the controller, and no others.

    They are enough: whatever a scenario does with it, no role is found wanting.
    """
    since = cluster.audit_log.stat().st_size
    login = kubeconfig_for(chart_rules, None)
    yield login
    with cluster.audit_log.open("rb") as log:
        log.seek(since)
        refused = [line for line in log if b'"forbid"' in line and login.stem.encode() in line]
    assert refused == []


@pytest.fixture
def controller(
    namespace: str, reroll_kubeconfig: Path, tmp_path: Path
) -> Iterator[Callable[..., Controller]]:
    """`controller("--auto-all")`: one that is started and leads; ended when the test ends."""
    started: list[Controller] = []

    def start(*flags: str, **more: Any) -> Controller:
        log = tmp_path / f"reroll-{len(started)}.log"
        kubeconfig = more.pop("kubeconfig", reroll_kubeconfig)
        one = Controller(kubeconfig, namespace, log, flags)
        started.append(one)
        if skew := more.pop("skew", 0):
            one.program = ("-m", "tests.support.skewed", str(skew))
        one.start(**more)
        return one

    yield start
    for one in started:
        one.end()
        sys.stdout.write(one.log.read_text())  # shown with a test that failed


@pytest.fixture
def every_dialect(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is started reads the annotations of Reloader and Wave too, which it has to be told."""
    monkeypatch.setenv("REROLL_DIALECTS", "reroll,reloader,wave")


@pytest.fixture
def kind(request: pytest.FixtureRequest) -> Kind:
    """A row of the kinds table, see `for_kinds`; its API is served."""
    row: Kind = request.param
    if row.name == "Rollout":
        request.getfixturevalue("rollouts")
    return row


@pytest.fixture
def stage(api: Api, namespace: str) -> Stage:
    """What scenarios do and look at, in the test's namespace."""
    return Stage(api, namespace)


def _command(name: str) -> Callable[..., Callable[..., Finished]]:
    @pytest.fixture(name=name)
    def command(cluster: DevCluster, namespace: str) -> Callable[..., Finished]:
        """A command in the test's namespace, with all rights or those of a kubeconfig."""

        def run(*args: str | Path, identity: str | Path = "admin") -> Finished:
            where = ("-n", namespace, "--kubeconfig", kubeconfig_of(cluster, identity))
            engine = () if name in {"hold", "release"} else ("--controller-namespace", namespace)
            return reroll(name, *where, *args, *engine)

        return run

    return command


sync, plan, status, explain, restart, hold, release = map(
    _command, ("sync", "plan", "status", "explain", "restart", "hold", "release")
)


@pytest.fixture
def installation(
    cluster: DevCluster, namespace: str, request: pytest.FixtureRequest
) -> Iterator[Installation]:
    """What rewrites the pods of this test's namespace; not installed yet."""
    one = Installation(cluster.kubeconfig(), namespace)
    if not minors.ground(os.environ).policies:
        one.instead = lambda: request.getfixturevalue("webhook_elsewhere")(one)
    yield one
    one.uninstall()


@pytest.fixture
def webhook_elsewhere(
    cluster: DevCluster, another: Callable[..., Stage], tmp_path: Path
) -> Iterator[Callable[[Installation], tuple[str, ...]]]:
    """A controller that serves the webhook for the test's namespace, and looks at another one."""
    started: list[Controller] = []

    def serve(installation: Installation) -> tuple[str, ...]:
        if not started:
            place, log = another().namespace, tmp_path / "webhook.log"
            flags = ("--leader-election", "false", *webhook_flags(installation))
            started.append(Controller(cluster.kubeconfig(), place, log, flags))
            started[0].start(wait="watching")
        home = started[0].namespace
        return ("--mode", "webhook", "--url", installation.url, "--controller-namespace", home)

    yield serve
    for one in started:
        one.end()


@pytest.fixture
def web() -> Web:
    """Where the controller serves metrics and probes, started with `web.flags`."""
    return Web()


@pytest.fixture
def another(api: Api) -> Iterator[Callable[..., Stage]]:
    """`another(labels=…, annotations=…)`: one more, in which pods can be made; what to do there."""
    made: list[str] = []

    def make(**metadata: Any) -> Stage:
        name = f"e-{uuid.uuid4().hex[:8]}"
        meta = {"name": name, **metadata}
        api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": meta})
        made.append(name)
        api.wait_for(path_to("ServiceAccount", "default", name), bool)
        return Stage(api, name)

    yield make
    for name in made:
        api.delete(path_to("Namespace", name), missing_ok=True)


@pytest.fixture
def driver(api: Api, cluster: DevCluster, pytestconfig: pytest.Config) -> Iterator[Driver]:
    """Not installed yet. There is one CRD for all, so there is one such test at a time."""
    folder: Path = pytestconfig.stash[RUN_FOLDER]
    with (folder / "csi.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        one = Driver(api)
        yield one
        one.uninstall()


@pytest.fixture
def listener() -> Iterator[Listener]:
    """What listens at the address of the pods that `dev.reroll.dev/address` names."""
    one = Listener()
    thread = Thread(target=one.server.serve_forever, daemon=True)
    thread.start()
    yield one
    one.server.shutdown()
    one.server.server_close()
    thread.join()


@pytest.fixture(scope="session")
def definitions(api: Api) -> None:
    """The custom resources that `examples/kinds` and the tests of custom kinds are about."""
    custom.install(api)


@pytest.fixture
def injecting(
    stage: Stage, controller: Callable[..., Controller], kubeconfig_for: Callable[..., Path]
) -> Iterator[injections.Injecting]:
    """Injections and their targets are served, and the controller may write to those."""
    injections.install(stage.api, *injections.SHAPES)
    rules = [*injections.own_rules(), *injections.WRITABLE]
    yield injections.Injecting(stage, controller, kubeconfig_for(rules, None))
    injections.let_go(stage)


@pytest.fixture
def started(
    controller: Callable[..., Controller],
    kubeconfig_for: Callable[..., Path],
    tmp_path: Path,
    definitions: None,
) -> Callable[..., Controller]:
    """`started(rows)`: a controller with these rows, and with no more rights than they need."""

    def start(file: dict[str, Any], *flags: str) -> Controller:
        path = custom.config(tmp_path, file)
        return controller(
            *("--leader-election", "false", "--config", str(path), *flags),
            wait="watching",
            kubeconfig=custom.identity(kubeconfig_for, custom.tables(file)),
        )

    return start
