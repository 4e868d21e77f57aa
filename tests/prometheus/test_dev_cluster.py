"""`reroll dev up --prometheus`: a Prometheus and an Alertmanager beside a cluster."""

import json
from collections.abc import Mapping
from pathlib import Path
from urllib.request import urlopen

from tests.support.fixtures_prometheus import until

from reroll_dev import monitoring
from reroll_dev.cluster import DevCluster, Phase


def test_both_run_beside_the_cluster_know_each_other_and_are_added_once(
    cluster: DevCluster, prometheus_programs: Mapping[str, Path]
) -> None:
    addresses = cluster.add_prometheus(prometheus_programs)
    assert list(addresses) == [monitoring.PROMETHEUS, monitoring.ALERTMANAGER]
    assert cluster.add_prometheus(prometheus_programs) == addresses
    status = cluster.status()
    assert status.phase is Phase.UP
    assert set(addresses) <= {row.process.name for row in status.rows}

    def known() -> list[str]:
        asked = f"{addresses[monitoring.PROMETHEUS]}/api/v1/alertmanagers"
        with urlopen(asked, timeout=10) as answer:
            active = json.load(answer)["data"]["activeAlertmanagers"]
        return [one["url"] for one in active]

    assert until(known, "it knows its Alertmanager") == [
        f"{addresses[monitoring.ALERTMANAGER]}/api/v2/alerts"
    ]
