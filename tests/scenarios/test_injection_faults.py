"""Faults between the controller and the API server: a value arrives, and is written once."""

from collections.abc import Callable

from tests.scenarios.injecting import Injecting, gadget, injection, source, writes
from tests.scenarios.stage import Stage, eventually
from tests.support import build
from tests.support.build import Object
from tests.support.faultproxy import FaultProxy
from tests.support.faults import Answer, Cut, DropResponse, Match
from tests.support.tools import Identity

Audit = Callable[[Identity], list[Object]]
WRITE = Match(method="PATCH", path="/gadgets/g$")
STATUS = Match(method="PATCH", path="/injections/one/status$")


def test_a_value_arrives_and_is_written_once_whatever_is_lost_on_the_way(
    injecting: Injecting, stage: Stage, audit: Audit, fault_proxy: FaultProxy
) -> None:
    one = injection("one", source("s", "k"), gadget("g"), ".spec.token")
    stage.make(build.secret("s", {"k": "0"}), gadget("g"), one)
    injecting.run(kubeconfig=fault_proxy.kubeconfig(injecting.kubeconfig))
    injecting.said(one, "Injected")
    faults = (
        (DropResponse(), WRITE),  # It was written, and nobody heard of it.
        (Answer(503), WRITE),
        (Answer(409), WRITE),
        (DropResponse(), STATUS),
        (Answer(500), STATUS),
        (Cut(in_event=1), Match(path="/gadgets$", watch=True)),
        (Cut(in_event=1), Match(path="/injections$", watch=True)),
    )
    for number, (fault, where) in enumerate(faults, 1):
        fault_proxy.inject(fault, match=where)
        stage.change("Secret", "s", k=f"value-{number}")
        injecting.holds(gadget("g"), f"value-{number}", "spec", "token")
        injecting.said(one, "Injected")
        fault_proxy.clear()
    assert len(writes(audit(injecting.kubeconfig), "gadgets")) == len(faults) + 1
    assert "takenBack" not in stage.get(one)["status"]
    # Its watches are whole again: what somebody else writes is noticed.
    stage.api.patch(stage.path(gadget("g")), {"spec": {"token": "theirs"}})
    injecting.holds(gadget("g"), f"value-{len(faults)}", "spec", "token")


def test_a_removal_that_fails_in_passing_is_no_refusal(
    injecting: Injecting, stage: Stage, fault_proxy: FaultProxy
) -> None:
    one = injection("one", source("s", "k"), gadget("g"), ".spec.token", deletionPolicy="Remove")
    stage.make(build.secret("s", {"k": "0"}), gadget("g"), one)
    injecting.run(kubeconfig=fault_proxy.kubeconfig(injecting.kubeconfig))
    injecting.said(one, "Injected")
    fault_proxy.inject(Answer(409), WRITE)
    fault_proxy.inject(Answer(503), WRITE)

    stage.api.delete(stage.path(one))

    eventually(lambda: "token" not in stage.get(gadget("g"))["spec"], "the value is gone")
    fault_proxy.wait_for("Answer", WRITE, 2)
    assert not stage.events(one, "Rejected")


def test_a_value_that_was_removed_already_is_not_removed_with_its_surroundings(
    injecting: Injecting, stage: Stage, fault_proxy: FaultProxy
) -> None:
    """It was removed, and whoever did it could not say so."""
    items = [{"name": "x", "value": "1"}, {"name": "y", "value": "2"}]
    at = ".spec.plain[1].secret"
    one = injection("one", source("s", "k"), gadget("g"), at, deletionPolicy="Remove")
    stage.make(build.secret("s", {"k": "0"}), gadget("g", plain=items), one)
    injecting.run(kubeconfig=fault_proxy.kubeconfig(injecting.kubeconfig))
    injecting.said(one, "Injected")
    farewell = Match(method="PATCH", path="/injections/one$")
    fault_proxy.inject(Answer(503), farewell, times=2)

    stage.api.delete(stage.path(one))

    stage.api.wait_gone(stage.path(one))
    fault_proxy.wait_for("Answer", farewell, 2)
    assert stage.get(gadget("g"))["spec"]["plain"] == items
