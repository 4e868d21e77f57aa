"""The neighbours as a table, and the start of one that is a few lines of Python."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support import session
from tests.support.command import reroll

from reroll.cli.errors import Exit
from reroll_dev import binaries, kubernetes
from reroll_dev.api import Api, path_to
from reroll_dev.cli.build import neighbours
from reroll_dev.cluster import DevCluster, Phase
from reroll_dev.errors import DevClusterError
from reroll_dev.gomod import Module
from reroll_dev.neighbours.programs import FLUX, KUSTOMIZATIONS, SOURCES
from reroll_dev.neighbours.table import NAMES, NEIGHBOURS, PROCESSES, Neighbour, Part, Place, named

GUIDES = Path(__file__).parents[2] / "docs" / "guides"
PAGES = {"sealed-secrets": "with-external-secrets.md"}
"""Of neighbours without a page of their own."""
ORDER = ["What to set", "What was tried"]


@pytest.fixture(scope="module")
def cluster(
    control_plane: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[DevCluster]:
    """One of its own: while a process of a neighbour ends, its cluster counts as broken."""
    own = DevCluster(tmp_path_factory.mktemp("beside") / "cluster", progress=session.quiet())
    own.up(control_plane)
    yield own
    own.down()


@pytest.fixture(scope="module")
def api(cluster: DevCluster) -> Iterator[Api]:
    with cluster.api() as client:
        yield client


ASKED = """
import http.server, os, pathlib, sys
login = pathlib.Path(os.environ["KUBECONFIG"]).name
class Asked(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/ready" and login == "toys.yaml" else 500)
        self.end_headers()
print(*sys.argv[1:], flush=True)
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Asked).serve_forever()
"""
TOY = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: toys.example.invalid}
spec:
  group: example.invalid
  names: {kind: Toy, plural: toys}
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
---
"""


@pytest.mark.parametrize("row", NEIGHBOURS, ids=NAMES)
def test_everything_a_neighbour_needs_is_in_the_tables(row: Neighbour) -> None:
    found = {binary.name: binary for binary in binaries.ALL}
    assert {found[name].module for name in row.programs} == {row.module}
    assert {one.name: one.module for one in binaries.ASSETS}.items() >= dict.fromkeys(
        row.definitions, row.module
    ).items()
    assert str(row.version) in (row.module.folder / "go.sum").read_text()


def test_the_guide_names_each_neighbour_with_its_version() -> None:
    guide = (GUIDES / "develop.md").read_text()
    for row in NEIGHBOURS:
        assert f"| `{row.name}` | {row.title} {row.version.bare} |" in guide


def tried(page: str) -> str:
    """The part of a guide that says what was tried."""
    text = (GUIDES / page).read_text(encoding="utf-8")
    return text.partition("\n## What was tried\n")[2].partition("\n## ")[0]


@pytest.mark.parametrize("row", NEIGHBOURS, ids=NAMES)
def test_a_guide_says_with_which_versions_its_neighbour_was_tried(row: Neighbour) -> None:
    said = tried(PAGES.get(row.name, f"with-{row.name}.md"))
    assert re.search(rf"{row.title.rpartition(' ')[2]} {re.escape(row.version.bare)}\b", said)
    assert f"Kubernetes {kubernetes.NEWEST.name}" in said
    assert "`make test-neighbours`" in said


def test_the_guide_for_flux_names_the_version_of_its_other_controller() -> None:
    version = FLUX.version_of(SOURCES)
    assert f"source-controller {version.bare}" in (GUIDES / "develop.md").read_text()
    assert version == FLUX.version_of(KUSTOMIZATIONS), "the guide names both with one version"


@pytest.mark.parametrize("page", sorted(GUIDES.glob("with-*.md")), ids=lambda page: page.stem)
def test_a_guide_has_its_example_first_and_then_what_to_set_and_what_was_tried(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    heads = [head for head in re.findall(r"(?m)^## (.*)$", text) if head in ORDER]
    assert heads == ORDER
    assert text.index("```yaml title=") < text.index("\n## ")


@pytest.mark.parametrize("row", NEIGHBOURS, ids=NAMES)
def test_a_neighbour_listens_on_this_machine_alone(row: Neighbour, tmp_path: Path) -> None:
    ports = {part.name: 4000 + number for number, part in enumerate(row.parts)}
    place = Place(tmp_path / "login.yaml", tmp_path, ports)
    for part in row.parts:
        words = part.arguments(place, 5000)
        assert any("5000" in word for word in words)
        assert not [word for word in words if "=:" in word or "0.0.0.0" in word]


def test_processes_of_neighbours_have_names_of_their_own() -> None:
    assert len(set(PROCESSES)) == len(PROCESSES)
    assert not set(PROCESSES) & set(binaries.CORE)


def test_neighbours_are_chosen_by_name_each_once_or_all() -> None:
    first, second = NAMES[:2]
    assert [row.name for row in neighbours(f"{second},{first},{second}")] == [first, second]
    assert neighbours("all") == NEIGHBOURS


def test_a_neighbour_that_is_none_is_told_with_those_there_are() -> None:
    finished = reroll("dev", "build", "--neighbours", "kargo")
    assert finished.code == Exit.USAGE
    assert f"there is no kargo; there is {', '.join(NAMES)}" in finished.err
    with pytest.raises(DevClusterError, match="no neighbour 'kargo'; there is"):
        named("kargo")


def test_a_neighbour_runs_beside_the_cluster_with_a_login_and_its_resources_and_is_added_once(
    cluster: DevCluster, api: Api, tmp_path: Path
) -> None:
    definitions = tmp_path / "crds.yaml"
    definitions.write_text(TOY)
    script = tmp_path / "toy.py"
    script.write_text(ASKED)
    meta = {"name": "needed", "namespace": "toys"}
    row = Neighbour(
        "toys",
        "Toys",
        Module("toys", tmp_path),
        "",
        (
            Part("toy-one", "toy", lambda _, port: (str(script), str(port)), "/ready"),
            Part(
                "toy-two",
                "toy",
                lambda place, port: (str(script), str(port), place.at("toy-one")),
                "",
            ),
        ),
        ("crds.yaml",),
        objects=({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta},),
    )
    programs = {"toy": Path(sys.executable)}
    try:
        ports = cluster.add_neighbour(row, programs, [definitions])
        assert cluster.add_neighbour(row, programs, [definitions]) == ports
        assert list(ports) == ["toy-one", "toy-two"]
        assert cluster.status().phase is Phase.UP
        assert api.get(path_to("ConfigMap", "needed", "toys"))
        assert api.list("/apis/example.invalid/v1/toys") == []
        told = (cluster.layout.logs / "toy-two.log").read_text()
        assert told.split()[:2] == [str(ports["toy-two"]), f"127.0.0.1:{ports['toy-one']}"]
    finally:
        with cluster._changing("ending toys") as start:
            for part in row.parts:
                start.withdraw(part.name, grace=2)


def test_a_neighbour_of_which_a_part_ends_leaves_nothing_running_and_can_be_added_again(
    cluster: DevCluster, tmp_path: Path
) -> None:
    script = tmp_path / "toy.py"
    script.write_text(ASKED)
    good = Part("toy-good", "toy", lambda _, port: (str(script), str(port)), "")
    bad = Part("toy-bad", "toy", lambda _, port: ("-c", f"raise SystemExit('no {port}')"), "")
    row = Neighbour("toys", "Toys", Module("toys", tmp_path), "", (good, bad), ())
    for _ in range(2):
        with pytest.raises(DevClusterError, match="toy-bad ended with exit code 1"):
            cluster.add_neighbour(row, {"toy": Path(sys.executable)}, [])
    assert not {"toy-good", "toy-bad"} & {one.process.name for one in cluster.status().rows}
    assert cluster.status().phase is Phase.UP
