"""The test run keeps its promises: one control plane, nothing left over, all on loopback."""

import socket
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support import session

from reroll_dev import processes
from reroll_dev.layout import Layout


def test_leftovers_of_a_killed_test_run_are_ended_and_others_left_alone(tmp_path: Path) -> None:
    killed, living = Layout(tmp_path / "run-1-1-dead"), Layout(session.new_run(tmp_path))
    spawned = []
    for layout in (killed, living):
        layout.make()
        spawned.append(processes.spawn("etcd", ("/bin/sleep", "600"), folder=layout.folder))
    try:
        session.sweep(tmp_path)
        assert [processes.is_alive(process) for process in spawned] == [False, True]
        assert not killed.folder.exists()
    finally:
        processes.end(spawned, grace=0)


def test_a_control_plane_that_is_not_built_fails_with_the_command_that_fixes_it(
    tmp_path: Path,
) -> None:
    env = {"PATH": "", "XDG_CACHE_HOME": str(tmp_path), "HOME": str(tmp_path)}
    with pytest.raises(pytest.fail.Exception, match="etcd missing; run `make control-plane`"):
        session.programs(["etcd"], env)


def test_a_test_that_uses_the_control_plane_is_marked(
    request: pytest.FixtureRequest, namespace: str
) -> None:
    assert request.node.get_closest_marker("cluster")


def test_a_test_cannot_leave_this_machine() -> None:
    with socket.socket() as stranger, pytest.raises(PermissionError, match="stay on this machine"):
        stranger.connect(("192.0.2.1", 80))
    with pytest.raises(socket.gaierror):
        socket.getaddrinfo("example.invalid", 80)


def test_tests_of_the_control_plane_can_be_left_out() -> None:
    tests = Path(__file__).with_name("test_workloads.py")
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", "not cluster", tests]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert finished.returncode == pytest.ExitCode.NO_TESTS_COLLECTED, finished.stdout
    assert "deselected" in finished.stdout
