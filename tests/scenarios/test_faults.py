"""After any fault between the controller and the API server the state converges, rolled once.

Changes are made one at a time, without debounce, each after the roll of the one before, and no
content comes twice. So the number of ReplicaSets tells how often a Deployment rolled.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.scenarios.stage import ENABLED, Controller, Stage, eventually
from tests.support import build
from tests.support.faultproxy import FaultProxy
from tests.support.faults import (
    ALL_OF_THEM,
    Answer,
    Cut,
    Delay,
    DropResponse,
    Fault,
    Match,
    Silence,
    WatchError,
)

from reroll_dev.api import path_to

Start = Callable[..., Controller]
WATCHED = ("configmaps", "secrets", "deployments")
FLAGS = ("--debounce", "0")
IMPATIENT = ("--watch-silence", "1s")
MANY = {"revisionHistoryLimit": 100}


def watch_of(plural: str) -> Match:
    return Match(path=f"/{plural}$", watch=True, query=ALL_OF_THEM)


GET_SECRET = Match(method="GET", path="/secrets/db$")
PATCH = Match(method="PATCH", path="/deployments/")


class Case:
    """A workload with a ConfigMap and a Secret, and a count of how often it has to roll."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.web = build.deployment(
            "web", replicas=0, uses=["configmap/app", "secret/db"], annotations=ENABLED, spec=MANY
        )
        self.changes = 0
        stage.make(build.configmap("app"), build.secret("db"), self.web)
        stage.settled(self.web)  # Its first ReplicaSet is there.

    @property
    def rolls(self) -> int:
        return len(self.stage.revisions(self.web)) - 1

    def change(self, kind: str) -> None:
        """Change a source; `all_rolled` waits for the roll."""
        self.changes += 1
        self.stage.change(kind, {"ConfigMap": "app", "Secret": "db"}[kind], k=f"v{self.changes}")

    def all_rolled(self, timeout: float = 60) -> None:
        eventually(lambda: self.rolls >= self.changes, f"roll {self.changes}", timeout)
        assert self.rolls == self.changes

    def calm(self) -> None:
        self.stage.quiet(self.web)
        assert self.rolls == self.changes


@pytest.fixture
def case(stage: Stage) -> Case:
    return Case(stage)


@pytest.fixture
def shaky(fault_proxy: FaultProxy, controller: Start, reroll_kubeconfig: Path) -> Start:
    """Start a controller whose way to the API server leads through the fault proxy."""
    kubeconfig = fault_proxy.kubeconfig(reroll_kubeconfig)
    return lambda *flags, **more: controller(*FLAGS, *flags, kubeconfig=kubeconfig, **more)


STREAMS: dict[str, tuple[Fault, int]] = {
    "a watch reset in the middle of a line": (Cut(in_event=1), 1),
    "a watch closed in the middle of a line": (Cut(in_event=1, how="fin"), 1),
    "a watch cut three times in a row": (Cut(in_event=1), 3),
    "a version too old, told as an event": (WatchError(410), 1),
    "a server error, told as an event": (WatchError(500), 1),
    "a watch that is silent with its connection open": (Silence(), 1),
    "events that come late": (Delay(0.5, each_chunk=True), 1),
}


@pytest.mark.thorough
@pytest.mark.parametrize(("fault", "times"), STREAMS.values(), ids=STREAMS.keys())
def test_a_running_watch_recovers_from(
    fault_proxy: FaultProxy, case: Case, shaky: Start, fault: Fault, times: int
) -> None:
    shaky(*(IMPATIENT if isinstance(fault, Silence) else ()))
    case.stage.adopted(case.web)

    for plural in WATCHED:
        fault_proxy.inject(fault, watch_of(plural), times=times)
        case.change("ConfigMap")
        case.all_rolled()
        case.change("Secret")
        case.all_rolled()
        new = build.deployment(plural, replicas=0, uses="configmap/app", annotations=ENABLED)
        case.stage.make(new)
        case.stage.adopted(new)
        fault_proxy.wait_for(type(fault).__name__, watch_of(plural), times)
        fault_proxy.clear()

    case.calm()


ANSWERS: dict[str, Fault] = {
    "gone": Answer(410),
    "throttled": Answer(429, retry_after=1),
    "an internal error": Answer(500),
    "unauthorized for a moment": Answer(401),
    "a lost answer": Cut(after_bytes=0),
}


@pytest.mark.thorough
@pytest.mark.parametrize("fault", ANSWERS.values(), ids=ANSWERS.keys())
def test_a_watch_that_cannot_be_opened_again_at_once_recovers_from(
    fault_proxy: FaultProxy, case: Case, shaky: Start, fault: Fault
) -> None:
    shaky()
    case.stage.adopted(case.web)

    for plural in WATCHED:
        fault_proxy.inject_in_turn(watch_of(plural), Cut(in_event=1), fault)
        case.change("ConfigMap")
        case.all_rolled()
        case.change("Secret")
        case.all_rolled()
        fault_proxy.wait_for(type(fault).__name__, watch_of(plural))
        fault_proxy.clear()

    case.calm()


REQUESTS: dict[str, Fault] = {
    "throttled": Answer(429, retry_after=1),
    "an internal error": Answer(500),
    "unavailable": Answer(503),
    "a conflict": Answer(409),
    "unauthorized for a moment": Answer(401),
    "a late answer": Delay(1.0),
    "an answer cut short": Cut(after_bytes=10),
    "an answer lost after it was done": DropResponse(),
    "an answer lost after it was done, closed politely": DropResponse(how="fin"),
}


@pytest.mark.thorough
@pytest.mark.parametrize("fault", REQUESTS.values(), ids=REQUESTS.keys())
def test_a_read_and_a_write_recover_from(
    fault_proxy: FaultProxy, case: Case, shaky: Start, fault: Fault
) -> None:
    one = shaky()
    case.stage.adopted(case.web)

    for point in (GET_SECRET, PATCH, Match(method="PATCH", path="/leases/")):
        fault_proxy.inject(fault, point, times=2)
        case.change("Secret")
        case.all_rolled()
        case.change("ConfigMap")
        case.all_rolled()
        fault_proxy.wait_for(type(fault).__name__, point)
        fault_proxy.clear()

    case.calm()
    eventually(lambda: len(one.said("ConfigChanged")) >= case.changes, "each roll is told")
    assert len(one.said("ConfigChanged")) == case.changes


STARTS = {
    **{f"every first answer is {name}": fault for name, fault in ANSWERS.items()},
    "every first answer is late": Delay(0.5),
}


@pytest.mark.thorough
@pytest.mark.parametrize("fault", STARTS.values(), ids=STARTS.keys())
def test_a_start_survives_and_makes_up_for_what_was_missed(
    fault_proxy: FaultProxy, case: Case, shaky: Start, fault: Fault
) -> None:
    one = shaky()
    case.stage.adopted(case.web)
    one.kill()
    case.change("ConfigMap")
    for path in ("/secrets/", "/namespaces$", *(f"/{p}$" for p in WATCHED), "/replicasets$"):
        fault_proxy.inject(fault, Match(path=path))
    fault_proxy.inject(fault, PATCH)

    one.start()

    case.all_rolled()
    case.change("Secret")
    case.all_rolled()
    case.calm()


def test_an_api_server_that_is_away_for_a_while_loses_nothing(
    fault_proxy: FaultProxy, case: Case, shaky: Start
) -> None:
    shaky()
    case.stage.adopted(case.web)

    for kind in ("ConfigMap", "Secret"):
        fault_proxy.refuse()
        case.change(kind)
        fault_proxy.accept()
        case.all_rolled()

    case.calm()


@pytest.mark.slow
def test_what_takes_long_to_be_allowed_or_answered_comes_in_the_end(
    fault_proxy: FaultProxy, stage: Stage, shaky: Start
) -> None:
    """Forbidden, and silence until the time is up: each waits half a minute, so all at once."""
    names = ("forbidden-read", "forbidden-write", "silent-read", "silent-write")
    webs = {
        name: build.deployment(name, replicas=0, uses=f"secret/{name}", annotations=ENABLED)
        for name in names
    }
    webs["forbidden-watch"] = build.deployment(
        "forbidden-watch", replicas=0, uses="configmap/app", annotations=ENABLED
    )
    stage.make(build.configmap("app"), *map(build.secret, names), *webs.values())
    shaky()
    for web in webs.values():
        stage.adopted(web)
        stage.settled(web)
    fault_proxy.inject_in_turn(watch_of("configmaps"), Cut(in_event=1), Answer(403))
    for name in names:
        fault: Fault = Answer(403) if "forbidden" in name else Silence()
        match = (
            Match(method="GET", path=f"/secrets/{name}$")
            if "read" in name
            else Match(method="PATCH", path=f"/deployments/{name}$")
        )
        fault_proxy.inject(fault, match)

    for name in names:
        stage.change("Secret", name, password="new")
    stage.change("ConfigMap", "app", key="new")

    for name, web in webs.items():
        eventually(lambda web=web: len(stage.revisions(web)) == 2, f"{name} rolls", timeout=100)
    stage.quiet(webs["silent-write"])
    assert all(len(stage.revisions(web)) == 2 for web in webs.values())


# What only a fault at the right moment shows


@pytest.fixture
def blind(fault_proxy: FaultProxy) -> Iterator[Callable[[str], None]]:
    """`blind("deployments")`: its watch tells nothing more, and the next one has to list anew."""

    def strike(plural: str) -> None:
        fault_proxy.inject_in_turn(watch_of(plural), Silence(), Answer(410))
        fault_proxy.wait_for("Silence", watch_of(plural))

    yield strike
    fault_proxy.clear()


def test_a_template_found_in_a_list_does_not_count_as_newer_than_a_content_that_was_watched(
    case: Case, shaky: Start, blind: Callable[[str], None]
) -> None:
    """The list shows a version from after the content; its template may well be from before."""
    shaky("--debounce", "5s", *IMPATIENT)
    case.stage.adopted(case.web)
    blind("deployments")
    image = {"spec": {"template": {"metadata": {"labels": {"image": "new"}}}}}
    case.stage.api.patch(case.stage.path(case.web), image)
    # One that is made after the content has that content, whenever its template was written.
    eventually(lambda: len(case.stage.revisions(case.web)) == 2, "it has a ReplicaSet")

    case.change("ConfigMap")
    case.stage.annotate(case.web, note="a later version")

    eventually(lambda: case.stage.stamp(case.web), "it rolls after the other's change")
    assert case.stage.record(case.web)["why"] == "ConfigChanged"


def test_a_source_that_is_made_while_somebody_asks_for_it_in_vain_is_not_missed(
    fault_proxy: FaultProxy, stage: Stage, shaky: Start
) -> None:
    """The answer that it is missing comes after the event that it was made."""
    stage.make(build.configmap("other"))
    shaky()
    point = Match(method="GET", path="/configmaps/app$")
    fault_proxy.inject(Delay(20.0), point)
    uses = ["configmap/app", "configmap/other"]
    web = build.deployment("web", replicas=0, uses=uses, annotations=ENABLED)
    stage.make(web)
    fault_proxy.wait_for("Delay", point)
    stage.make(build.configmap("app"))
    first = stage.adopted(web)
    fault_proxy.clear()
    stage.quiet(web)

    stage.change("ConfigMap", "other", key="new")

    assert stage.rolled(web, since=first["n"])["by"] == ["configmap/other"]


def test_annotations_that_nobody_told_it_of_are_no_refusal(
    fault_proxy: FaultProxy, stage: Stage, shaky: Start, blind: Callable[[str], None]
) -> None:
    """A new workload has none until its own controller writes the first, often just then."""
    stage.api.patch(path_to("Namespace", stage.namespace), {"metadata": {"annotations": ENABLED}})
    stage.make(build.secret("db"))
    one = shaky()
    fault_proxy.inject(Delay(20.0), GET_SECRET)
    web = build.statefulset("web", replicas=0, uses="secret/db")
    stage.make(web)
    fault_proxy.wait_for("Delay", GET_SECRET)
    blind("statefulsets")
    stage.annotate(web, note="the first")
    fault_proxy.clear()

    stage.adopted(web)
    assert not one.said("Rejected")


def test_a_hold_that_nobody_told_it_of_is_heeded(
    case: Case, shaky: Start, blind: Callable[[str], None]
) -> None:
    one = shaky()
    case.stage.adopted(case.web)
    blind("deployments")
    case.stage.annotate(case.web, hold="incident 42")

    case.stage.change("ConfigMap", "app", key="new")

    one.wait_for(lambda line: line.get("reason") == "Held")
    case.calm()
