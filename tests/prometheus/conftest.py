"""The fixtures of the scenarios: these are scenarios too, with a real Prometheus."""

from tests.scenarios.conftest import *  # noqa: F403
