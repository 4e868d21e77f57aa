"""Which addresses a pod can have, and so where a reload may be sent.

Pure. The address comes from the status of a pod, and those who may write that are not those who may
reach what listens beside us, or where a cloud gives credentials away.
"""

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from reroll.http.addresses import LINK_LOCAL, METADATA

NO_POD = tuple(
    map(
        ip_network,
        (
            # This machine, and what only it can reach.
            *("0.0.0.0/8", "127.0.0.0/8", "::/128", "::1/128"),
            *LINK_LOCAL,
            # Nobody, or everybody.
            *("224.0.0.0/4", "240.0.0.0/4", "ff00::/8"),
            *METADATA,
            # IPv4 in IPv6, by translation or tunnel: the address inside could be any of the above.
            *("::/96", "64:ff9b::/96", "64:ff9b:1::/48", "2001::/32", "2002::/16"),
        ),
    )
)


def is_of_a_pod(address: str) -> bool:
    """Whether a pod can have this address: neither a name nor one of `NO_POD`."""
    try:
        ip: IPv4Address | IPv6Address = ip_address(address)
    except ValueError:
        return False
    if isinstance(ip, IPv6Address):
        if ip.scope_id is not None:
            return False
        ip = ip.ipv4_mapped or ip
    return not any(ip in network for network in NO_POD)
