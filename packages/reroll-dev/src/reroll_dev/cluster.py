"""A real control plane on this machine: up, down, and what state it is in.

Every change is made under the folder's lock, so two terminals do not get into each other's way.
`up` returns a cluster on which a Deployment can become Available, or raises and leaves nothing
running. A cluster of which a process died is not mended: the rest is ended and it starts again,
empty.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from urllib.parse import urlsplit

from reroll_dev import access, components, monitoring, processes
from reroll_dev.access import Identity
from reroll_dev.api import Api
from reroll_dev.commands import interruptible
from reroll_dev.errors import DevClusterError
from reroll_dev.layout import Layout
from reroll_dev.locks import held
from reroll_dev.neighbours import start as neighbours
from reroll_dev.neighbours.table import Neighbour
from reroll_dev.node import cgroups
from reroll_dev.node.network import Network, disconnect
from reroll_dev.node.node import Node
from reroll_dev.processes import Process
from reroll_dev.progress import Progress
from reroll_dev.start import Options, Start, calls, make_nodes
from reroll_dev.state import State, UnreadableStateError
from reroll_dev.storage import StorageError

# The API server waits for open watches when asked to stop.
GRACE = 4.0
NODE_ADVICE = "end it, and start it with one: `reroll dev down`, then `reroll dev up --node`"


class Phase(StrEnum):
    UP = "up"
    DOWN = "down"
    STARTING = "starting"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class Row:
    process: Process
    is_running: bool


@dataclass(frozen=True, slots=True)
class Status:
    phase: Phase
    message: str
    server: str = ""
    rows: tuple[Row, ...] = ()


class DevCluster:
    """The cluster of one folder, running or not."""

    def __init__(self, folder: Path, *, progress: Progress) -> None:
        self.layout = Layout(folder.absolute())
        self._progress = progress

    @property
    def folder(self) -> Path:
        return self.layout.folder

    @property
    def server(self) -> str:
        return self.status().server

    @property
    def audit_log(self) -> Path:
        return self.layout.audit

    def up(self, binaries: Mapping[str, Path], options: Options | None = None) -> bool:
        """Start it if it is not up; whether it was started now."""
        options = options or Options()
        with self._locked("starting the cluster"):
            status = self.status()
            if status.phase is Phase.UP:
                self._adapt(status, options)
                return False
            self._end_rest(status)
            _check_port(options.port)
            self._start(binaries, options)
            return True

    def add_rollouts(self, binary: Path, definitions: Path) -> None:
        """Run the Argo Rollouts controller on this cluster; nothing to do if it runs already.

        `definitions` is the file of its custom resources.
        """
        with self._locked("adding Argo Rollouts"):
            state = self._state()
            if any(process.name == components.ROLLOUTS for process in state.processes):
                return
            Start(self.layout, {components.ROLLOUTS: binary}, state).rollouts(definitions)

    def add_prometheus(self, binaries: Mapping[str, Path]) -> dict[str, str]:
        """Run a Prometheus and an Alertmanager beside this cluster; their addresses, by name."""
        names = (monitoring.PROMETHEUS, monitoring.ALERTMANAGER)
        with self._locked("adding Prometheus"):
            state = self._state()
            if not any(process.name in names for process in state.processes):
                start = Start(self.layout, binaries, state)
                start.prometheus()
                state = start.state
            ports = {each.name: each.port for each in state.processes}
        return {name: f"http://127.0.0.1:{ports[name]}" for name in names if name in ports}

    def add_neighbour(
        self, neighbour: Neighbour, binaries: Mapping[str, Path], definitions: Sequence[Path]
    ) -> dict[str, int]:
        """Run its processes beside this cluster, those that do not run yet; their ports, by name.

        `definitions` are the files of its custom resources.
        """
        names = {part.name for part in neighbour.parts}
        with self._locked(f"adding {neighbour.title}"):
            state = self._state()
            if not names & {process.name for process in state.processes}:
                start = Start(self.layout, binaries, state)
                neighbours.add(start, neighbour, definitions)
                state = start.state
        return {each.name: each.port or 0 for each in state.processes if each.name in names}

    @property
    def node(self) -> Node:
        """Its real node."""
        network = _network(self._state())
        if network is None:
            raise DevClusterError(f"the cluster in {self.folder} has no real node; {NODE_ADVICE}")
        return Node(self.layout, network, self._changing)

    def down(self) -> bool:
        """End it; whether there was anything to end."""
        if not self.folder.is_dir():
            return False
        phase = self.status().phase
        try:
            with self._locked("ending the cluster"):
                self._end()
        except StorageError as error:
            if not error.is_full:
                raise
            # The lock could not be had on a full disk; ending needs no room, and makes some.
            self._end()
        return phase is not Phase.DOWN

    def status(self) -> Status:
        try:
            state = State.load(self.layout.state)
        except UnreadableStateError:
            message = f"{self.layout.state} cannot be read, so it is not known what was started"
            return Status(Phase.BROKEN, message, rows=self._strays())
        if state is None:
            if strays := self._strays():
                return Status(Phase.BROKEN, "processes run that no state file names", rows=strays)
            return Status(Phase.DOWN, "not running")
        rows = tuple(Row(each, state.is_running(each)) for each in state.processes)
        return Status(*_verdict(state), state.server, rows)

    def kubeconfig(self, identity: str = "admin") -> Path:
        self._state()
        path = self.layout.kubeconfig(identity)
        if not path.is_file():
            known = ", ".join(sorted(file.stem for file in path.parent.glob("*.yaml")))
            raise DevClusterError(
                f"the cluster in {self.folder} has no identity {identity!r}; it has: {known}"
            )
        return path

    def add_identity(self, name: str, groups: Sequence[str] = ()) -> Path:
        """The kubeconfig of a new user who logs in with a client certificate."""
        path = self.layout.kubeconfig(name)
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._@-]*", name) or path.exists():
            raise DevClusterError(
                f"{name!r} cannot be the name of a new identity in {self.folder}: take one that is"
                " not in use, of letters, digits and ._@-"
            )
        login = access.certificate_login(self.layout, name, groups)
        access.write_kubeconfig(self.layout, Identity(name), self._state().server, login)
        return path

    def api(self, identity: str = "admin") -> Api:
        """A client; close it."""
        return Api.from_kubeconfig(self.kubeconfig(identity))

    def _state(self) -> State:
        status = self.status()
        state = State.load(self.layout.state) if status.phase is Phase.UP else None
        if state is None:
            raise DevClusterError(
                f"the cluster in {self.folder} is {status.phase}: {status.message}; start it with"
                " `reroll dev up`"
            )
        return state

    def _start(self, binaries: Mapping[str, Path], options: Options) -> None:
        """Start, and end what was started if that fails or is interrupted."""
        try:
            with interruptible():
                Start(self.layout, binaries, State.empty()).control_plane(options)
        except BaseException:
            self._end()
            raise

    def _adapt(self, status: Status, options: Options) -> None:
        """A cluster that is up already gets the nodes it lacks."""
        if options.port and not status.server.endswith(f":{options.port}"):
            raise DevClusterError(
                f"the cluster in {self.folder} is up already, at {status.server}; to have it on"
                f" port {options.port}, end it first: reroll dev down"
            )
        if options.node and _network(self._state()) is None:
            raise DevClusterError(
                f"the cluster in {self.folder} is up already, without a real node; {NODE_ADVICE}"
            )
        with self.api() as api, calls(api.server):
            self._check_version(api, options.kubernetes)
            make_nodes(api, options.nodes)

    def _check_version(self, api: Api, wanted: str) -> None:
        running = api.get("/version")["gitVersion"]
        if wanted and not running.startswith(f"v{wanted}."):
            raise DevClusterError(
                f"the cluster in {self.folder} is up already, of Kubernetes {running}; to have"
                f" {wanted}, end it first: reroll dev down"
            )

    def _end_rest(self, status: Status) -> None:
        if status.phase is not Phase.DOWN:
            self._progress.say(f"{status.message}: ending the rest, starting again, empty")
        self._end()

    def _end(self) -> None:
        """End every process of this folder, the clients first, and remove the data."""
        try:
            state = State.load(self.layout.state)
        except UnreadableStateError:
            state = None
        known = state.running() if state else ()
        pids = {process.pid for process in known}
        every = [*known, *(row.process for row in self._strays() if row.process.pid not in pids)]
        processes.end((each for each in every if each.name != components.ETCD), grace=GRACE)
        processes.end((each for each in every if each.name == components.ETCD), grace=GRACE)
        disconnect(self.folder)
        cgroups.remove(cgroups.name_of(self.folder))
        self.layout.clear()

    def _strays(self) -> tuple[Row, ...]:
        return tuple(Row(each, is_running=True) for each in processes.strays(self.folder))

    @contextmanager
    def _changing(self, purpose: str) -> Iterator[Start]:
        with self._locked(purpose):
            yield Start(self.layout, {}, self._state())

    @contextmanager
    def _locked(self, purpose: str) -> Iterator[None]:
        with _file_errors(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            with held(self.layout.lock, purpose=purpose, progress=self._progress):
                yield


def _verdict(state: State) -> tuple[Phase, str]:
    dead = state.dead()
    if state.processes and state.boot != processes.boot_id():
        return Phase.BROKEN, "the machine was restarted since, and nothing of it runs"
    if dead:
        names = ", ".join(f"{process.name} (pid {process.pid})" for process in dead)
        return Phase.BROKEN, f"{names} died"
    if not state.ready:
        return Phase.STARTING, "its start has not come to an end"
    return Phase.UP, f"running at {state.server}"


def _network(state: State) -> Network | None:
    """With a real node, the API server listens at the link to it."""
    return Network.of_host(urlsplit(state.server).hostname or "")


def _check_port(port: int | None) -> None:
    if port and not processes.is_free(port):
        raise DevClusterError(
            f"port {port} of 127.0.0.1 is in use by another program; name another one with --port,"
            " or leave that option out to get a free one"
        )


@contextmanager
def _file_errors(folder: Path) -> Iterator[None]:
    """What the file system refuses, as a sentence."""
    try:
        yield
    except ConnectionError:
        raise  # a closed terminal or pipe is no matter of files
    except OSError as error:
        raise StorageError(error, folder) from error
