"""`reroll dev up --with …`: all neighbours beside a cluster of one's own, by the real command."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.reroll_dev.test_dev_command import CORE, Command
from tests.support import session

from reroll_dev import processes
from reroll_dev.api import Api, path_to
from reroll_dev.cluster import DevCluster
from reroll_dev.neighbours.table import NEIGHBOURS, PROCESSES

pytestmark = pytest.mark.neighbours
ALL = "argocd,flux,external-secrets,cert-manager,sealed-secrets"
SECONDS = 240


@pytest.fixture
def dev(tmp_path: Path, control_plane: dict[str, Path]) -> Iterator[Command]:
    command = Command(tmp_path)
    yield command
    DevCluster(command.folder, progress=session.quiet()).down()


@pytest.mark.timeout(2 * SECONDS)
def test_all_of_them_start_beside_a_cluster_and_end_with_it(dev: Command) -> None:
    with dev.start("up", "--with", ALL) as starting:
        _, said = starting.communicate(timeout=SECONDS)
    assert starting.returncode == 0, said
    for row in NEIGHBOURS:
        assert f"{row.title} {row.version} runs: " in said

    found = {one["process"]: one["state"] for one in dev.status()["processes"]}
    assert found == dict.fromkeys((*CORE, *PROCESSES), "running")
    with Api.from_kubeconfig(Path(dev("kubeconfig", "--path")[0].rstrip("\n"))) as api:
        for row in NEIGHBOURS:
            assert api.get(path_to("Namespace", row.name))
    dev("logs", "argocd-controller", "-n", "1")

    dev("down")
    assert processes.strays(dev.folder) == []
