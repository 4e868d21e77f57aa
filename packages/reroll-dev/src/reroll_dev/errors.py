"""What a development cluster raises when it cannot go on."""


class DevClusterError(Exception):
    """A sentence for the person at the keyboard: what went wrong, where, and what to do."""
