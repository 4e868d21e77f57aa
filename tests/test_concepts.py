"""How a decision is made, as the page says, is how the chains are."""

import re

import pytest
from tests.support.pages import DOCS

from reroll.core.decide.permission import PERMISSION
from reroll.core.decide.standing import STANDING
from reroll.core.decide.writing import WRITING

PAGE = (DOCS / "concepts" / "decisions.md").read_text(encoding="utf-8")
CHAINS = {
    "1": [row.__name__ for row in STANDING],
    "2": [row.__name__ for row in WRITING][:-1],  # The last one applies otherwise.
    "3": [row.check.__name__ for row in PERMISSION],
}


@pytest.mark.parametrize("number", CHAINS)
def test_the_rows_of_a_chain_are_all_there_in_their_order(number: str) -> None:
    _, _, rest = PAGE.partition(f"**{number}. ")
    table = rest.partition("\n\n**")[0].partition("If no row")[0]
    rows = re.findall(r"^\| `([a-z ]+)` \|", table, flags=re.MULTILINE)

    assert [row.replace(" ", "_") for row in rows] == CHAINS[number]
