"""The fixtures of all tests: the run's control plane, a namespace, tools, identities, audit log.

A test that uses the control plane, directly or through another fixture, carries the marker
`cluster`.
"""

import asyncio
import ipaddress
import os
import signal
import socket
import sys
import uuid
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from tests.support import minors, session
from tests.support.tools import Audit, Grants, Identity, Runner, Tool

from reroll_dev import binaries, processes
from reroll_dev.api import Api, path_to
from reroll_dev.cluster import DevCluster
from reroll_dev.node.network import RANGE

pytest_plugins = [
    "tests.support.fixtures_fault",
    "tests.support.fixtures_image",
    "tests.support.fixtures_neighbours",
    "tests.support.fixtures_node",
    "tests.support.fixtures_prometheus",
]

# A busy machine is no reason to fail.
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")

RUN_FOLDER = pytest.StashKey[Path]()
WORKER_KEY = "reroll_run_folder"
ROLLOUTS = "rollouts-controller"
ON_REQUEST = ("browser", "builder", "neighbours", "node", "prometheus", "slow")
"""Markers of tests that run only where `-m` names them: they need more, or take long."""


def pytest_configure(config: pytest.Config) -> None:
    worker: dict[str, str] | None = getattr(config, "workerinput", None)
    folder = Path(worker[WORKER_KEY]) if worker else session.new_run(session.base_folder())
    config.stash[RUN_FOLDER] = folder
    _keep_bytecode()
    # Who asks for a loop outside of one would get a new one, which nobody closes.
    asyncio.set_event_loop(None)
    sys.addaudithook(_stay_on_this_machine)
    _heed_signals()


def _keep_bytecode() -> None:
    """Each of the processes of a run, and of the programs it starts, would compile all again."""
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


def _heed_signals() -> None:
    """A shell's background job ignores Ctrl-C, and `nohup` a hang-up.

    Programs that tests start would inherit that, and never end when tests end them.
    """
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
        if signal.getsignal(number) is signal.SIG_IGN:
            usual = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
            signal.signal(number, usual)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell each worker of pytest-xdist where the run's control plane is."""
    node.workerinput[WORKER_KEY] = str(node.config.stash[RUN_FOLDER])


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    session.config.stash[FAILED] = exitstatus != 0


FAILED = pytest.StashKey[bool]()


def pytest_unconfigure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):
        processes.let_go()  # The main process ends them.
    elif RUN_FOLDER in config.stash:
        session.finish(config.stash[RUN_FOLDER], keep_logs=config.stash.get(FAILED, True))


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config
) -> None:
    for line in minors.told(os.environ):
        terminalreporter.line(line)
    if exitstatus and (logs := config.stash[RUN_FOLDER] / "logs").is_dir():
        terminalreporter.line(f"logs of the control plane, until the next run: {logs}")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if "control_plane" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.cluster)
        if "node_programs" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.node)
        if "prometheus_programs" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.prometheus)
        if "neighbour" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.neighbours)
    _mark_further_cases(items)
    minors.leave_out(config, items, os.environ)
    asked = str(config.getoption("markexpr"))
    for tier in (one for one in ON_REQUEST if one not in asked):
        left_out = [item for item in items if item.get_closest_marker(tier)]
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=left_out)


def _mark_further_cases(items: list[pytest.Item]) -> None:
    """Of a test marked `thorough`, the first case is in every run, and the others are slow."""
    for item in items:
        if item.get_closest_marker("thorough") is None:
            continue
        case = getattr(item, "callspec", None)
        if case is not None and any(case.indices.values()):  # Whatever order they are in by now.
            item.add_marker(pytest.mark.slow)


def _stay_on_this_machine(event: str, args: tuple[Any, ...]) -> None:
    """Refuse connections to other machines, whatever library makes them."""
    if event in {"socket.connect", "socket.sendto"}:
        address = args[1]
        is_silent = event == "socket.connect" and args[0].type == socket.SOCK_DGRAM
        if isinstance(address, tuple) and not is_silent and not _is_here(address[0]):
            raise PermissionError(f"a test wanted to reach {address}; tests stay on this machine")
    if event == "socket.getaddrinfo" and not _is_address(args[0]):
        raise socket.gaierror(socket.EAI_NONAME, f"tests do not look up names: {args[0]}")


def _is_here(host: str) -> bool:
    """Whether it is this machine, or a node that runs on it."""
    if host == "localhost":
        return True
    address = ipaddress.ip_address(host.partition("%")[0])
    return address.is_loopback or address in RANGE


def _is_address(host: str | bytes | None) -> bool:
    name = host.decode() if isinstance(host, bytes) else host
    if name in {None, "", "localhost", "localhost.localdomain"}:
        return True
    try:
        ipaddress.ip_address(str(name).partition("%")[0])
    except ValueError:
        return False
    return True


@pytest.fixture(scope="session")
def control_plane() -> dict[str, Path]:
    """The programs a cluster consists of; a missing one is a failure that says what to do."""
    return session.programs(binaries.CORE, os.environ)


@pytest.fixture(scope="session")
def cluster(pytestconfig: pytest.Config, control_plane: dict[str, Path]) -> DevCluster:
    """The control plane of this run, shared by all its processes."""
    options = minors.ground(os.environ).options
    return session.shared_cluster(pytestconfig.stash[RUN_FOLDER], control_plane, options)


@pytest.fixture(scope="session")
def rollouts(cluster: DevCluster) -> DevCluster:
    """The control plane with the Argo Rollouts controller on it."""
    program = session.programs([ROLLOUTS], os.environ)[ROLLOUTS]
    definitions = binaries.asset("rollouts-crds.yaml", env=os.environ, progress=session.quiet())
    cluster.add_rollouts(program, definitions)
    return cluster


@pytest.fixture(scope="session")
def api(cluster: DevCluster) -> Iterator[Api]:
    """A client with all rights."""
    with cluster.api() as client:
        yield client


@pytest.fixture
def namespace(api: Api) -> Iterator[str]:
    """A namespace of this test's own, in which pods can be made at once."""
    name = f"t-{uuid.uuid4().hex[:8]}"
    api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    api.wait_for(path_to("ServiceAccount", "default", name), bool)
    yield name
    api.delete(path_to("Namespace", name), missing_ok=True)


@pytest.fixture(scope="session")
def tools_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home for kubectl and helm: they share what they discover and see nothing of the user's."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def kubectl(cluster: DevCluster, control_plane: dict[str, Path], tools_home: Path) -> Tool:
    """`kubectl("get", "pods", identity="alice")`, its output; fails the test if kubectl fails."""
    return Runner(control_plane["kubectl"], tools_home, lambda: cluster)


def _tool(name: str) -> Callable[..., Tool]:
    @pytest.fixture(name=name)
    def tool(
        request: pytest.FixtureRequest, control_plane: dict[str, Path], tools_home: Path
    ) -> Tool:
        """Without a cluster if `identity` is None."""
        program = session.programs([name], os.environ)[name]
        return Runner(program, tools_home, lambda: request.getfixturevalue("cluster"))

    return tool


helm = _tool("helm")
helm4 = _tool("helm4")
kustomize = _tool("kustomize")


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium."""
    from tests.support.dashboard import chromium

    with chromium() as one:
        yield one


@pytest.fixture
def kubeconfig_for(
    cluster: DevCluster, api: Api, namespace: str, tmp_path: Path
) -> Iterator[Callable[[Sequence[dict[str, Any]], str | None], Path]]:
    """`kubeconfig_for(rules, namespace=None)`: an identity with exactly these rights."""
    grants = Grants(cluster, api, namespace, tmp_path)
    yield grants
    grants.revoke()


@pytest.fixture
def audit(cluster: DevCluster, api: Api) -> Callable[[Identity], list[dict[str, Any]]]:
    """`audit(user)`: the calls of that user since the test began, one record each."""
    return Audit(cluster.audit_log, api, cluster.audit_log.stat().st_size)
