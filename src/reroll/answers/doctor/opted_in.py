"""Gathers what `reroll doctor` judges of workloads: what is so of those that are opted in."""

from reroll.answers.doctor.findings import Finding
from reroll.answers.doctor.workloads import WORKLOADS, judge_workloads
from reroll.clock import Clock
from reroll.engine.circumstances import situations
from reroll.engine.listing import Listing
from reroll.kube.errors import ApiError
from reroll.kube.view import View
from reroll.settings.table import Settings


async def opted_in(view: View, clock: Clock, settings: Settings, home: str) -> list[Finding]:
    """As every other command tells it; `home` is the namespace of the controller."""
    apart = view.again()
    listing = Listing(apart, clock, settings, home)
    try:
        known = await situations(apart, listing, None, clock.now())
    except ApiError as error:
        return [WORKLOADS.note(f"their state is not known: {error}")]
    unknown = [*apart.gaps, *listing.notes] if known else []
    return [*judge_workloads(known), *map(WORKLOADS.note, dict.fromkeys(unknown))]
