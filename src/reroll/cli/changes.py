"""Changes that propagate, as tables and as JSON."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from reroll.answers.propagation.changes import PropagatingChange, Standing
from reroll.cli.show import Table
from reroll.core.tables.kinds import api_kind

WIDEST = 44
A_DAY = timedelta(days=1)
_ORDER = ("healthy", "under way", "next", "held", "failed", "stuck", "rolled back")


def change_tables(found: list[PropagatingChange], now: datetime) -> Iterator[Table | str]:
    for one in found:
        yield ""
        yield _headline(one)
        yield Table(
            ("WAVE", "WORKLOAD", "STAGE", "WAITS FOR"),
            [
                (str(each.wave), f"{api_kind(each.key.kind).lower()}/{each.key.name}", each.stage,
                 _waits(each, now))
                for each in one.workloads
            ],
        )  # fmt: skip


def _headline(one: PropagatingChange) -> str:
    counts = one.counts
    words = [*(word for word in _ORDER if word in counts), *sorted(counts.keys() - set(_ORDER))]
    listed = ", ".join(f"{counts[word]} {word}" for word in words)
    source = f"{one.source.kind.lower()}/{one.source.name}"
    return f"{source}{' stopped' if one.is_stopped else ''}: {listed}"


def _waits(one: Standing, now: datetime) -> str:
    text = ": ".join(filter(None, (one.reason, one.message))) or "-"
    if one.until and one.until > now:
        form = "%H:%M:%S %Z" if one.until - now < A_DAY else "%Y-%m-%d %H:%M %Z"
        text = f"{one.reason} until {one.until:{form}}: {one.message}"
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…"
