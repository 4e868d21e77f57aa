"""The fixtures of the scenarios: these are scenarios too, in which others write the config."""

from tests.scenarios.conftest import *  # noqa: F403
