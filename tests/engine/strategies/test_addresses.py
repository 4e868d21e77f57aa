"""Where a request to read the configuration again may go."""

import pytest

from reroll.engine.strategies.addresses import is_of_a_pod

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
    "100.64.0.7": True,
    "100.100.100.201": True,
    "2001:db8::7": True,
    "2600:1f18::7": True,
    "127.0.0.2": False,
    "127.255.255.254": False,
    "::ffff:127.0.0.2": False,
    "0.1.2.3": False,
    "255.255.255.255": False,
    "100.100.100.200": False,
    "168.63.129.16": False,
    "192.0.0.192": False,
    "fd00:ec2::254": False,
    "fd00:ec2::23": False,
    "fd20:ce::254": False,
    "::127.0.0.1": False,
    "64:ff9b::7f00:1": False,
    "64:ff9b::a9fe:a9fe": False,
    "64:ff9b:1::a9fe:a9fe": False,
    "2002:a9fe:a9fe::1": False,
    "2001:0:4136:e378:8000:63bf:5601:5601": False,
    "fec0::1": False,
    "ff02::1": False,
    "fd00::7%eth0": False,
}


@pytest.mark.parametrize(("address", "is_asked"), ADDRESSES.items(), ids=ADDRESSES)
def test_a_reload_goes_only_to_what_may_be_the_address_of_a_pod(
    address: str, is_asked: bool
) -> None:
    assert is_of_a_pod(address) is is_asked
