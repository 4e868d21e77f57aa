"""The versions of Kubernetes that the core of the tests runs on, and what each of them lacks.

`REROLL_TEST_KUBERNETES=1.34` has a run use a control plane of that version as it comes, and
`1.34-switched` one with its switches the other way round: streaming lists on or off, and beta
policies on. Without it, a run is on the newest. A test that needs what a version lacks is in
`NEEDS`: it does not run there, and the run says so.
"""

from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

import pytest

from reroll_dev import kubernetes
from reroll_dev.kubernetes import MINORS, Minor, Switches
from reroll_dev.start import Options

VARIABLE = "REROLL_TEST_KUBERNETES"
_SWITCHED = "-switched"


class Ground(NamedTuple):
    """What a run is on."""

    minor: Minor
    is_switched: bool = False

    @property
    def name(self) -> str:
        return self.minor.name + (_SWITCHED if self.is_switched else "")

    @property
    def switches(self) -> Switches:
        return self.minor.switched if self.is_switched else Switches()

    @property
    def streams(self) -> bool:
        return self.minor.streams != self.is_switched

    @property
    def policies(self) -> str:
        """The version of MutatingAdmissionPolicies that is in force; empty if none is."""
        in_force = self.minor.has_policies or self.is_switched
        return self.minor.policies if in_force else ""

    @property
    def options(self) -> Options:
        return Options(switches=self.switches)

    def __str__(self) -> str:
        lists = f"streaming lists {'on' if self.streams else 'off'}"
        policies = f"{self.policies} policies" if self.policies else "no policies"
        return f"Kubernetes {self.minor.version.bare}, {lists}, {policies}"


GROUNDS = tuple(Ground(minor, switched) for minor in MINORS for switched in (False, True))
_NEWEST = Ground(kubernetes.NEWEST)


def ground(env: Mapping[str, str]) -> Ground:
    """What this run is on."""
    name = env.get(VARIABLE) or _NEWEST.name
    for one in GROUNDS:
        if one.name == name:
            return one
    known = ", ".join(one.name for one in GROUNDS)
    raise pytest.UsageError(f"{VARIABLE} is {name!r}; there is {known}")


class Need(Enum):
    """What a test is about, and a version may lack: a sentence on one that does."""

    POLICIES = "no MutatingAdmissionPolicy is in force"
    BETA = "MutatingAdmissionPolicies are not served as v1beta1"
    STREAMS = "there are no streaming lists"

    def is_met(self, on: Ground) -> bool:
        if self is Need.STREAMS:
            return on.streams
        return bool(on.minor.policies if self is Need.BETA else on.policies)


NEEDS: dict[str, Need] = {
    "tests/kube/test_watch.py::"
    "test_the_right_to_watch_is_enough_for_a_streaming_list": Need.STREAMS,
    "tests/kube/test_watch_faults.py::"
    "test_a_first_list_succeeds_after[a silent connection-streaming list]": Need.STREAMS,
    "tests/scenarios/test_pins.py::test_all_modes_give_the_same_pods[policy]": Need.POLICIES,
    "tests/scenarios/test_pins.py::"
    "test_odd_pins_stop_no_pod_and_good_ones_beside_them_count[policy]": Need.POLICIES,
    "tests/scenarios/test_pins.py::"
    "test_pods_of_pinned_templates_are_right_with_no_controller_at_all": Need.POLICIES,
    "tests/scenarios/test_pins.py::test_installing_is_done_once_and_told_and_undone": Need.POLICIES,
    "tests/scenarios/test_pins.py::"
    "test_a_dry_run_prints_what_would_be_applied_and_applies_nothing": Need.POLICIES,
    "tests/scenarios/test_pins.py::test_what_cannot_be_done_is_said": Need.POLICIES,
    "tests/scenarios/test_pins_webhook.py::"
    "test_what_the_cluster_and_the_controller_need_to_run_waits_for_no_rewriting[policy]": (
        Need.POLICIES
    ),
    "tests/scenarios/test_pins_webhook.py::"
    "test_an_api_server_that_takes_a_policy_and_does_not_heed_it_is_found_out": Need.BETA,
    "tests/scenarios/test_doctor.py::"
    "test_pins_that_nobody_reads_are_a_problem_and_those_of_the_template_are_none": Need.POLICIES,
    "tests/chart/test_install.py::"
    "test_the_policy_of_the_chart_has_pods_use_their_copies": Need.POLICIES,
}
"""Tests, or single cases of them, that are not for every version."""


def unmet(on: Ground) -> dict[str, Need]:
    return {test: need for test, need in NEEDS.items() if not need.is_met(on)}


def leave_out(config: pytest.Config, items: list[pytest.Item], env: Mapping[str, str]) -> None:
    """Leave out what does not apply to what this run is on."""
    lacking = unmet(ground(env))
    gone = [item for item in items if item.nodeid in lacking]
    items[:] = [item for item in items if item.nodeid not in lacking]
    if gone:
        config.hook.pytest_deselected(items=gone)


def told(env: Mapping[str, str]) -> list[str]:
    """What a run says at its end; nothing, if nobody named a version."""
    if not env.get(VARIABLE):
        return []
    on = ground(env)
    lines = [f"did not apply: {test}: {need.value}" for test, need in unmet(on).items()]
    return [f"on {on}", *lines]
