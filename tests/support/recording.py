"""Records the demo as an SVG that plays by itself: `make recording`.

The file holds what was recorded, as JSON, beside the picture that `draw` makes of it; a test makes
the picture again and compares, and another compares the text with what the demo says today.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterable, Sequence
from html import escape, unescape
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

FILE = Path(__file__).parents[2] / "docs" / "images" / "demo.svg"
UPDATE = "make recording"
LAST = "What to try next"
"""The title at which the recording ends."""
COLUMNS = 78
LONGEST_PAUSE = 1.4
"""Seconds: for so long at most nothing moves."""
HOLD = 8.0
"""Seconds for which the end is shown, before it plays again."""
CHARACTER, LINE, MARGIN, BAR = 7.83, 19, 18, 34
_DATA = re.compile(r"<metadata>(.*?)</metadata>", re.DOTALL)
_ROLLING = re.compile(r"  \d+ of \d+ updated, \d+ ready")


class Line(NamedTuple):
    at: float
    """Seconds since the first line."""
    text: str


class Text(NamedTuple):
    """One text of a row, from one time until another."""

    row: int
    look: str
    text: str
    begin: float
    end: float | None


def record(argv: Sequence[str]) -> list[Line]:
    """What a program prints, line by line, until the last title."""
    lines: list[Line] = []
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        begin = 0.0
        for printed in process.stdout or ():
            begin = begin or time.monotonic()
            lines.append(Line(round(time.monotonic() - begin, 2), printed.rstrip("\n")))
    if process.returncode:
        sys.exit(f"{' '.join(argv)} ended with {process.returncode}; nothing was recorded")
    return shown(lines)


def shown(lines: Iterable[Line]) -> list[Line]:
    """Without the last title and what follows, and without blank lines at the ends."""
    found: list[Line] = []
    for line in lines:
        if line.text == LAST:
            break
        found.append(line)
    while found and not found[0].text:
        del found[0]
    while found and not found[-1].text:
        del found[-1]
    return found


def shape(texts: Iterable[str]) -> list[str]:
    """What is the same in every run: no names of pods, no numbers, no steps of a rollout."""
    plain = [re.sub(r"nginx-\w+-\w+", "nginx-#", text) for text in texts]
    plain = [re.sub(r"\d+", "#", text) for text in plain if not _ROLLING.fullmatch(text)]
    return [text for text in plain if text]


def rows(lines: Sequence[Line]) -> list[Text]:
    """Where each text stands and when: a rollout goes on in one row, as in a terminal."""
    times = [0.4]
    for before, after in pairwise(lines):
        times.append(times[-1] + min(after.at - before.at, LONGEST_PAUSE))
    found: list[Text] = []
    row = -1
    for at, (begin, line) in enumerate(zip(times, lines, strict=True)):
        steps = bool(_ROLLING.fullmatch(line.text))
        if steps and at and _ROLLING.fullmatch(lines[at - 1].text):
            found[-1] = found[-1]._replace(end=begin)
            found.append(Text(row, look(line.text), line.text, begin, None))
            continue
        deep = " " * (len(line.text) - len(line.text.lstrip()) + 2)
        for part in textwrap.wrap(line.text, COLUMNS, subsequent_indent=deep) or [""]:
            row += 1
            found.append(Text(row, look(line.text), part, begin, None))
    return found


def look(text: str) -> str:
    """The class of a text, by what it is."""
    if text.startswith("  $ "):
        return "c"
    if text.startswith("  Event "):
        return "e"
    if "none failed" in text or _ROLLING.fullmatch(text):
        return "g"
    return "t" if re.match(r"\d\. |An nginx", text) else "p"


STYLE = """
text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
text{white-space:pre}
.p{fill:#c8d6d9}.t{fill:#fff;font-weight:700}.c{fill:#7fd7c8}.e{fill:#f2c879}.g{fill:#9fdc8a}
.n{fill:#8aa1a6}.o{opacity:0}
@media(prefers-reduced-motion:reduce){text{animation:none!important}}
"""


NAME = "make demo ARGS=--node"
STORY = (
    "A ConfigMap changes, and three pods roll once without a failed request. A label and an unused"
    " key change, and nothing rolls. A Secret changes while the controller is down, and the pods"
    " roll when it is back."
)


def draw(lines: Sequence[Line]) -> str:
    """The picture; without animations it shows the end."""
    texts = rows(lines)
    whole = max(text.begin for text in texts) + HOLD
    height = BAR + LINE * (texts[-1].row + 1) + MARGIN
    width = round(COLUMNS * CHARACTER + 2 * MARGIN)
    frames, marks = [], []
    for number, (row, style, text, begin, end) in enumerate(texts):
        if not text:
            continue
        stages = f"0%{{opacity:0}}{100 * begin / whole:.2f}%{{opacity:1}}"
        stages += f"{100 * end / whole:.2f}%{{opacity:0}}" if end else ""
        frames.append(f"@keyframes k{number}{{{stages}}}")
        hidden = " o" if end else ""
        marks.append(
            f'<text class="{style}{hidden}" x="{MARGIN}" y="{BAR + LINE * (row + 1)}"'
            f' style="animation:k{number} {whole:.1f}s step-end infinite">{escape(text)}</text>'
        )
    data = escape(json.dumps([list(line) for line in lines], ensure_ascii=False), quote=False)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
        f"<title>A recording of {NAME}</title>",
        f"<desc>{STORY}</desc>",
        f"<metadata>{data}</metadata>",
        f"<style>{STYLE}{chr(10).join(frames)}</style>",
        f'<rect width="{width}" height="{height}" rx="10" fill="#10242a"/>',
        *(
            f'<circle cx="{MARGIN + 5 + 18 * at}" cy="17" r="5.5" fill="{colour}"/>'
            for at, colour in enumerate(("#e0685e", "#e0b54e", "#6fb868"))
        ),
        f'<text class="n" x="{width // 2}" y="21" text-anchor="middle">{NAME}</text>',
    )
    return "\n".join((*head, *marks, "</svg>", ""))


def recorded(svg: str) -> list[Line]:
    """What a picture was made of."""
    data = _DATA.search(svg)
    return [Line(at, text) for at, text in json.loads(unescape(data[1]))] if data else []


def main() -> None:
    with tempfile.TemporaryDirectory() as state:
        os.environ["XDG_STATE_HOME"] = state
        lines = record([sys.executable, "-m", "reroll", "demo", "--node"])
    FILE.write_text(draw(lines), encoding="utf-8")
    sys.stdout.write(f"{FILE}: {len(lines)} lines, {lines[-1].at:.0f} seconds\n")


if __name__ == "__main__":
    main()
