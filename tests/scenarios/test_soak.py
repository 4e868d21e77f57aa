"""A short, seeded storm, with the same invariants as the long one: `python -m bench.soak`."""

from pathlib import Path

import pytest
from bench.soak import Storm, told
from tests.scenarios.stage import Stage
from tests.support.faultproxy import FaultProxy


# Programs are killed in the middle of a handshake, of which the proxy's event loop loses track.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_after_a_storm_pods_are_current_and_nothing_rolled_too_often(
    stage: Stage, fault_proxy: FaultProxy, reroll_kubeconfig: Path, tmp_path: Path
) -> None:
    kubeconfig = fault_proxy.kubeconfig(reroll_kubeconfig)
    storm = Storm(stage, fault_proxy, kubeconfig, tmp_path, seconds=12, seed=7)
    storm.sources, storm.workloads = 6, 9

    problems = storm.run()

    assert not problems, told(storm)
    assert storm.done["kills"] + storm.done["stops"] + storm.done["freezes"]
