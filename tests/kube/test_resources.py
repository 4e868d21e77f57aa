"""The table of resources: no kind twice, and the names that core knows too."""

import pytest

from reroll.core.model import injection
from reroll.core.tables.kinds import KINDS, Revisions
from reroll.core.tables.source_kinds import SOURCE_KINDS
from reroll.kube import resources
from reroll.kube.wire import Resource

TABLE = [value for value in vars(resources).values() if isinstance(value, Resource)]


def test_no_resource_stands_in_the_table_twice():
    assert len({(one.group, one.plural) for one in TABLE}) == len(TABLE)


def test_the_resource_of_injections_is_the_one_of_core():
    names = injection.GROUP, injection.VERSION, injection.PLURAL, injection.KIND
    assert Resource(*names) == resources.INJECTIONS


@pytest.mark.parametrize("row", [*KINDS, *SOURCE_KINDS], ids=lambda row: row.name)
def test_a_row_of_core_is_the_resource_of_the_table(row):
    same = [one for one in TABLE if (one.group, one.plural) == (row.group, row.plural)]
    assert all(one == resources.of(row) for one in same)
    assert resources.of(row).kind == row.name


def test_every_sort_of_revisions_has_its_resource():
    assert {*resources.REVISIONS, Revisions.NONE} == set(Revisions)
    assert all(one.plural == sort for sort, one in resources.REVISIONS.items())
