"""Draws what a change does to 200 workloads: all at once, with care, and with care when it is bad.

python -m tests.simulation.picture
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.simulation.laws import record
from tests.simulation.model import NAMESPACE, Model
from tests.simulation.stories import is_well
from tests.simulation.virtual_time import run

PICTURE = Path("docs/assets/propagation-simulation.svg")
SIZE, STEP, LENGTH = 200, 0.5, 60.0
"""Workloads; seconds between two looks; seconds in the picture."""
STATES = ("behind", "under way", "hurt", "healthy")


class Run(NamedTuple):
    title: str
    counts: list[tuple[int, ...]]
    """Of each look, how many workloads are in each state."""

    @property
    def hurt(self) -> int:
        return max(one[STATES.index("hurt")] for one in self.counts)


async def _watched(title: str, value: str, **pace: str) -> Run:
    model = Model(seed=7)
    model.deployments.is_well = is_well
    model.deployments.starts = (2.0, 2.5)
    model.source()
    for number in range(SIZE):
        model.workload(f"web-{number:03}", deadline="10s", **pace)
    await model.start()
    await model.settle(quiet=60)
    model.change(value)
    counts = []
    for _ in range(int(LENGTH / STEP)):
        await model.pass_time(STEP)
        states = [_state(model, name, value) for name in model.names()]
        counts.append(tuple(states.count(state) for state in STATES))
    return Run(title, counts)


def _state(model: Model, name: str, value: str) -> str:
    state = model.deployments.states[NAMESPACE, name]
    trial = record(model.store.all("deployments")[NAMESPACE, name]).get("trial") or {}
    has_it = state.now is not None and (state.now.values or {}).get("app") == value
    if has_it and not is_well(name, {"app": value}):
        return "hurt"
    if has_it and state.now is not None and state.now.ready:
        return "healthy"
    return "under way" if trial and not trial.get("v") and not trial.get("back") else "behind"


def runs() -> list[Run]:
    careful = {"max_parallel": "doubling", "on_failure": "rollback", "revisions": "true"}
    return [
        run(_watched("all at once, a bad value", "bad", on_failure="hold")),
        run(_watched("doubling, a good value", "good", **careful)),
        run(_watched("doubling, a bad value", "bad", **careful)),
    ]


# The drawing

WIDTH, HEIGHT, TOP, LEFT, GAP = 800, 360, 66, 44, 24
PLOT_WIDTH, PLOT_HEIGHT = (WIDTH - LEFT - 16 - 2 * GAP) / 3, 220
STYLE = """\
text { font: 13px sans-serif; fill: #57606a }
.title { font-weight: bold }
.large { font: bold 15px sans-serif }
.frame { fill: none; stroke: #8c959f }
.behind { fill: #8c959f; fill-opacity: .25 }
.under-way { fill: #bf8700 }
.hurt { fill: #cf222e }
.healthy { fill: #2da44e }
@media (prefers-color-scheme: dark) { text { fill: #c9d1d9 } }"""


def svg(found: list[Run]) -> Iterator[str]:
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" role="img">'
    )
    yield f"<title>What a change does to {SIZE} workloads, in a simulation</title>"
    yield f"<style>{STYLE}</style>"
    yield f'<text x="{LEFT}" y="22" class="large">One change, {SIZE} workloads</text>'
    for number, one in enumerate(found):
        yield from _plot(LEFT + number * (PLOT_WIDTH + GAP), one)
    for place, name in enumerate(STATES):
        x = LEFT + place * 110
        yield f'<rect x="{x}" y="334" width="12" height="12" class="{_class(name)}"/>'
        yield f'<text x="{x + 18}" y="345">{name}</text>'
    yield "</svg>"


def _plot(left: float, one: Run) -> Iterator[str]:
    yield f'<text x="{left:g}" y="48" class="title">{one.title}</text>'
    below = [0] * len(one.counts)
    for place in reversed(range(len(STATES))):
        above = [low + counts[place] for low, counts in zip(below, one.counts, strict=True)]
        up = [_point(left, at, number) for at, number in enumerate(above)]
        down = [_point(left, at, number) for at, number in enumerate(below)][::-1]
        yield f'<path class="{_class(STATES[place])}" d="M{" L".join((*up, *down))} Z"/>'
        below = above
    size = f'width="{PLOT_WIDTH:g}" height="{PLOT_HEIGHT}"'
    yield f'<rect x="{left:g}" y="{TOP}" {size} class="frame"/>'
    bottom = TOP + PLOT_HEIGHT
    yield f'<text x="{left:g}" y="{bottom + 18}">0 s</text>'
    end = left + PLOT_WIDTH
    yield f'<text x="{end:g}" y="{bottom + 18}" text-anchor="end">{LENGTH:g} s</text>'
    yield f'<text x="{left:g}" y="{bottom + 38}" class="large">{one.hurt} hurt</text>'


def _point(left: float, at: int, number: int) -> str:
    x = left + PLOT_WIDTH * at / (LENGTH / STEP - 1)
    return f"{x:.1f} {TOP + PLOT_HEIGHT * (1 - number / SIZE):.1f}"


def _class(name: str) -> str:
    return name.replace(" ", "-")


def text() -> str:
    return "\n".join(svg(runs())) + "\n"


def main() -> None:
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(text())


if __name__ == "__main__":
    main()
