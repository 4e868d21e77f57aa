"""The part of a graph that is near one object, and small enough to be drawn. Pure."""

from typing import NamedTuple

from reroll.answers.graph.graph import Edge, Graph
from reroll.core.model.key import Key


class Neighbourhood(NamedTuple):
    graph: Graph
    left_out: int
    """Objects that are as near, and for which there was no room."""


def neighbourhood(graph: Graph, root: Key, most: int) -> Neighbourhood:
    """What `root` uses or is used by, then what has to do with those: at most so many objects.

    What is next to `root` comes first, so that only what is further away is left out before it.
    """
    by: dict[Key, list[Edge]] = {}
    for edge in graph.edges:
        by.setdefault(edge.source, []).append(edge)
        by.setdefault(edge.workload, []).append(edge)
    near, left = {root: None}, set[Key]()
    ring = [root]
    for _ in range(2):
        following = []
        for other in sorted(
            {end for node in ring for edge in by.get(node, ()) for end in edge[:2]}
        ):
            if other in near:
                continue
            if len(near) >= most:
                left.add(other)
                continue
            near[other] = None
            following.append(other)
        ring = following
    edges = tuple(edge for edge in graph.edges if edge.source in near and edge.workload in near)
    workloads = tuple(key for key in graph.workloads if key in near)
    sources = {edge.source for edge in edges}
    alone = frozenset({root} - sources - set(workloads))
    return Neighbourhood(
        Graph(edges, workloads, graph.missing & sources, graph.orphans & {root} | alone), len(left)
    )
