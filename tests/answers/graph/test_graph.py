"""Drawings of a graph: deterministic, well formed, and no name can break out of one."""

import json
import re
from xml.etree import ElementTree as ET

import pytest
from tests.support import build

from reroll.answers.graph.drawings import dot, facts, mermaid, tree
from reroll.answers.graph.graph import Edge, Graph, named, orphans
from reroll.answers.graph.svg import svg
from reroll.core.model.key import Key

APP, DB = Key("ConfigMap", "shop", "app"), Key("Secret", "shop", "db")
OLD, CA = Key("ConfigMap", "shop", "old"), Key("ConfigMap", "team", "ca")
WEB, JOBS = Key("Deployment", "shop", "web"), Key("CronJob", "shop", "nightly")
GRAPH = Graph(
    edges=(
        Edge(APP, WEB, ("envFrom of container main",), True, False),
        Edge(DB, JOBS, ("env PASSWORD of container main",), False, False),
        Edge(DB, WEB, ("env A of container main", "env B of container main"), True, True),
        Edge(CA, WEB, ("annotation",), True, False),
    ),
    workloads=(WEB, JOBS),
    missing=frozenset((DB,)),
    orphans=frozenset((OLD,)),
)
NASTY = Key("ConfigMap", "shop", '</text><script>"\\]#')
EVIL = Graph((Edge(NASTY, WEB, ('"]; x -> y',), True, False),), (WEB,), frozenset())


def test_the_tree_shows_sources_with_their_users() -> None:
    assert list(tree(GRAPH)) == [
        "shop",
        "├─ ConfigMap app",
        "│  └─ Deployment web: envFrom of container main",
        "├─ ConfigMap old (nobody uses it)",
        "└─ Secret db (missing)",
        "   ├─ CronJob nightly: env PASSWORD of container main (does not roll)",
        "   └─ Deployment web: env A of container main; env B of container main (optional)",
        "team",
        "└─ ConfigMap ca",
        "   └─ Deployment shop/web: annotation",
    ]


def test_from_a_workload_the_tree_shows_what_it_uses() -> None:
    assert list(tree(GRAPH.around(WEB), WEB)) == [
        "Deployment shop/web",
        "├─ ConfigMap app: envFrom of container main",
        "├─ Secret db (missing): env A of container main; env B of container main (optional)",
        "└─ ConfigMap team/ca: annotation",
    ]


def test_around_a_source_there_are_its_users_only() -> None:
    found = GRAPH.around(DB)
    assert (found.sources, found.workloads) == ((DB,), (JOBS, WEB))
    assert found.missing == {DB}
    assert GRAPH.around(OLD).sources == (OLD,)


@pytest.mark.parametrize("graph", [GRAPH, EVIL, Graph((), (), frozenset())])
def test_the_picture_is_well_formed_and_says_every_name(graph: Graph) -> None:
    text = "\n".join(svg(graph))
    root = ET.fromstring(text)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    names = {one.text for one in root.iter("{http://www.w3.org/2000/svg}text")}
    assert names == {f"{key}{graph.note(key)}" for key in (*graph.sources, *graph.workloads)}
    assert len(list(root.iter("{http://www.w3.org/2000/svg}path"))) == len(graph.edges)
    assert not list(root.iter("{http://www.w3.org/2000/svg}script"))
    assert text == "\n".join(svg(graph))


def test_boxes_do_not_overlap_and_stay_in_the_picture() -> None:
    root = ET.fromstring("\n".join(svg(GRAPH)))
    boxes = [one.attrib for one in root.iter("{http://www.w3.org/2000/svg}rect")]
    spots = {(box["x"], box["y"]) for box in boxes}
    assert len(spots) == len(boxes)
    for box in boxes:
        assert int(box["x"]) + int(box["width"]) < int(root.attrib["width"])
        assert int(box["y"]) + int(box["height"]) < int(root.attrib["height"])


def test_graphviz_and_mermaid_name_every_node_once() -> None:
    lines = list(dot(GRAPH))
    assert lines[0] == "digraph reroll {"
    missing = 'style=dashed, color=red, label="Secret shop/db (missing)"'
    assert f'  "Secret shop/db" [shape=folder, {missing}];' in lines
    edge = '"Secret shop/db" -> "CronJob shop/nightly"'
    assert f'  {edge} [tooltip="env PASSWORD of container main", style=dashed];' in lines
    drawn = "\n".join(mermaid(GRAPH))
    assert drawn.startswith("graph LR\n")
    assert 'n3[/"Secret shop/db (missing)"/]:::missing' in drawn
    assert "n3 -.-> n5" in drawn
    assert len(re.findall(r"^  n\d+\[", drawn, re.MULTILINE)) == 6


def test_a_name_cannot_break_out_of_a_text() -> None:
    [line] = [line for line in dot(EVIL) if "folder" in line]
    assert line == '  "ConfigMap shop/</text><script>\\"\\\\]#" [shape=folder];'
    assert '"ConfigMap shop/#lt;/text>#lt;' not in "\n".join(dot(EVIL))
    [node] = [line for line in mermaid(EVIL) if line.startswith("  n0[")]
    assert node.count('"') == 2


def test_programs_get_the_same_facts() -> None:
    found = facts(GRAPH)
    assert json.loads(json.dumps(found)) == found
    users = {one["name"]: (one["missing"], one["users"]) for one in found["sources"]}
    assert users == {"app": (False, 1), "old": (False, 0), "db": (True, 2), "ca": (False, 1)}
    assert len(found["uses"]) == 4


def test_whatever_field_is_called_after_configs_names_one() -> None:
    pod = build.deployment("web", uses=["configmap/a", "secret/b#k"], mounts=["secret/c"])
    ingress = {"spec": {"tls": [{"secretName": "d", "hosts": ["web"]}]}}
    account = {"secrets": [{"name": "e"}], "imagePullSecrets": [{"name": "f"}]}
    annotated = {"nginx.ingress.kubernetes.io/auth-secret": "shop/g"}
    found = set(named([pod, ingress, account, annotated]))
    assert found == set("abcdefg")


def test_what_machines_keep_for_themselves_is_no_orphan() -> None:
    from reroll.core.model.metadata import Metadata

    stubs = {
        APP: Metadata("app"),
        OLD: Metadata("old"),
        Key("ConfigMap", "shop", "kube-root-ca.crt"): Metadata("kube-root-ca.crt"),
        Key("Secret", "shop", "v1"): Metadata("v1", labels={"owner": "helm"}),
        Key("Secret", "shop", "db-1"): Metadata("db-1", labels={"reroll.dev/copy-of": "db"}),
    }
    assert orphans(stubs, {("shop", "app")}) == {OLD}
