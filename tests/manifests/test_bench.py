"""The measurement runs, whatever it measures."""

import subprocess
import sys

from bench.render import CONTENDERS


def test_the_figures_of_a_small_stream_are_a_table() -> None:
    argv = [sys.executable, "-m", "bench.render", "--documents", "8", "--rounds", "1"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("8 documents, 0.0 MB\n\n| figure |")
    assert done.stdout.count("\n| ") == 1 + len(CONTENDERS)
