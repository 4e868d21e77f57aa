"""The images that are made here, made once for a run: in a cache of its own, for all processes."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.conftest import RUN_FOLDER
from tests.support import session

from reroll_dev import binaries
from reroll_dev.images.made import made


@pytest.fixture(scope="session")
def image_of(pytestconfig: pytest.Config) -> Callable[[str], Path]:
    """`image_of("python")`: its tar."""
    cache = pytestconfig.stash[RUN_FOLDER] / "cache"
    env = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    return lambda name: made(name, env=env, progress=session.quiet())


@pytest.fixture(scope="session")
def web() -> Path:
    """Built if it is not there: of the standard library alone, that takes seconds."""
    table = [binaries.WEB]
    return binaries.ensure(["web"], env=os.environ, progress=session.quiet(), binaries=table)["web"]
