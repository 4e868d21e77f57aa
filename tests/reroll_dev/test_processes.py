"""Processes are known by pid and start time, ended exactly, and found without a state file."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from reroll_dev import processes
from reroll_dev.processes import Process
from reroll_dev.state import State, UnreadableStateError

SLEEP = ("/bin/sh", "-c", "exec sleep 600")
STUBBORN = """
import signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("deaf", flush=True)
time.sleep(600)
"""

Spawn = Callable[..., Process]


@pytest.fixture
def spawn(tmp_path: Path) -> Iterator[Spawn]:
    started = []
    (tmp_path / "logs").mkdir()

    def start(*command: str, name: str = "toy") -> Process:
        started.append(processes.spawn(name, command or SLEEP, folder=tmp_path))
        return started[-1]

    yield start
    processes.end(started, grace=0)


def wait_for_line(process: Process, line: str) -> None:
    while line not in processes.last_lines(Path(process.log)):
        assert processes.is_alive(process)


def test_a_program_runs_in_a_session_of_its_own_until_it_is_ended(spawn: Spawn) -> None:
    process = spawn()
    assert processes.is_alive(process)
    assert os.getsid(process.pid) == process.pid

    processes.end([process], grace=10)

    assert not processes.is_alive(process)
    assert processes.exit_code(process) == -signal.SIGTERM


def test_a_program_that_ignores_the_request_to_stop_is_killed(spawn: Spawn) -> None:
    process = spawn(sys.executable, "-c", STUBBORN)
    wait_for_line(process, "deaf")

    processes.end([process], grace=0.1)

    assert processes.exit_code(process) == -signal.SIGKILL


def test_a_recycled_pid_is_not_alive_and_not_ended(spawn: Spawn) -> None:
    process = spawn()
    stranger = replace(process, started=process.started - 1)

    assert not processes.is_alive(stranger)
    processes.end([stranger], grace=0)

    assert processes.is_alive(process)


def test_a_zombie_is_dead_although_nobody_waited_for_it() -> None:
    with subprocess.Popen(["/bin/sleep", "600"]) as child:
        process = Process("toy", child.pid, processes.start_time(child.pid) or 0, None, "")
        assert processes.is_alive(process)
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)

        assert not processes.is_alive(process)


def test_the_exit_code_and_the_last_words_of_a_program_are_known(spawn: Spawn) -> None:
    process = spawn("/bin/sh", "-c", "echo bye; exit 3")
    while processes.is_alive(process):
        pass
    assert processes.exit_code(process) == 3
    assert processes.last_lines(Path(process.log)) == ["bye"]


def test_a_name_with_parentheses_and_spaces_does_not_confuse(tmp_path: Path, spawn: Spawn) -> None:
    program = tmp_path / "a) Z (b"
    program.symlink_to("/bin/sleep")
    assert processes.is_alive(spawn(str(program), "600"))


def test_strays_are_those_of_the_folder_and_no_others(tmp_path: Path, spawn: Spawn) -> None:
    ours = spawn()
    other = tmp_path / "other"
    (other / "logs").mkdir(parents=True)
    theirs = processes.spawn("toy", SLEEP, folder=other)
    try:
        assert [stray.pid for stray in processes.strays(tmp_path)] == [ours.pid]
        assert [stray.started for stray in processes.strays(tmp_path)] == [ours.started]
    finally:
        processes.end([theirs], grace=0)


def test_nothing_of_the_users_environment_reaches_a_program(
    spawn: Spawn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.invalid")
    monkeypatch.setenv("KUBECONFIG", "/elsewhere")
    process = spawn("/bin/sh", "-c", "env; echo done; exec sleep 600")
    wait_for_line(process, "done")

    said = Path(process.log).read_text()

    assert "proxy.invalid" not in said
    assert "KUBECONFIG" not in said


def test_a_free_port_can_be_bound_and_a_bound_one_is_not_free() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", processes.free_port()))
        taken.listen()
        assert not processes.is_free(taken.getsockname()[1])
    assert processes.is_free(processes.free_port())


def test_a_state_file_says_what_was_saved(tmp_path: Path, spawn: Spawn) -> None:
    state = replace(State.empty(), server="https://127.0.0.1:1", processes=(spawn(),))
    path = tmp_path / "cluster.json"
    state.save(path)

    assert State.load(path) == state
    assert state.running() == state.processes


def test_a_state_of_an_earlier_boot_names_no_running_process(spawn: Spawn) -> None:
    state = replace(State.empty(), boot="earlier", processes=(spawn(),))

    assert state.running() == ()
    assert state.dead() == state.processes


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", "7", '{"format": 2}', '{"format": 1, "processes": [{}]}', '{"format": 1}'],
    ids=lambda content: f"a state file with {content or 'nothing'}",
)
def test_is_unreadable(tmp_path: Path, content: str) -> None:
    path = tmp_path / "cluster.json"
    path.write_text(content)
    with pytest.raises(UnreadableStateError):
        State.load(path)
