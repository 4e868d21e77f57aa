"""Documents that follow from one overview alone: made once, whoever asks for the same.

Fifty browsers that are told of the same news ask for the same page.
"""

from collections import OrderedDict
from collections.abc import Hashable

from reroll.dashboard.overview import Overview
from reroll.dashboard.site import Made, Page, Wanted

MOST = 64


class Shelf:
    def __init__(self) -> None:
        self._seen: Overview | None = None
        self._kept: OrderedDict[Hashable, Made] = OrderedDict()

    async def made(self, page: Page, wanted: Wanted) -> Made:
        if not page.is_picked:
            return await page.make(wanted)
        words = tuple(sorted(wanted.query.words.items()))
        place, seen = (page.name, wanted.key, words), wanted.seen
        self._look_at(seen)
        made = self._kept.get(place)
        if made is None:
            made = await page.make(wanted)
            if self._seen is not seen:  # There is a newer one by now.
                return made
            self._kept[place] = made
        self._kept.move_to_end(place)
        while len(self._kept) > MOST:
            self._kept.popitem(last=False)
        return made

    def _look_at(self, seen: Overview) -> None:
        """Of an earlier one nothing is kept, neither pages nor what they were made of."""
        if self._seen is not seen:
            self._seen = seen
            self._kept.clear()
