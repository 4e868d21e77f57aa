"""The fixtures of the scenarios: these are scenarios too, in which others write the config."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.neighbours.argo import Application
from tests.neighbours.kustomizations import Kustomization
from tests.scenarios.conftest import *  # noqa: F403
from tests.scenarios.stage import Stage
from tests.support.fixtures_neighbours import Running
from tests.support.git_server import Repository


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[Repository]:
    """Empty, and served."""
    one = Repository(tmp_path)
    with one.served():
        yield one


@pytest.fixture
def argocd(
    neighbour: Callable[[str], Running], stage: Stage, repository: Repository
) -> Iterator[Application]:
    neighbour("argocd")
    one = Application(stage, repository)
    yield one
    one.delete()


@pytest.fixture
def flux(
    neighbour: Callable[[str], Running], stage: Stage, repository: Repository
) -> Iterator[Kustomization]:
    neighbour("flux")
    one = Kustomization(stage, repository)
    yield one
    one.delete()
