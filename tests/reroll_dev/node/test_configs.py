"""What the programs of a node are told."""

from reroll_dev.node import configs
from reroll_dev.node.network import SERVICES, Network


def test_the_kubelet_is_told_where_names_are_asked_for_so_that_it_warns_about_no_pod() -> None:
    network = Network(3)
    (address,) = configs.kubelet("a/cgroup", network)["clusterDNS"]
    # The bridge of the pods, which refuses at once; a Service that is not there would not.
    assert address == str(network.pods[1])
    assert network.pods[1] not in SERVICES
