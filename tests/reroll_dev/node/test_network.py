"""Addresses and cgroups of a node, without one."""

from ipaddress import IPv4Network
from pathlib import Path

import pytest

from reroll_dev.node import cgroups, network
from reroll_dev.node.network import BLOCKS, Network

ROUTES = """[{"dst": "default", "gateway": "192.0.2.1"}, {"dst": "198.18.0.0/16"},
             {"type": "local", "dst": "127.0.0.1"}]"""
HYBRID = """\
31 23 0:27 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755
32 31 0:28 / /sys/fs/cgroup/cpu rw,relatime shared:9 - cgroup cgroup rw,cpu
33 31 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
34 31 0:28 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu
"""


def test_no_two_blocks_share_an_address_or_the_name_of_a_link() -> None:
    every = [Network(number) for number in range(len(BLOCKS))]
    assert len({each.name for each in every}) == len(every)
    assert all(len(each.name) <= 15 for each in every)
    for each in every:
        block = BLOCKS[each.number]
        assert each.pods.subnet_of(block)
        assert each.link.subnet_of(block)
        assert not each.pods.overlaps(each.link)
        assert Network.of_host(str(each.host)) == each
    assert Network.of_host("127.0.0.1") is None


def test_a_block_that_a_route_leads_to_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "_ip", lambda *_: ROUTES)
    free = list(network._candidates(Path("/a/folder")))
    assert len(free) == len(BLOCKS) // 2
    assert not any(each.pods.overlaps(IPv4Network("198.18.0.0/16")) for each in free)
    assert free != list(network._candidates(Path("/another/folder")))


def test_every_hierarchy_of_cgroups_is_found_once(tmp_path: Path) -> None:
    (tmp_path / "mountinfo").write_text(HYBRID)
    found = cgroups.hierarchies(tmp_path / "mountinfo")
    assert list(map(str, found)) == ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/unified"]
