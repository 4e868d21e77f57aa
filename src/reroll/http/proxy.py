"""Which HTTP proxy leads to a server, if any.

Pure. The rules of HTTPS_PROXY, HTTP_PROXY and NO_PROXY are those of kubectl: lower-case names
count too, loopback addresses never go through a proxy, NO_PROXY knows domains, addresses, networks
and ports.
"""

from collections.abc import Mapping
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import SplitResult, urlsplit

_DEFAULT_PORTS = {"http": 80, "https": 443}


def checked(url: str, where: str) -> str:
    """The proxy's address, or a `ValueError` that says what is wrong with it."""
    parts = urlsplit(url if "://" in url else f"http://{url}")
    if parts.scheme not in {"http", "https"}:
        raise ValueError(
            f"{where} is a {parts.scheme} proxy, which reroll cannot use; give an http:// proxy"
        )
    if not parts.hostname:
        raise ValueError(f"{where} names no host; write it as http://host:port")
    return parts.geturl()


def from_environment(server: str, env: Mapping[str, str]) -> str | None:
    """For a server, by its URL; raises `ValueError`."""
    parts = urlsplit(server)
    name = "HTTPS_PROXY" if parts.scheme == "https" else "HTTP_PROXY"
    proxy = env.get(name) or env.get(name.lower())
    excepted = env.get("NO_PROXY") or env.get("no_proxy") or ""
    if not proxy or _is_excepted(parts, excepted):
        return None
    return checked(proxy, f"the environment variable {name}")


def _is_excepted(server: SplitResult, excepted: str) -> bool:
    host = (server.hostname or "").rstrip(".")
    port = server.port or _DEFAULT_PORTS.get(server.scheme, 0)
    address = _address(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return True
    rules = (rule.strip().lower() for rule in excepted.split(","))
    return any(_matches(rule, host, port, address) for rule in rules if rule)


def _matches(rule: str, host: str, port: int, address: IPv4Address | IPv6Address | None) -> bool:
    if rule == "*":
        return True
    if "/" in rule:
        return address is not None and _in_network(address, rule)
    rule, rule_port = _without_port(rule)
    if rule_port and rule_port != str(port):
        return False
    if address is not None:
        return _address(rule) == address
    rule = rule.removeprefix("*")
    suffix = rule if rule.startswith(".") else f".{rule}"
    return host == rule or host.endswith(suffix)


def _without_port(rule: str) -> tuple[str, str]:
    if rule.startswith("["):
        host, _, port = rule[1:].partition("]")
        return host, port.removeprefix(":")
    if rule.count(":") == 1:
        host, _, port = rule.partition(":")
        return host, port
    return rule, ""


def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(text)
    except ValueError:
        return None


def _in_network(address: IPv4Address | IPv6Address, rule: str) -> bool:
    try:
        return address in ip_network(rule, strict=False)
    except ValueError:
        return False
