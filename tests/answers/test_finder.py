"""Which namespaces an installation looks at, by the rule that the controller itself has."""

import pytest

from reroll.answers.finder import Installed
from reroll.answers.installations import Installation
from reroll.answers.installed_settings import SettingsSource
from reroll.core.model.key import Key
from reroll.core.model.metadata import Metadata
from reroll.settings.resolve import resolve

SHOP = Metadata(name="shop", labels={"team": "a"})


@pytest.mark.parametrize(
    ("settings", "covers"),
    [
        ({}, True),
        ({"namespaces": ["shop", "billing"]}, True),
        ({"namespaces": ["billing"]}, False),
        ({"exclude-namespaces": ["sh*"]}, False),
        ({"namespace-selector": "team=a"}, True),
        ({"namespace-selector": "team=b"}, False),
    ],
)
def test_it_covers_what_its_settings_say(settings: dict[str, object], covers: bool) -> None:
    key = Key("Deployment", "reroll", "nu-reroll")
    one = Installation(key, 1, 1, "0.2.0", "nu", "", SettingsSource({}, {}))
    installed = Installed(one, resolve({}, {}, settings, "file"))

    assert installed.covers(SHOP) is covers
