"""The page of licences is what the packages say, and nothing asks for more than attribution."""

import pytest
from tests.support.licences import PAGE, UPDATE, licence, packages, page, single

PERMISSIVE = {"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT", "MIT-0", "PSF-2.0"}
NAMES = [one.name for one in packages()]


def test_the_page_of_licences_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), f"run `{UPDATE}`"


@pytest.mark.parametrize("one", packages(), ids=NAMES)
def test_a_package_of_the_controller_has_a_permissive_licence(one) -> None:
    told = single(licence(one))

    assert told, f"{one.name} says nothing of its licence"
    assert told <= PERMISSIVE


def test_every_package_of_the_controller_is_locked_with_hashes() -> None:
    lock = (PAGE.parents[2] / "requirements.lock").read_text(encoding="utf-8").lower()
    for one in packages():
        line = f"{one.name.lower().replace('_', '-')}=={one.version}"
        assert f"\n{line} " in lock or lock.startswith(f"{line} "), line
