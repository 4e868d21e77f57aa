import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

from tests.reroll_dev.toys import Told

from reroll_dev.locks import held

HOLD = """
import sys
from pathlib import Path
from reroll_dev.locks import held
from reroll_dev.progress import PlainProgress
purpose = "busy with something that takes many words to tell"
with held(Path(sys.argv[1]), purpose=purpose, progress=PlainProgress(sys.stderr)):
    print("held", flush=True)
    sys.stdin.read()
"""


class WaitingTold(Told):
    def __init__(self):
        super().__init__()
        self.waiting = threading.Event()

    def step(self, title, *, unit=""):
        self.waiting.set()
        return super().step(title, unit=unit)


def test_the_second_waits_and_says_for_whom(tmp_path):
    first, second, order = Told(), WaitingTold(), []

    def late():
        with held(tmp_path / "lock", purpose="late", progress=second):
            order.append("second")

    with ThreadPoolExecutor() as pool:
        with held(tmp_path / "lock", purpose="building core", progress=first):
            ending = pool.submit(late)
            assert second.waiting.wait(60)
            order.append("first")
        ending.result(60)
    assert order == ["first", "second"]
    assert second.steps == [f"waiting for process {os.getpid()}, which is building core"]
    assert first.steps == []


def test_a_killed_holder_leaves_no_lock_behind(tmp_path):
    lock, told = tmp_path / "lock", Told()
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, lock], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout.readline() == "held\n"
        assert f"process {holder.pid}" in lock.read_text()
        holder.kill()
    with held(lock, purpose="next", progress=told):
        assert lock.read_text() == f"process {os.getpid()}, which is next"
    assert told.steps == []
    assert lock.read_text() == ""


def test_programs_started_under_the_lock_do_not_inherit_it(tmp_path):
    lock, told = tmp_path / "lock", Told()
    with held(lock, purpose="starting", progress=told):
        child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, close_fds=False)
    with child, held(lock, purpose="after", progress=told):
        child.stdin.close()
    assert told.steps == []
