"""`reroll status --unapproved`: which contents wait for an approval, and who waits for them."""

from datetime import datetime
from typing import Any, NamedTuple

from reroll.answers.unapproved import gathered
from reroll.cli.errors import Exit
from reroll.cli.show import Answer, Place, Table, target
from reroll.cli.times import ago, moment
from reroll.core.model.key import Key
from reroll.core.model.names import several
from reroll.core.observe.approval import Waiting
from reroll.core.observe.provenance import Write
from reroll.engine.approval_guard import UNGUARDED, is_guarded
from reroll.engine.configs import writes_of
from reroll.engine.listing import Listing
from reroll.kube.view import View


class Open(NamedTuple):
    """A content that waits, and the workloads that wait for it."""

    waits: Waiting
    workloads: tuple[Key, ...]
    last: Write | None

    def state(self, now: datetime) -> str:
        if self.waits.rejected:
            return f"rejected by {self.waits.rejected.by}: {self.waits.rejected.why}"
        return "overdue" if self.waits.is_overdue(now) else "waits"


async def unapproved(view: View, listing: Listing, now: datetime) -> Answer:
    """The answer: one line for each content that waits."""
    found = gathered(await listing.decisions(listing.workloads))
    written = await writes_of(view, found)
    open_ = [
        Open(waits, tuple(users), written[source].last() if source in written else None)
        for source, (waits, users) in sorted(found.items())
    ]
    place = Place.of(
        (one.waits.source for one in open_), "SOURCE", everywhere=view.namespace is None
    )
    rows = [(*place.cells(one.waits.source), *_row(one, now)) for one in open_]
    columns = (*place.columns, "CONTENT", "CHANGED", "BY", "WORKLOADS", "STATE")
    guarded = await is_guarded(view.client) if open_ else None
    return Answer(
        document={"unapproved": [_facts(one, now) for one in open_], "guarded": guarded},
        text=[Table(columns, rows) if rows else "Nothing waits for approval."],
        names=[target(one.waits.source) for one in open_],
        warnings=[*listing.notes, *view.gaps, *([UNGUARDED] if guarded is False else [])],
        code=Exit.FAILED if view.gaps else Exit.OK,
    )


def _row(one: Open, now: datetime) -> tuple[str, ...]:
    waits, by = one.waits, one.last.by if one.last else "-"
    users = several([target(key) for key in one.workloads])
    return waits.content or "-", ago(waits.since, now), by, users, one.state(now)


def _facts(one: Open, now: datetime) -> dict[str, Any]:
    waits = one.waits
    return {
        **waits.source._asdict(),
        "content": waits.content,
        "since": moment(waits.since),
        "by": one.last.by if one.last else "",
        "workloads": [key._asdict() for key in one.workloads],
        "state": one.state(now),
    }
