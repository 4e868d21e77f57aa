"""A clock that stands still until a test moves it."""

from datetime import UTC, datetime, timedelta


class StillClock:
    def __init__(self) -> None:
        self.seconds = 1000.0

    def move(self, seconds: float) -> None:
        self.seconds += seconds

    def now(self) -> datetime:
        return datetime(2030, 1, 1, tzinfo=UTC) + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return self.seconds

    def jitter(self, seconds: float) -> float:
        return seconds
