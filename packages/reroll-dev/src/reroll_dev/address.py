"""An address of this machine for pods that do not run, so that what is sent to them stays here."""

import socket


def own_address() -> str:
    """One that is not its loopback, where no reload goes."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("198.51.100.1", 9))  # sends nothing, only chooses
        address: str = probe.getsockname()[0]
    return address
