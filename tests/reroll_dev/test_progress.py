import io
import itertools
import subprocess
import sys
import threading

import pytest

from reroll_dev.progress import PlainProgress, TerminalProgress, duration, progress_on


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Signalling(io.StringIO):
    """Tells when a given text was written."""

    def __init__(self, awaited):
        super().__init__()
        self.awaited, self.seen = awaited, threading.Event()

    def write(self, text):
        if self.awaited in text:
            self.seen.set()
        return super().write(text)


@pytest.fixture(autouse=True)
def _a_terminal_that_can(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.delenv("NO_COLOR", raising=False)


def test_a_step_in_a_log_is_a_line_at_its_start_and_one_at_its_end():
    stream = io.StringIO()
    clock = itertools.count(0, 92).__next__
    with PlainProgress(stream, clock).step("etcd (1 of 6)", unit="packages") as step:
        step.count(1, 3)
    assert stream.getvalue() == "etcd (1 of 6) ...\netcd (1 of 6): done in 1m32s\n"


def test_a_step_that_fails_says_so_and_lets_the_error_through():
    stream = io.StringIO()
    clock = itertools.count(0, 5).__next__
    with pytest.raises(KeyboardInterrupt), PlainProgress(stream, clock).step("etcd"):
        raise KeyboardInterrupt
    assert stream.getvalue().splitlines()[-1] == "etcd: stopped after 5s"


@pytest.mark.parametrize(
    ("counts", "line"),
    [
        pytest.param([(12, 512)], "etcd: 12 of 512 packages, 45s so far\n", id="with a total"),
        pytest.param([(12, None)], "etcd: 12 packages, 45s so far\n", id="without a total"),
        pytest.param([], "etcd: 45s so far\n", id="with nothing counted"),
    ],
)
def test_a_long_step_keeps_the_log_alive_and_tells_how_far_it_is(counts, line):
    stream = Signalling(line)
    times = itertools.chain([0], itertools.repeat(45))
    progress = PlainProgress(stream, times.__next__, heartbeat=0.001)
    with progress.step("etcd", unit="packages") as step:
        for count in counts:
            step.count(*count)
        assert stream.seen.wait(60)


def test_no_heartbeat_comes_after_the_end():
    stream = Signalling("so far")
    with PlainProgress(stream, heartbeat=0.001).step("etcd"):
        assert stream.seen.wait(60)
    assert "done in" in stream.getvalue().splitlines()[-1]
    assert "heartbeat" not in {thread.name for thread in threading.enumerate()}


@pytest.mark.parametrize(
    ("stream", "term", "kind"),
    [
        pytest.param(Terminal(), "xterm", TerminalProgress, id="a terminal gets bars"),
        pytest.param(Terminal(), "dumb", PlainProgress, id="a dumb terminal gets lines"),
        pytest.param(Terminal(), "", PlainProgress, id="an unknown terminal gets lines"),
        pytest.param(io.StringIO(), "xterm", PlainProgress, id="a pipe gets lines"),
    ],
)
def test_the_stream_decides(stream, term, kind):
    assert isinstance(progress_on(stream, env={"TERM": term}), kind)


def test_a_terminal_shows_the_count_and_keeps_the_ended_step():
    stream = Terminal()
    with TerminalProgress(stream).step("etcd (1 of 6)", unit="packages") as step:
        step.count(3, 512)
        step.count(512, 512)
    assert "etcd (1 of 6)" in stream.getvalue()
    assert "512 of 512 packages" in stream.getvalue()
    assert "✓" in stream.getvalue()


def test_a_step_that_fails_in_a_terminal_gets_no_tick_and_the_next_one_starts_clean():
    stream = Terminal()
    progress = TerminalProgress(stream)
    with pytest.raises(KeyboardInterrupt), progress.step("etcd"):
        raise KeyboardInterrupt
    assert "✓" not in stream.getvalue()
    with progress.step("kwok"):
        pass
    assert "✓" in stream.getvalue()


def test_a_step_inside_a_step_shares_the_terminal():
    stream = Terminal()
    progress = TerminalProgress(stream)
    with progress.step("outer"), progress.step("inner [of 1]"):
        progress.say("a remark [in brackets]")
    assert "inner [of 1]" in stream.getvalue()
    assert "a remark [in brackets]" in stream.getvalue()


def test_lines_cost_no_terminal_library():
    code = (
        "import sys; from reroll_dev import binaries, progress\n"
        "with progress.progress_on(sys.stderr, env={'TERM': 'xterm'}).step('x'): pass\n"
        "raise SystemExit('rich' in sys.modules)"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], stderr=subprocess.PIPE, check=False).returncode
        == 0
    )


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.9, "0s"), (59, "59s"), (60, "1m00s"), (3725, "62m05s")]
)
def test_durations_are_short(seconds, text):
    assert duration(seconds) == text
