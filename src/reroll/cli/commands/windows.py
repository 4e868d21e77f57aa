"""`reroll windows`: what is open now, until when, and when it opens next."""

import argparse
from collections.abc import Sequence
from datetime import datetime, tzinfo

from reroll.answers.windows.documents import (
    day_facts,
    days_of_month,
    first_of_month,
    place_facts,
    place_standings,
    row_facts,
)
from reroll.answers.windows.windows import (
    CalendarDay,
    PlaceStanding,
    RowStanding,
    month_of_groups,
    month_of_rows,
    row_standings,
)
from reroll.cli import flags
from reroll.cli.command import Context
from reroll.cli.errors import CommandError, Exit
from reroll.cli.flags import add_flags
from reroll.cli.show import Answer, Place, Table, add_output_flag, target
from reroll.core.decide.timing import groups_of
from reroll.core.observe.snapshot import Snapshot
from reroll.core.policy.openings import Group
from reroll.core.policy.zones import zone
from reroll.kube.view import View

DESCRIPTION = """\
Show the windows of the config file, then the workloads and sources that have windows: what is open
now, until when, and when it opens next. A roll starts only while every window that applies to it is
open. Rollouts under way finish, and rolling back waits for no window. Read-only.

  reroll windows -n shop
  reroll windows -A -o wide
  reroll windows -n shop deployment/web
  reroll windows --calendar --zone Europe/Oslo
  reroll windows -n shop --calendar 2026-12 deployment/web"""
NOW = "now"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("workloads", nargs="*", metavar="KIND/NAME", help="only these workloads")
    flags.add_selector_flag(parser)
    parser.add_argument(
        "--calendar",
        nargs="?",
        const=NOW,
        metavar="MONTH",
        help="when windows are open on each day of a month, such as 2026-12 (default: this month); "
        "for one workload, when its rolls may start",
    )
    parser.add_argument(
        "--zone", default="UTC", metavar="ZONE", help="time zone to show times in (default: UTC)"
    )
    add_output_flag(parser)
    flags.add_controller_flags(parser)
    add_flags(parser)


def run(args: argparse.Namespace) -> int:
    context = Context(args)
    context.selection  # noqa: B018  wrong usage is reported before the cluster is asked
    where = zone(args.zone)
    if where is None:
        raise CommandError(
            f'--zone: {args.zone!r} is not known; use e.g. "Europe/Oslo"', Exit.USAGE
        )
    if args.calendar and len(args.workloads) > 1:
        raise CommandError("--calendar is of one workload, or of all windows", Exit.USAGE)
    month = None
    if args.calendar:
        text = "" if args.calendar == NOW else args.calendar
        month = first_of_month(text, context.clock.now(), where)
        if month is None:
            raise CommandError(
                f'--calendar: {text!r} is not a month; use e.g. "2026-12"', Exit.USAGE
            )
    return context.answer(lambda view: _windows(view, context, month, where))


async def _windows(view: View, context: Context, month: datetime | None, where: tzinfo) -> Answer:
    listing, now = await context.listing(view), context.clock.now()
    found = [listing.observer.snapshot(key) for key in listing.workloads]
    snapshots = [one for one in found if one is not None and one.policy.enabled]
    rows = context.settings.windows.rows
    if month is not None:
        return _calendar(context, snapshots, month)
    standings = row_standings(rows, now)
    places = place_standings(snapshots, now)
    return Answer(
        document={
            "windows": [row_facts(one) for one in standings],
            "places": [place_facts(one) for one in places],
            "problems": list(view.gaps),
        },
        text=_tables(standings, places, where, view),
        names=[target(one.key) for one in places],
        warnings=[*listing.notes, *view.gaps],
        code=Exit.FAILED if view.gaps else Exit.OK,
    )


def _tables(
    rows: Sequence[RowStanding], places: Sequence[PlaceStanding], where: tzinfo, view: View
) -> list[Table | str]:
    shown: list[Table | str] = ["The config file has no windows."]
    if rows:
        columns = ("WINDOW", "NOW", "UNTIL", "NEXT", "FOR", "TIMES")
        cells = [
            (one.row.name, _state(one), _at(one.until, where), _at(one.next, where), _for(one),
             "; ".join(window.text for window in one.row.windows))
            for one in rows
        ]  # fmt: skip
        facts = [row_facts(one) for one in rows]
        shown = [Table(columns, cells, wide={"TIMES"}, facts=facts)]
    if not places:
        return [*shown, "", "No workload or source here has a window: rolls begin at any time."]
    place = Place.of((one.key for one in places), everywhere=view.namespace is None)
    table = Table(
        (*place.columns, "NOW", "UNTIL", "OPENS", "BECAUSE OF"),
        [(*place.cells(one.key), *_cells(one, where)) for one in places],
        facts=[place_facts(one) for one in places],
    )
    return [*shown, "", table]


def _state(one: RowStanding) -> str:
    if one.denies:
        return "frozen" if one.is_active else "-"
    return "open" if one.is_active else "closed"


def _for(one: RowStanding) -> str:
    return ", ".join(one.row.namespaces) or "those that name it"


def _word(one: PlaceStanding) -> str:
    if one.problem:
        return "closed"
    if one.now.denied_by:
        return "frozen"
    return "open" if one.now.is_open else "closed"


def _cells(one: PlaceStanding, where: tzinfo) -> tuple[str, ...]:
    if one.problem:
        return "closed", "-", "never", one.problem
    until = one.now.until if one.now.is_open or one.now.denied_by else None
    opens = "-" if one.now.is_open else _at(one.now.opens, where, "never")
    return _word(one), _at(until, where), opens, ", ".join(one.because)


def _at(then: datetime | None, where: tzinfo, otherwise: str = "-") -> str:
    return f"{then.astimezone(where):%a %Y-%m-%d %H:%M}" if then else otherwise


# A month


def _calendar(context: Context, snapshots: Sequence[Snapshot], month: datetime) -> Answer:
    days = days_of_month(month)
    rows = context.settings.windows.rows
    if context.args.workloads and not snapshots:
        raise CommandError(f"{context.args.workloads[0]} is not opted in, so nothing rolls it")
    if context.args.workloads:
        groups: tuple[Group, ...] = groups_of(snapshots[0], ())
        found = list(month_of_groups(groups, month, days))
        title = f"when a roll of {snapshots[0].workload.key} may begin"
    else:
        found = list(month_of_rows(rows, month, days))
        title = "windows of the config file"
    return Answer(
        document={"month": f"{month:%Y-%m}", "zone": context.args.zone,
                  "days": [day_facts(day) for day in found]},
        text=[
            f"{month:%B %Y}, {context.args.zone}: {title}",
            Table(
                ("DAY", "TIMES"),
                [(f"{day.date:%a %Y-%m-%d}", _day(day)) for day in found],
                facts=[day_facts(day) for day in found],
            ),
        ],
    )  # fmt: skip


def _day(day: CalendarDay) -> str:
    return ", ".join(f"{times} {what}".strip() for times, what in day.spans) or "-"
