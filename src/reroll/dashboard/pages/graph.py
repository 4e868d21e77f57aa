"""What is near one object, as a picture of at most 200 objects. Pure."""

from urllib.parse import quote

from reroll.answers.graph.graph import Edge, Graph
from reroll.answers.graph.neighbourhood import neighbourhood
from reroll.answers.graph.svg import svg
from reroll.core.model.key import Key
from reroll.dashboard.key_names import place
from reroll.dashboard.overview import Overview
from reroll.dashboard.schema import Ref
from reroll.dashboard.schema_objects import GraphNode, GraphPage, GraphUse

MOST = 200


def graph_page(seen: Overview, root: Key) -> tuple[GraphPage, Graph] | None:
    """The document, and what is drawn; `None` if there is no such object."""
    if root not in seen.graph.workloads and not any(
        edge.source == root for edge in seen.graph.edges
    ):
        return None
    near = neighbourhood(seen.graph, root, MOST)
    drawn = near.graph._replace(edges=tuple(map(_without_key_names, near.graph.edges)))
    sources, absent = drawn.sources, drawn.missing
    nodes = [
        GraphNode(node=Ref.of(key), source=is_source, missing=key in absent)
        for is_source, keys in ((True, sources), (False, drawn.workloads))
        for key in keys
    ]
    uses = [
        GraphUse(
            source=Ref.of(edge.source),
            workload=Ref.of(edge.workload),
            how=list(edge.hows),
            rolls=edge.rolls,
        )
        for edge in drawn.edges
    ]
    page = GraphPage(root=Ref.of(root), nodes=nodes, uses=uses, left_out=near.left_out)
    return page, drawn


def _without_key_names(edge: Edge) -> Edge:
    """A picture is about who uses what; the page of a Secret has its keys, for who may get it."""
    if edge.source.kind != "Secret":
        return edge
    return edge._replace(hows=tuple(dict.fromkeys(map(place, edge.hows))))


def path_to(page: str, key: Key) -> str:
    """The address of a page about one object."""
    return "/" + "/".join(quote(part, safe="") for part in (page, *key))


def picture(graph: Graph, root: Key) -> str:
    """Each box leads to the page of what it stands for."""
    sources = set(graph.sources)

    def link(key: Key) -> str:
        return path_to("source" if key in sources else "workload", key)

    return "\n".join(svg(graph, link, root))
