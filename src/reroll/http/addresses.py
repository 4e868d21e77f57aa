"""Addresses where only a machine speaks to itself, or a cloud gives credentials away.

Pure. Nothing that we are told to ask is there, whoever tells us.
"""

import socket
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

LINK_LOCAL = ("169.254.0.0/16", "fe80::/10", "fec0::/10")
METADATA = (
    # Where these are not link-local: AWS, Alibaba, Azure, Google, Linode, Oracle, Scaleway.
    *("fd00:ec2::/32", "100.100.100.200/32", "fd00:100::100:200/128", "168.63.129.16/32"),
    *("fd20:ce::254/128", "fd00:a9fe:a9fe::1/128", "192.0.0.192/32", "fd00:c1::a9fe:a9fe/128"),
    "fd00:42::42/128",
)
NAMES = frozenset(
    ("metadata", "metadata.google.internal", "metadata.goog", "instance-data",
     "instance-data.ec2.internal")
)  # fmt: skip
"""By which a cloud's metadata is known; a proxy would look them up, and we could not see where."""
_FORBIDDEN = tuple(map(ip_network, (*LINK_LOCAL, *METADATA)))
_TRANSLATED = tuple(map(ip_network, ("::/96", "64:ff9b::/96", "64:ff9b:1::/48")))


def is_forbidden(address: str) -> bool:
    """Whether no request may go there; of names, those that only metadata has."""
    name = address.rstrip(".").lower()
    found = _address(name)
    if found is None:
        return name in NAMES
    return any(each in network for each in (found, _inner(found)) for network in _FORBIDDEN)


def _address(text: str) -> IPv4Address | IPv6Address | None:
    """None for a name. A system also takes `0xa9fea9fe` and `169.16689662` for addresses."""
    try:
        return ip_address(text)
    except ValueError:
        pass
    try:
        return IPv4Address(socket.inet_aton(text))
    except (OSError, ValueError):
        return None


def _inner(found: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """The IPv4 address that one of IPv6 leads to, by whatever translation or tunnel."""
    if isinstance(found, IPv4Address):
        return found
    if found.ipv4_mapped or found.sixtofour:
        return found.ipv4_mapped or found.sixtofour or found
    if found.teredo:
        return found.teredo[1]
    if any(found in network for network in _TRANSLATED):
        return IPv4Address(int(found) & 0xFFFFFFFF)
    return found
