"""`make demo ARGS=--node`: the demo with a page to see."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.support.recording import FILE, UPDATE, Line, recorded, shape, shown


def test_the_page_is_shown_before_and_after_and_no_request_fails(
    node_programs: Mapping[str, Path], tmp_path: Path
) -> None:
    env = {**os.environ, "XDG_STATE_HOME": str(tmp_path), "http_proxy": "http://127.0.0.1:1"}
    command = [sys.executable, "-m", "reroll", "demo", "--node"]

    done = subprocess.run(
        command, env=env, text=True, capture_output=True, check=False, timeout=280
    )

    assert done.returncode == 0, done.stderr
    lines = [line.strip() for line in done.stdout.splitlines()]
    curled = [lines[at + 1] for at, line in enumerate(lines) if line.startswith("$ curl http://")]
    assert curled == ["Hello world", "updated"]
    visits = [line for line in lines if "requests were made during the roll" in line]
    assert [line.partition(": ")[2] for line in visits] == ["none failed"] * 2
    assert not any(line.startswith("0 ") for line in visits)
    today = [line.text for line in shown(Line(0, text) for text in done.stdout.splitlines())]
    before = [line.text for line in recorded(FILE.read_text(encoding="utf-8"))]
    assert shape(today) == shape(before), f"the recording shows another demo; run `{UPDATE}`"
