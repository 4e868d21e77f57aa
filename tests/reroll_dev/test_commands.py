import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from reroll_dev.commands import interruptible, run
from reroll_dev.errors import DevClusterError

ENV = {"PATH": "/usr/bin:/bin"}
# The shell and its child say who they are, then stay until they are ended.
STAY = """
import sys
from pathlib import Path
from reroll_dev.commands import interruptible, run
try:
    with interruptible():
        run(["sh", "-c", sys.argv[1]], folder=Path("/"), env={"PATH": "/usr/bin:/bin"},
            on_line=lambda line: print(line, flush=True))
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
POLITE = 'sleep 1000 & echo "$$ $!" >&2; wait'
STUBBORN = "trap '' TERM; sleep 1000 & echo \"$$ $!\" >&2; wait; wait; sleep 1000"


def shell(text, **more):
    return run(["sh", "-c", text], folder=Path("/"), env=ENV, **more)


def test_the_output_the_complaints_and_the_code_are_told_apart():
    heard = []
    finished = shell("echo out; echo one >&2; echo two >&2; exit 3", on_line=heard.append)
    assert (finished.code, finished.output) == (3, "out\n")
    assert finished.complaints == ("one", "two")
    assert heard == ["one", "two"]


def test_much_output_does_not_block():
    finished = shell("yes out | head -100000; yes err | head -100000 >&2")
    assert len(finished.output.splitlines()) == 100_000
    assert set(finished.complaints) == {"err"}


def test_bytes_that_are_no_text_do_not_stop_it():
    assert shell(r"printf '\377\n' >&2; printf '\377'").code == 0


@pytest.mark.parametrize("program", ["/no/such/program", "/etc/passwd"])
def test_what_cannot_start_is_a_sentence(program):
    with pytest.raises(DevClusterError, match=f"cannot start {program} in /: .*; check"):
        run([program], folder=Path("/"), env=ENV)


@pytest.mark.parametrize("program", [POLITE, STUBBORN], ids=["polite", "deaf to SIGTERM"])
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_run_ends_the_program_and_its_children(ending, program):
    with subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import reroll_dev.commands as c; c._GRACE_SECONDS = 0.2\n" + STAY,
            program,
        ],
        stdout=subprocess.PIPE,
        text=True,
    ) as ours:
        started = [int(pid) for pid in ours.stdout.readline().split()]
        assert len(started) == 2
        ours.send_signal(ending)
        assert ours.stdout.read() == "interrupted\n"
        assert ours.wait(60) == 0
    wait_until_gone(started)


def test_an_interruption_in_the_moment_of_starting_ends_the_program_too(monkeypatch):
    started = []

    class Interrupted(subprocess.Popen):
        def __init__(self, *arguments, **more):
            super().__init__(*arguments, **more)
            started.append(self.pid)
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        shell(POLITE)
    wait_until_gone(started)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_error_while_listening_ends_the_program_too():
    started = []

    def on_line(line):
        started.extend(int(pid) for pid in line.split())
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        shell(POLITE, on_line=on_line)
    wait_until_gone(started)


def test_the_handlers_of_others_stay_and_ours_go():
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with interruptible():
            assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        with interruptible(), pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_thread_leaves_signals_alone():
    problems = []

    def work():
        try:
            with interruptible():
                pass
        except ValueError as error:
            problems.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert not problems


def wait_until_gone(pids):
    while any(_is_alive(pid) for pid in pids):  # the test's timeout is the limit
        os.sched_yield()


def _is_alive(pid):
    """A zombie, which its new parent has not yet looked after, is not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state not in {"Z", "X"}
