"""Which way of rewriting pods a cluster gets, and where it is in force."""

import pytest

from reroll.clock import SystemClock
from reroll.core.policy.selectors import Requirement, Selector
from reroll.engine.admission_objects import Mode, Service, policy, webhook
from reroll.engine.rewriters import Installation, Installed
from reroll.features.admission.modes import Capabilities, best, problem, select

HERE = Service("reroll")


CASES = {
    "a policy is best": (Capabilities({"v1", "v1beta1"}, HERE), Mode.POLICY, "v1"),
    "the beta API will do": (Capabilities({"v1beta1"}, HERE), Mode.POLICY, "v1beta1"),
    "a webhook where no policy is served": (Capabilities(set(), HERE), Mode.WEBHOOK, ""),
    "and one at an URL": (Capabilities(set(), "https://127.0.0.1:1/pins"), Mode.WEBHOOK, ""),
    "templates where there is neither": (Capabilities(set()), Mode.TEMPLATE, ""),
}


@pytest.mark.parametrize(("cluster", "mode", "version"), CASES.values(), ids=CASES)
def test_the_best_mode_that_a_cluster_can_do_is_chosen(
    cluster: Capabilities, mode: Mode, version: str
) -> None:
    choice = best(cluster)
    assert (choice.mode, choice.version) == (mode, version)
    assert "the API server serves" in choice.why


def test_a_mode_that_was_asked_for_is_taken_or_refused_with_what_to_do() -> None:
    everything, nothing = Capabilities({"v1"}, HERE), Capabilities(set())
    assert all(select(mode, everything).mode is mode for mode in Mode)
    assert not any(problem(mode, everything) for mode in Mode)
    assert "--mode webhook or template" in problem(Mode.POLICY, nothing)
    assert "--webhook" in problem(Mode.WEBHOOK, nothing)
    assert not problem(Mode.TEMPLATE, nothing)


def test_policies_of_both_versions_have_the_same_spec() -> None:
    for new, old in zip(policy("v1"), policy("v1beta1"), strict=True):
        assert new["spec"] == old["spec"]
        assert (new["apiVersion"], old["apiVersion"]) == (
            "admissionregistration.k8s.io/v1",
            "admissionregistration.k8s.io/v1beta1",
        )


def test_only_pinned_pods_are_concerned_when_the_webhook_does_not_answer() -> None:
    [[hook]] = [one["webhooks"] for one in webhook(HERE)]
    [rules, _] = policy("v1")
    assert hook["failurePolicy"] == rules["spec"]["failurePolicy"] == "Fail"
    assert hook["matchConditions"] == rules["spec"]["matchConditions"]
    assert "'reroll.dev/pins' in object.metadata.annotations" in str(hook["matchConditions"])


def test_a_namespace_can_be_left_out_and_counts_as_template() -> None:
    installed = Installed(None, SystemClock())  # type: ignore[arg-type]  it is not asked
    off = Requirement("reroll.dev/pins", frozenset(("disabled",)), negated=True)
    shop = Requirement("kubernetes.io/metadata.name", frozenset(("shop",)))
    assert installed.mode("shop") is Mode.TEMPLATE

    installed.found = (Installation(Mode.WEBHOOK, "a", Selector((off, shop))),)
    assert installed.mode("shop", {}) is Mode.WEBHOOK
    assert installed.mode("shop", {"reroll.dev/pins": "disabled"}) is Mode.TEMPLATE
    assert not installed.covers("billing")

    installed.found += (Installation(Mode.POLICY, "b", Selector((off,))),)
    assert installed.mode("shop") is Mode.POLICY
    assert installed.covers("billing")
