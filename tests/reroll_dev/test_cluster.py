"""A development cluster that does not start, or was left behind by one that did."""

import errno
import os
import socket
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pytest
from tests.support import session

from reroll_dev import components, processes, start
from reroll_dev.cluster import DevCluster, Phase
from reroll_dev.errors import DevClusterError
from reroll_dev.layout import Layout, default_folder
from reroll_dev.processes import Process
from reroll_dev.start import Options, Start
from reroll_dev.state import State
from reroll_dev.storage import StorageError

HEALTHY = """
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
[url] = [word for word in sys.argv if word.startswith("--listen-client-urls=")]
http.server.HTTPServer(("127.0.0.1", int(url.rpartition(":")[2])), Handler).serve_forever()
"""


@pytest.fixture
def new(tmp_path: Path) -> Iterator[DevCluster]:
    """A cluster that was never started; whatever a test starts in its folder is ended."""
    cluster = DevCluster(tmp_path / "cluster", progress=session.quiet())
    yield cluster
    cluster.down()


@pytest.fixture
def sleeper(new: DevCluster) -> Process:
    """A process of the cluster's folder that the state file says nothing of."""
    new.layout.make()
    return processes.spawn("etcd", ("/bin/sleep", "600"), folder=new.folder)


def script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def fake(tmp_path: Path, text: str) -> dict[str, Path]:
    """Programs that are all the same script."""
    program = script(tmp_path / "program", text)
    return dict.fromkeys(components.NEEDED, program)


# What goes wrong at the start


def test_a_component_that_ends_at_once_is_shown_with_its_last_words(
    new: DevCluster, tmp_path: Path
) -> None:
    with pytest.raises(DevClusterError) as error:
        new.up(fake(tmp_path, "echo the sky fell; exit 7"))

    log = new.layout.logs / "etcd.log"
    assert "etcd ended with exit code 7" in str(error.value)
    assert f"{log} are:\n    the sky fell" in str(error.value)
    assert new.status().phase is Phase.DOWN
    assert log.read_text() == "the sky fell\n"


@pytest.mark.parametrize(
    ("words", "advice"),
    [
        ("write: no space left on device", "is full: free some space"),
        ("Error: unknown flag: --bind", "unset KUBEBUILDER_ASSETS"),
    ],
)
def test_last_words_that_are_understood_come_with_advice(
    new: DevCluster, tmp_path: Path, words: str, advice: str
) -> None:
    with pytest.raises(DevClusterError, match=advice):
        new.up(fake(tmp_path, f"echo '{words}'; exit 1"))


def test_a_program_that_cannot_be_executed_is_named(new: DevCluster, tmp_path: Path) -> None:
    programs = fake(tmp_path, "")
    programs["etcd"].chmod(0o644)
    with pytest.raises(
        DevClusterError, match=r"cannot start etcd \(.*program\): Permission denied"
    ):
        new.up(programs)


def test_a_component_killed_while_others_start_ends_them_all(
    new: DevCluster, tmp_path: Path
) -> None:
    # etcd seems healthy, then the API server dies: etcd is ended too.
    programs = fake(tmp_path, "exit 1")
    programs["etcd"] = script(tmp_path / "etcd", f"exec {sys.executable} -c '{HEALTHY}' \"$@\"")
    with pytest.raises(DevClusterError, match="kube-apiserver ended"):
        new.up(programs)

    assert processes.strays(new.folder) == []


def test_a_busy_port_is_refused_before_anything_starts(new: DevCluster, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(DevClusterError, match=f"port {port} of 127.0.0.1 is in use.*--port"):
            new.up(fake(tmp_path, "exit 1"), Options(port=port))


def test_a_port_that_was_taken_in_between_is_replaced(
    new: DevCluster, control_plane: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    new.layout.make()
    begun = Start(new.layout, control_plane, State.empty())
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        ports = iter([taken.getsockname()[1], free := processes.free_port()])
        monkeypatch.setattr(processes, "free_port", lambda: next(ports))
        process = begun.serve("etcd", begun._etcd, begun._is_healthy)

    assert process.port == free
    assert begun.state.processes == (process,)


def test_a_full_disk_is_noticed_before_anything_starts(
    new: DevCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(start, "ROOM", 1 << 62)
    with pytest.raises(DevClusterError, match=r"MiB free, and a cluster needs .*free some space"):
        new.up(fake(tmp_path, "exit 1"))


def test_a_file_in_the_way_of_the_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    cluster = DevCluster(tmp_path / "file" / "cluster", progress=session.quiet())
    with pytest.raises(DevClusterError, match=f"cannot write {tmp_path}/file.*a file in the way"):
        cluster.up({})


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.ENOSPC, "the disk is full: free some space"),
        (errno.EROFS, "name another place with --folder or XDG_STATE_HOME"),
        (errno.EACCES, "name another place with --folder or XDG_STATE_HOME"),
        (errno.EIO, "name another place"),
    ],
    ids=["a full disk", "a read-only disk", "a forbidden folder", "a broken disk"],
)
def test_comes_with_advice(number: int, advice: str) -> None:
    error = OSError(number, os.strerror(number), "/there/cluster.json")
    sentence = str(StorageError(error, Path("/there")))
    assert sentence.startswith(f"cannot write /there/cluster.json ({os.strerror(number)}); ")
    assert advice in sentence


# What was left behind


def test_down_ends_what_a_lost_state_file_named(new: DevCluster, sleeper: Process) -> None:
    new.layout.state.write_text("{ torn")
    status = new.status()
    assert status.phase is Phase.BROKEN
    assert "cluster.json cannot be read" in status.message

    assert new.down()

    assert not processes.is_alive(sleeper)
    assert new.status().phase is Phase.DOWN


def test_down_ends_a_cluster_that_filled_the_disk(
    new: DevCluster, sleeper: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_room(*_: object, **__: object) -> NoReturn:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("reroll_dev.cluster.held", no_room)
    new.down()

    assert not processes.is_alive(sleeper)


def test_down_leaves_the_process_alone_that_got_a_recycled_pid(
    new: DevCluster, tmp_path: Path
) -> None:
    elsewhere = Layout(tmp_path / "elsewhere")
    elsewhere.make()
    stranger = processes.spawn("stranger", ("/bin/sleep", "600"), folder=elsewhere.folder)
    new.layout.make()
    recycled = replace(stranger, started=stranger.started - 1)
    replace(State.empty(), ready=True, processes=(recycled,)).save(new.layout.state)
    try:
        assert "stranger" in new.status().message
        new.down()
        assert processes.is_alive(stranger)
    finally:
        processes.end([stranger], grace=0)


def test_a_state_of_an_earlier_boot_says_so_and_is_cleared(
    new: DevCluster, sleeper: Process
) -> None:
    old = State("an earlier boot", "https://127.0.0.1:1", ready=True, processes=(sleeper,))
    old.save(new.layout.state)
    assert "the machine was restarted" in new.status().message

    new.down()

    assert new.status().phase is Phase.DOWN


def test_a_start_that_was_cut_short_is_told_apart(new: DevCluster, sleeper: Process) -> None:
    replace(State.empty(), processes=(sleeper,)).save(new.layout.state)
    assert new.status().phase is Phase.STARTING


def test_down_where_nothing_ever_was_makes_no_folder(new: DevCluster) -> None:
    assert not new.down()
    assert not new.folder.exists()


def test_a_question_to_a_cluster_that_is_down_says_how_to_start_it(new: DevCluster) -> None:
    with pytest.raises(
        DevClusterError, match=r"is down: not running; start it with `reroll dev up`"
    ):
        new.kubeconfig()


@pytest.mark.parametrize(
    ("env", "folder"),
    [
        ({"XDG_STATE_HOME": "/state", "HOME": "/home/me"}, "/state/reroll/dev/one"),
        ({"XDG_STATE_HOME": "", "HOME": "/home/me"}, "/home/me/.local/state/reroll/dev/one"),
    ],
)
def test_the_folder_follows_the_environment(env: dict[str, str], folder: str) -> None:
    assert default_folder("one", env) == Path(folder)


def test_a_cluster_that_is_up_does_not_become_one_of_another_version(cluster: DevCluster) -> None:
    with cluster.api() as api:
        running = api.get("/version")
    other = "1.33" if running["minor"] != "33" else "1.36"
    same = f"{running['major']}.{running['minor']}"

    with pytest.raises(
        DevClusterError, match=rf"of Kubernetes v{same}\.\d+; to have {other}, end it first"
    ):
        cluster.up({}, Options(kubernetes=other))
    assert cluster.up({}, Options(kubernetes=same)) is False


def test_an_addition_that_does_not_start_leaves_the_cluster_as_it_was(
    new: DevCluster, sleeper: Process, tmp_path: Path
) -> None:
    state = replace(State.empty(), ready=True, processes=(sleeper,))
    begun = Start(new.layout, fake(tmp_path, "echo no; exit 1"), state)
    with pytest.raises(DevClusterError, match="addition ended with exit code 1"):
        begun.serve("addition", lambda port: [str(tmp_path / "program")], lambda port: False)

    assert begun.state == state
    assert new.status().phase is Phase.UP
