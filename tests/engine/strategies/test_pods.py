"""Where a request to read the configuration again may go."""

import pytest

from reroll.engine.strategies.pods import is_of_a_pod

ADDRESSES = {
    "10.244.0.7": True,
    "fd00:10:244::7": True,
    "::ffff:10.244.0.7": True,
    "127.0.0.1": False,
    "::1": False,
    "::ffff:127.0.0.1": False,
    "169.254.169.254": False,
    "::ffff:169.254.169.254": False,
    "fe80::1": False,
    "224.0.0.1": False,
    "0.0.0.0": False,
    "::": False,
    "localhost": False,
    "example.com": False,
}


@pytest.mark.parametrize(("address", "is_asked"), ADDRESSES.items(), ids=ADDRESSES)
def test_a_reload_goes_only_to_what_may_be_the_address_of_a_pod(
    address: str, is_asked: bool
) -> None:
    assert is_of_a_pod(address) is is_asked
