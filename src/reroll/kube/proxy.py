"""Which HTTP proxy leads to the API server, if any.

A `proxy-url` in the kubeconfig is used as it stands; else the environment names one.
"""

from collections.abc import Mapping

from reroll.http import proxy
from reroll.kube.errors import ConfigError


def checked(url: str, where: str) -> str:
    """The proxy's address, or a `ConfigError` that says what is wrong with it."""
    try:
        return proxy.checked(url, where)
    except ValueError as problem:
        raise ConfigError(str(problem)) from None


def from_environment(server: str, env: Mapping[str, str]) -> str | None:
    try:
        return proxy.from_environment(server, env)
    except ValueError as problem:
        raise ConfigError(str(problem)) from None
