"""The fixture `fault_proxy`: a proxy for each test, in front of the control plane of the run."""

from collections.abc import Iterator

import pytest
from tests.support.faultproxy import FaultProxy

from reroll_dev.cluster import DevCluster


@pytest.fixture
def fault_proxy(cluster: DevCluster) -> Iterator[FaultProxy]:
    with FaultProxy(cluster) as proxy:
        yield proxy
