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
        self._kept: OrderedDict[Hashable, tuple[Overview, Made]] = OrderedDict()

    async def made(self, page: Page, wanted: Wanted) -> Made:
        if not page.is_picked:
            return await page.make(wanted)
        words = tuple(sorted(wanted.query.words.items()))
        place = (page.name, wanted.key, words)
        kept = self._kept.get(place)
        if kept is None or kept[0] is not wanted.seen:
            kept = wanted.seen, await page.make(wanted)
            self._kept[place] = kept
        self._kept.move_to_end(place)
        while len(self._kept) > MOST:
            self._kept.popitem(last=False)
        return kept[1]
