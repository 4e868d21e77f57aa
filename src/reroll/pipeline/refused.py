"""What a person asked for and what cannot be done: a sentence that says why."""


class RefusedError(Exception):
    """Printed, or shown on a page, as it is."""

    def __init__(self, message: str, *, is_usage: bool = False) -> None:
        super().__init__(message)
        self.is_usage = is_usage
        """What was asked for is written wrong, whatever the cluster holds."""
