"""One start of a control plane, in order: files, etcd, API server, the rest at once, the proof.

The state file is written after each process, so that whatever happens in between, the next run
knows what to end. A port that was free when it was chosen may be taken when it is used: then
another one is tried.
"""

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from http.client import HTTPException
from pathlib import Path

from reroll_dev import access, components, monitoring, processes, readiness
from reroll_dev.access import Identity
from reroll_dev.api import Api, ApiError
from reroll_dev.errors import DevClusterError
from reroll_dev.kubernetes import AS_IT_COMES, Switches
from reroll_dev.layout import Layout
from reroll_dev.node import start as node
from reroll_dev.processes import Process
from reroll_dev.readiness import Check
from reroll_dev.state import State

PORT_TRIES = 5
ROOM = 256 << 20
"""Bytes that must be free on the disk: logs, audit log and etcd's data of a short session."""


@dataclass(frozen=True, slots=True)
class Options:
    nodes: int = 3
    port: int | None = None
    """Of the API server; None takes a free one."""
    identities: tuple[str, ...] = ()
    """Beside admin, reroll and alice."""
    node: bool = False
    """Whether there is a real node, on which pods run."""
    kubernetes: str = ""
    """The minor version that it has to be of; empty for that of the programs, whichever it is."""
    switches: Switches = AS_IT_COMES


class ComponentDiedError(DevClusterError):
    def __init__(self, process: Process) -> None:
        self.lines = processes.last_lines(Path(process.log))
        code = processes.exit_code(process)
        ending = f" with exit code {code}" if code is not None else ""
        words = "\n".join(f"    {line}" for line in self.lines) or "    (nothing)"
        super().__init__(
            f"{process.name} ended{ending}; {_advice(process, self.lines)}\n"
            f"  the last words of its log {process.log} are:\n{words}"
        )


def _is_about_port(error: BaseException) -> bool:
    lines = error.lines if isinstance(error, ComponentDiedError) else ()
    return any("address already in use" in line for line in lines)


def _advice(process: Process, lines: Sequence[str]) -> str:
    folder = Path(process.log).parent
    full = any("no space left on device" in line for line in lines)
    if full or shutil.disk_usage(folder).free < 1 << 20:
        return f"the disk that holds {folder} is full: free some space and run it again"
    if any("unknown flag" in line for line in lines):
        return (
            "it is of a version that this cluster does not know: unset KUBEBUILDER_ASSETS,"
            " or set it to binaries of the versions that `reroll dev build` makes"
        )
    return "read its log, and run it again"


@dataclass(slots=True)
class Start:
    layout: Layout
    binaries: Mapping[str, Path]
    state: State

    def control_plane(self, options: Options) -> None:
        self._prepare()
        network = node.begin(self) if options.node else None
        access.write_authority(self.layout, network.server_addresses if network else ())
        if network:
            access.write_kubelet_certificates(self.layout, str(network.node))
        etcd = self.serve(components.ETCD, self._etcd, self._is_healthy)
        known = (*access.PEOPLE, *access.COMPONENTS, *(access.OF_NODE if network else ()))
        identities = (*known, *map(Identity, options.identities))
        tokens = access.new_tokens(self.layout, identities)

        def apiserver(port: int) -> list[str]:
            host = network.host if network else "127.0.0.1"
            self._announce(f"https://{host}:{port}", identities, tokens)
            binary = self.binaries[components.APISERVER]
            line = components.apiserver(
                binary, self.layout, port, etcd_port=etcd.port or 0, network=network
            )
            return [*line, *options.switches.flags]

        self.serve(components.APISERVER, apiserver, self._is_serving, options.port)
        for name, command in (
            (components.CONTROLLERS, components.controller_manager),
            (components.SCHEDULER, components.scheduler),
            (components.KWOK, partial(components.kwok, network=network)),
        ):
            self.spawn(name, command(self.binaries[name], self.layout))
        with self._admin() as api, calls(api.server, self.check):
            make_nodes(api, options.nodes)
            if network:
                node.finish(self, network, api)
            readiness.prove(api, check=self.check, pods=node.PROBE if network else {})
        self._save(replace(self.state, ready=True))

    def rollouts(self, definitions: Path) -> None:
        """Add the Argo Rollouts controller to a control plane that runs."""
        self.define(definitions)
        binary = self.binaries[components.ROLLOUTS]
        self.serve(
            components.ROLLOUTS,
            lambda port: components.rollouts(binary, self.layout, port),
            lambda port: readiness.answers(port, "/healthz"),
        )

    def prometheus(self) -> None:
        """Add a Prometheus and an Alertmanager; the first to come tells the other where it is."""
        alerts = processes.free_port()
        monitoring.write_configs(self.layout, alerts)
        for name, command, port in (
            (monitoring.ALERTMANAGER, monitoring.alertmanager, alerts),
            (monitoring.PROMETHEUS, monitoring.prometheus, None),
        ):
            line = partial(command, self.binaries[name], self.layout)
            self.serve(name, line, lambda port: readiness.answers(port, monitoring.READY), port)

    def define(self, definitions: Path) -> None:
        """Have the custom resources of this file served."""
        import yaml

        text = definitions.read_text(encoding="utf-8")
        resources = [one for one in yaml.load_all(text, yaml.CSafeLoader) if one]
        self.make(*resources)
        with self._admin() as api, calls(api.server, self.check):
            for resource in resources:
                readiness.established(api, resource, check=self.check)

    def make(self, *manifests: Mapping[str, object]) -> None:
        """Have these objects; those that are there already stay as they are."""
        with self._admin() as api, calls(api.server, self.check):
            for manifest in manifests:
                _create(api, manifest)

    def check(self) -> None:
        for process in self.state.processes:
            if not processes.is_alive(process):
                raise ComponentDiedError(process)

    def _prepare(self) -> None:
        folder = self.layout.folder
        if (free := shutil.disk_usage(folder).free) < ROOM:
            raise DevClusterError(
                f"the disk that holds {folder} has {free >> 20} MiB free, and a cluster needs"
                f" {ROOM >> 20}; free some space, or name another place with --folder"
            )
        self.layout.make()
        components.write_configs(self.layout)

    def _etcd(self, port: int) -> list[str]:
        return components.etcd(self.binaries[components.ETCD], self.layout, port)

    def _announce(
        self, server: str, identities: Iterable[Identity], tokens: Mapping[str, str]
    ) -> None:
        for identity in identities:
            login = {"token": tokens[identity.name]}
            access.write_kubeconfig(self.layout, identity, server, login)
        self._save(replace(self.state, server=server))

    def serve(
        self,
        name: str,
        command: Callable[[int], Sequence[str]],
        is_ready: Callable[[int], bool],
        port: int | None = None,
        *,
        env: Mapping[str, str] | None = None,
    ) -> Process:
        """Start what listens on a port, and wait until it does."""
        for attempt in range(1, PORT_TRIES + 1):
            chosen = port or processes.free_port()
            process = self.spawn(name, command(chosen), port=chosen, env=env)
            ready = partial(is_ready, chosen)
            try:
                readiness.until(ready, what=f"the start of {name}", check=self.check)
            except BaseException as error:
                self.withdraw(process.name, grace=1)
                if port or attempt == PORT_TRIES or not _is_about_port(error):
                    raise
            else:
                return process
        raise AssertionError("the last try returns or raises")

    def spawn(
        self,
        name: str,
        command: Sequence[str],
        *,
        port: int | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Process:
        """Start a process of this cluster, and write that down."""
        try:
            process = processes.spawn(name, command, folder=self.layout.folder, port=port, env=env)
        except OSError as error:
            raise DevClusterError(
                f"cannot start {name} ({command[0]}): {error.strerror}; make it an executable of"
                " this machine, or remove it and run `reroll dev build`"
            ) from error
        self._save(replace(self.state, processes=(*self.state.processes, process)))
        return process

    def withdraw(self, name: str, *, grace: float) -> None:
        """End a process, and write down that it is none of this cluster's any more."""
        processes.end((each for each in self.state.processes if each.name == name), grace=grace)
        rest = tuple(each for each in self.state.processes if each.name != name)
        self._save(replace(self.state, processes=rest))

    def _save(self, state: State) -> None:
        self.state = state
        state.save(self.layout.state)

    def _admin(self) -> Api:
        return Api.from_kubeconfig(self.layout.kubeconfig("admin"))

    def _is_healthy(self, port: int) -> bool:
        # An open port is not enough: an API server that comes too early tries again a second later.
        return readiness.answers(port, "/health")

    def _is_serving(self, _port: int) -> bool:
        with self._admin() as api:
            return readiness.is_serving(api)


@contextmanager
def calls(server: str, check: Check = lambda: None) -> Iterator[None]:
    """What goes wrong on the way to the API server, as a sentence; a death comes first."""
    try:
        yield
    except (ApiError, OSError, HTTPException) as error:
        check()
        raise DevClusterError(
            f"the API server at {server} did not do what was asked ({error});"
            " see `reroll dev status` and `reroll dev logs`"
        ) from error


def make_nodes(api: Api, count: int) -> None:
    """Make those that are missing of `node-0` … ; more than `count` is fine too."""
    for number in range(count):
        _create(api, components.node(f"node-{number}"))


def _create(api: Api, manifest: Mapping[str, object]) -> None:
    try:
        api.create(manifest)
    except ApiError as error:
        if error.status != 409:
            raise
