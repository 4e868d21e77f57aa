"""A graph as a picture: sources on the left, workloads on the right, a curve for each use.

Pure and deterministic: the same graph is the same bytes. The picture stands alone, fetches nothing
and runs nothing; names in it are escaped.
"""

from collections.abc import Callable, Iterable, Iterator
from xml.sax.saxutils import escape, quoteattr

from reroll.answers.graph.graph import Edge, Graph
from reroll.core.model.key import Key

ROW, BOX, MARGIN, GAP = 40, 28, 20, 220
LETTER = 8.2
"""The width of a letter, a little more than it is, so that no name leaves its box."""
STYLE = """\
text { font: 13px sans-serif; fill: #222 }
rect { fill: #fff; stroke: #456; rx: 4 }
.workload rect { fill: #eaf3ff }
.missing rect { stroke: #c00; stroke-dasharray: 4 }
.orphan rect { stroke: #aaa } .orphan text { fill: #888 }
path { fill: none; stroke: #456; stroke-width: 1.3 }
path.idle { stroke: #999; stroke-dasharray: 5 4 }"""


def svg(
    graph: Graph, link: Callable[[Key], str] | None = None, root: Key | None = None
) -> Iterator[str]:
    """With `link`, for a page: each box leads somewhere, and the page has the style.

    `root` is the object that the picture is about.
    """
    sources, workloads = graph.sources, _ordered(graph)
    names = {key: f"{key}{graph.note(key)}" for key in (*sources, *workloads)}
    left, right = _width(names[key] for key in sources), _width(names[key] for key in workloads)
    rows = max(len(sources), len(workloads), 1)
    width, height = 2 * MARGIN + left + GAP + right, 2 * MARGIN + rows * ROW
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="{"group" if link else "img"}">'
    )
    yield f"<title>{len(sources)} sources and {len(workloads)} workloads</title>"
    if link is None:
        yield f"<style>{STYLE}</style>"
    at = {key: place for column in (sources, workloads) for place, key in enumerate(column)}
    begin, end = MARGIN + left, MARGIN + left + GAP
    for edge in graph.edges:
        yield _curve(begin, _middle(at[edge.source]), end, _middle(at[edge.workload]), edge)
    for key in sources:
        kind = "missing" if key in graph.missing else "orphan" if key in graph.orphans else ""
        kind = " ".join(filter(None, ("source", kind, "root" if key == root else "")))
        box = _box(names[key], kind, MARGIN, at[key], left)
        yield from _linked(box, link(key)) if link else box
    for key in workloads:
        kind = "workload root" if key == root else "workload"
        box = _box(names[key], kind, end, at[key], right)
        yield from _linked(box, link(key)) if link else box
    yield "</svg>"


def _linked(box: Iterable[str], to: str) -> Iterator[str]:
    yield f"<a href={quoteattr(to)}>"
    yield from box
    yield "</a>"


def _ordered(graph: Graph) -> tuple[Key, ...]:
    """Each workload about as high as what it uses, so that few curves cross."""
    places = {key: place for place, key in enumerate(graph.sources)}
    heights: dict[Key, list[int]] = {key: [] for key in graph.workloads}
    for edge in graph.edges:
        heights[edge.workload].append(places[edge.source])
    return tuple(sorted(heights, key=lambda key: (_mean(heights[key]), key)))


def _mean(numbers: list[int]) -> float:
    return sum(numbers) / len(numbers) if numbers else float("inf")


def _width(names: Iterable[str]) -> int:
    return int(LETTER * max(map(len, names), default=0)) + 20


def _middle(place: int) -> int:
    return MARGIN + place * ROW + BOX // 2


def _curve(x1: int, y1: int, x2: int, y2: int, edge: Edge) -> str:
    half = (x1 + x2) // 2
    line = f"M{x1} {y1} C{half} {y1} {half} {y2} {x2} {y2}"
    kind = "" if edge.rolls else ' class="idle"'
    return f'<path d="{line}"{kind}><title>{escape("; ".join(edge.hows))}</title></path>'


def _box(name: str, kind: str, x: int, place: int, width: int) -> Iterator[str]:
    y = MARGIN + place * ROW
    yield f"<g class={quoteattr(kind)}>"
    yield f'<rect x="{x}" y="{y}" width="{width}" height="{BOX}"/>'
    yield f'<text x="{x + 10}" y="{y + 19}">{escape(name)}</text></g>'
