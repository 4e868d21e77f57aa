"""A graph as text: a tree, Graphviz, Mermaid, or facts for programs. Pure and deterministic."""

from collections.abc import Iterator
from typing import Any

from reroll.answers.graph.graph import Edge, Graph
from reroll.core.model.key import Key


def tree(graph: Graph, root: Key | None = None) -> Iterator[str]:
    """Sources with who uses them, by namespace; from a workload as `root`, what it uses."""
    if root is not None and root in graph.workloads:
        edges = [edge for edge in graph.edges if edge.workload == root]
        yield str(root)
        lines = [
            f"{_name(edge.source, root)}{graph.note(edge.source)}: {_how(edge)}" for edge in edges
        ]
        yield from _branches(lines or ["uses no ConfigMap or Secret"], "")
        return
    spaces: dict[str, dict[Key, list[Edge]]] = {}
    for source, users in graph.users().items():
        spaces.setdefault(source.namespace, {})[source] = users
    for namespace, sources in sorted(spaces.items()):
        yield namespace
        for left, (source, users) in zip(range(len(sources))[::-1], sources.items(), strict=True):
            yield f"{'├─ ' if left else '└─ '}{source.kind} {source.name}{graph.note(source)}"
            lines = [f"{_name(edge.workload, source)}: {_how(edge)}" for edge in users]
            yield from _branches(lines, "│  " if left else "   ")


def _branches(lines: list[str], indent: str) -> Iterator[str]:
    for place, line in enumerate(lines):
        yield f"{indent}{'└─ ' if place == len(lines) - 1 else '├─ '}{line}"


def _name(key: Key, beside: Key) -> str:
    """Without the namespace where it is that of the other end."""
    return f"{key.kind} {key.name}" if key.namespace == beside.namespace else str(key)


def _how(edge: Edge) -> str:
    return "; ".join(edge.hows) + (" (optional)" if edge.optional else "") + _rolls(edge)


def _rolls(edge: Edge) -> str:
    return "" if edge.rolls else " (does not roll)"


def dot(graph: Graph) -> Iterator[str]:
    """For Graphviz: `reroll graph -o dot | dot -Tpng`."""
    yield "digraph reroll {"
    yield "  rankdir=LR;"
    yield '  node [shape=box, fontname="sans-serif"];'
    for source in graph.sources:
        looks = ", style=dashed, color=red" if source in graph.missing else ""
        looks = ", color=gray" if source in graph.orphans else looks
        label = f", label={_quoted(str(source) + graph.note(source))}" if looks else ""
        yield f"  {_quoted(str(source))} [shape=folder{looks}{label}];"
    for workload in graph.workloads:
        yield f"  {_quoted(str(workload))};"
    for edge in graph.edges:
        looks = "" if edge.rolls else ", style=dashed"
        ends = f"{_quoted(str(edge.source))} -> {_quoted(str(edge.workload))}"
        yield f"  {ends} [tooltip={_quoted('; '.join(edge.hows))}{looks}];"
    yield "}"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    return f'"{escaped}"'


def mermaid(graph: Graph) -> Iterator[str]:
    """For Markdown that draws Mermaid."""
    sources = graph.sources
    ids = {key: f"n{place}" for place, key in enumerate((*sources, *graph.workloads))}
    yield "graph LR"
    for source in sources:
        note = graph.note(source)
        kind = ":::missing" if source in graph.missing else ":::orphan" if note else ""
        yield f'  {ids[source]}[/"{_plain(str(source) + note)}"/]{kind}'
    for workload in graph.workloads:
        yield f'  {ids[workload]}["{_plain(str(workload))}"]'
    for edge in graph.edges:
        arrow = "-->" if edge.rolls else "-.->"
        yield f"  {ids[edge.source]} {arrow} {ids[edge.workload]}"
    yield "  classDef missing stroke:#c00,stroke-dasharray:4"
    yield "  classDef orphan stroke:#999,color:#777"


def _plain(text: str) -> str:
    return text.replace("#", "#35;").replace('"', "#quot;").replace("<", "#lt;")


def facts(graph: Graph) -> dict[str, Any]:
    return {
        "sources": [
            {
                **key._asdict(),
                "missing": key in graph.missing,
                "users": len(users),
            }
            for key, users in graph.users().items()
        ],
        "workloads": [key._asdict() for key in graph.workloads],
        "uses": [
            {
                "source": edge.source._asdict(),
                "workload": edge.workload._asdict(),
                "how": list(edge.hows),
                "rolls": edge.rolls,
                "optional": edge.optional,
            }
            for edge in graph.edges
        ],
    }
