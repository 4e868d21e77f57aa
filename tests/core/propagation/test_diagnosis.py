"""What the pods of a rollout tell: a table of statuses as they are in clusters."""

from datetime import UTC, datetime, timedelta
from itertools import permutations

import pytest
from tests.core.propagation.pod_statuses import (
    BACK_OFF,
    CRASHES,
    HEALTHY,
    KEYLESS,
    NO_IMAGE,
    NO_KEY,
    NOT_READY,
    OUTPUT,
    READY,
    RUNNING,
    SCHEDULED,
    UNREADY,
    UNSCHEDULED,
    Status,
    condition,
    container,
    ended,
    pending,
    pod,
    status,
    waits,
)

from reroll.core.observe.diagnosis import (
    LONG,
    LONGEST_MESSAGE,
    SIGNS,
    Diagnosis,
    Fault,
    Sign,
    Where,
    diagnose,
    late_diagnosis,
)
from reroll.core.observe.pod_state import PodState

ROLLED = datetime(2030, 1, 1, 12, 0, 0, 900_000, tzinfo=UTC)
NOW = ROLLED + timedelta(seconds=30)
MAIN = "pod web-6d4-x2x: container main: "


def of(*pods: PodState, unmade: str = "", now: datetime = NOW) -> Diagnosis:
    return diagnose(pods, unmade, since=ROLLED, now=now)


def init(state: Status, last: Status | None = None, restarts: int = 0) -> Status:
    """A pod that does not get beyond its init container."""
    first = container(state, last, restarts) | {"name": "migrate"}
    conditions = [condition("Initialized", "False", "ContainersNotInitialized"), *NOT_READY[2:]]
    return pending(waits("PodInitializing")) | {
        "initContainerStatuses": [first],
        "conditions": conditions,
    }


def over(reason: str, message: str = "") -> Status:
    return {
        "phase": "Failed",
        "reason": reason,
        "message": message,
        "startTime": "2030-01-01T12:00:02Z",
    }


OOM = ended(137, "OOMKilled")
TO_BLAME: dict[str, tuple[Status, str]] = {
    "crash loop": (CRASHES, "CrashLoopBackOff (exit 3)"),
    "crash loop after two crashes": (
        status(container(waits("CrashLoopBackOff", BACK_OFF), ended(1), 1)),
        "CrashLoopBackOff (exit 1)",
    ),
    "crash loop of one that ends well": (
        status(container(waits("CrashLoopBackOff", BACK_OFF), ended(0, "Completed"), 2)),
        "CrashLoopBackOff (exit 0)",
    ),
    "crash loop for want of memory": (
        status(container(waits("CrashLoopBackOff", BACK_OFF), OOM, 4)),
        "CrashLoopBackOff (exit 137)",
    ),
    "crash loop of one that cannot be started": (
        status(container(waits("CrashLoopBackOff", BACK_OFF), ended(128, "StartError"), 2)),
        "CrashLoopBackOff (exit 128)",
    ),
    "ended again": (status(container(ended(3), ended(3), 2)), "Error (exit 3), restarted 2 times"),
    "runs between two crashes": (
        status(container(RUNNING, ended(3), 2)),
        "Error (exit 3), restarted 2 times",
    ),
    "killed by liveness": (
        status(container(RUNNING, ended(137), 2)),
        "Error (exit 137), restarted 2 times",
    ),
    "killed by liveness, and ends well": (
        status(container(RUNNING, ended(0, "Completed"), 3)),
        "Completed (exit 0), restarted 3 times",
    ),
    "killed for its memory": (
        status(container(RUNNING, OOM, 2)),
        "OOMKilled (exit 137), restarted 2 times",
    ),
    "a key is missing": (KEYLESS, f"CreateContainerConfigError: {NO_KEY}"),
    "a ConfigMap is missing": (
        pending(waits("CreateContainerConfigError", 'configmap "app" not found')),
        'CreateContainerConfigError: configmap "app" not found',
    ),
    "a Secret is missing": (
        pending(waits("CreateContainerConfigError", 'secret "db" not found')),
        'CreateContainerConfigError: secret "db" not found',
    ),
    "nothing more is said": (
        pending(waits("CreateContainerConfigError")),
        "CreateContainerConfigError",
    ),
}


@pytest.mark.parametrize(("given", "why"), TO_BLAME.values(), ids=TO_BLAME)
def test_the_configuration_is_to_blame(given: Status, why: str) -> None:
    assert of(pod(given)) == Diagnosis(Fault.CONFIG, MAIN + why)


def test_an_init_container_that_crashes_is_named() -> None:
    crashes = init(waits("CrashLoopBackOff", BACK_OFF), ended(2), 4)
    why = "pod web-6d4-x2x: container migrate: CrashLoopBackOff (exit 2)"
    assert of(pod(crashes)) == Diagnosis(Fault.CONFIG, why)
    again = init(RUNNING, ended(2), 2)
    assert of(pod(again)).fault is Fault.CONFIG


IMAGE_WORDS = (
    "ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "ImageInspectError",
    "InvalidImageName", "RegistryUnavailable", "SignatureValidationFailed",
    "ImageVolumeMountFailed",
)  # fmt: skip
RUNTIME_WORDS = (
    "CreateContainerError", "PreCreateHookError", "PreStartHookError", "CreatePodSandboxError",
    "ConfigPodSandboxError",
)  # fmt: skip
POD_WORDS = (
    "Evicted", "NodeLost", "NodeShutdown", "Shutdown", "Terminated", "Preempting", "NodeAffinity",
    "OutOfcpu", "OutOfmemory", "OutOfpods", "OutOfnvidia.com/gpu", "UnexpectedAdmissionError",
    "TopologyAffinityError",
)  # fmt: skip
NOT_STARTED = condition("PodReadyToStartContainers", "False")
NOT_TO_BLAME: dict[str, tuple[Status, str]] = {
    **{
        word: (pending(waits(word, "toomanyrequests: slow down")), f"container main: {word}")
        for word in (*IMAGE_WORDS, *RUNTIME_WORDS)
    },
    **{word: (over(word, "The node was low on resource: memory."), word) for word in POD_WORDS},
    "Unschedulable": (UNSCHEDULED, "Unschedulable"),
    "SchedulingGated": (
        {"phase": "Pending", "conditions": [condition("PodScheduled", "False", "SchedulingGated")]},
        "SchedulingGated",
    ),
    "SchedulerError": (
        {"phase": "Pending", "conditions": [condition("PodScheduled", "False", "SchedulerError")]},
        "SchedulerError",
    ),
    "the kubelet cannot ask the API server": (
        pending(
            waits(
                "CreateContainerConfigError",
                "failed to sync configmap cache: timed out waiting for the condition",
            )
        ),
        "container main: CreateContainerConfigError",
    ),
    "the image runs as root": (
        pending(
            waits(
                "CreateContainerConfigError",
                "container has runAsNonRoot and image will run as root (container: main)",
            )
        ),
        "container main: CreateContainerConfigError",
    ),
    "a volume has no such folder": (
        pending(
            waits(
                "CreateContainerConfigError",
                'failed to prepare subPath for volumeMount "data" of container "main"',
            )
        ),
        "container main: CreateContainerConfigError",
    ),
    "its node does not answer": (
        HEALTHY
        | {
            "conditions": [
                *READY[:2],
                condition("Ready", "False"),
                condition("ContainersReady", "True"),
            ]
        },
        "its node is not ready",
    ),
    "its node lost the container": (
        status(container(ended(137, "ContainerStatusUnknown"), None, 1)),
        "container main: ContainerStatusUnknown (exit 137), restarted once",
    ),
    "a node is drained": (
        UNREADY
        | {
            "conditions": [
                *NOT_READY,
                condition("DisruptionTarget", "True", "PreemptionByScheduler"),
            ]
        },
        "it is being disrupted",
    ),
}


@pytest.mark.parametrize(("given", "why"), NOT_TO_BLAME.values(), ids=NOT_TO_BLAME)
def test_something_else_is_to_blame(given: Status, why: str) -> None:
    assert of(pod(given)) == Diagnosis(Fault.ELSEWHERE, f"pod web-6d4-x2x: {why}")


CREATING = pending(waits("ContainerCreating"), conditions=[SCHEDULED])
INITIALIZING = init(waits("PodInitializing")) | {"conditions": [NOT_STARTED, SCHEDULED]}


@pytest.mark.parametrize("given", [CREATING, INITIALIZING], ids=["plain", "with init containers"])
def test_volumes_that_are_not_mounted_count_after_a_while(given: Status) -> None:
    made = pod(given)
    created = made.metadata.creation_timestamp
    assert created
    assert of(made, now=created + LONG / 2).fault is Fault.NONE
    assert of(made, now=created + LONG).fault is Fault.ELSEWHERE


NOTHING_WRONG: dict[str, Status] = {
    "not ready yet": UNREADY,
    "crashed once": status(container(ended(3))),
    "restarted once": status(container(RUNNING, ended(3), 1)),
    "restarted once and ended again": status(container(ended(3), ended(3), 1)),
    "a word that nobody knows": pending(waits("WaitingForTheMoon")),
    "waits without a word": pending({"waiting": {}}),
    "no status at all": {},
    "init container runs": init(RUNNING),
    "init container failed once": init(RUNNING, ended(1), 1),
    "its sandbox was made again": init(ended(0, "Completed"), ended(0, "Completed"), 3),
    "a readiness gate is closed": UNREADY
    | {
        "conditions": [
            condition("Ready", "False", "ReadinessGatesNotReady", "gate"),
            condition("ContainersReady", "True"),
        ]
    },
    "a condition of another's": UNREADY
    | {"conditions": [*NOT_READY, condition("x.io/ok", "False")]},
}


@pytest.mark.parametrize("given", NOTHING_WRONG.values(), ids=NOTHING_WRONG)
def test_nothing_is_wrong_so_far(given: Status) -> None:
    assert of(pod(given)) == Diagnosis(Fault.NONE, "pod web-6d4-x2x: not ready")
    late = Diagnosis(Fault.CONFIG, "pod web-6d4-x2x: not ready by its deadline")
    assert late_diagnosis(of(pod(given))) == late


RECOVERED = status(container(RUNNING, ended(3), 4, ready=True, started=True), conditions=READY)


@pytest.mark.parametrize("given", [HEALTHY, RECOVERED], ids=["at once", "after crashes"])
def test_pods_that_are_ready_have_nothing_wrong_however_late_it_is(given: Status) -> None:
    diagnosis = of(pod(given))
    assert diagnosis == Diagnosis(Fault.NONE, all_ready=True)
    assert late_diagnosis(diagnosis).fault is Fault.ELSEWHERE


# More than one pod


def test_the_configuration_is_said_before_anything_else() -> None:
    given = {"web-1": NO_IMAGE, "web-2": CRASHES, "web-3": UNREADY, "web-4": HEALTHY}
    pods = [pod(one, name) for name, one in given.items()]
    for order in permutations(pods):
        assert of(*order, unmade="FailedCreate").why.startswith("pod web-2: container main: Crash")
    assert of(pods[0], pods[2], pods[3]).fault is Fault.ELSEWHERE
    assert of(pods[2], pods[3]) == Diagnosis(Fault.NONE, "pod web-3: not ready")


def test_of_several_the_first_by_name_is_told() -> None:
    pods = [pod(CRASHES, name) for name in ("web-c", "web-a", "web-b")]
    assert {of(*order).why.split(":")[0] for order in permutations(pods)} == {"pod web-a"}


def test_pods_from_before_the_roll_and_those_that_leave_do_not_count() -> None:
    old = pod(CRASHES, "web-old", created="2030-01-01T11:59:59Z")
    leaving = pod(CRASHES, "web-leaves", deletionTimestamp="2030-01-01T12:00:20Z")
    assert of(old, leaving, pod(UNREADY)).fault is Fault.NONE
    # Kubernetes tells whole seconds: one of the very second of the roll may be new.
    assert of(pod(CRASHES, created="2030-01-01T12:00:00Z")).fault is Fault.CONFIG


def test_without_new_pods_the_configuration_is_not_to_blame() -> None:
    old = pod(CRASHES, "web-old", created="2030-01-01T11:59:59Z")
    assert of(old) == Diagnosis(Fault.ELSEWHERE, "no pod has been made since the roll")
    quota = 'FailedCreate: pods "web-6d4-x2x" is forbidden: exceeded quota: small'
    assert of(old, unmade=quota) == Diagnosis(Fault.ELSEWHERE, f"pods cannot be made: {quota}")
    assert late_diagnosis(of(old)) == of(old)


# What is never told


@pytest.mark.parametrize(
    "given", [one for one, _ in (TO_BLAME | NOT_TO_BLAME).values()], ids=[*TO_BLAME, *NOT_TO_BLAME]
)
def test_the_output_of_a_container_is_never_told(given: Status) -> None:
    diagnosis = of(pod(given))
    assert OUTPUT[:10] not in diagnosis.why
    assert "hunter2" not in repr(pod(given))


def test_a_long_message_is_cut() -> None:
    why = of(pod(pending(waits("CreateContainerConfigError", "k" * 5_000)))).why
    assert why.count("k") == LONGEST_MESSAGE
    assert len(of(unmade="q" * 5_000).why) < 2 * LONGEST_MESSAGE


def test_a_pod_of_a_clock_that_is_ahead_is_read_all_the_same() -> None:
    assert of(pod(CRASHES), now=ROLLED) == of(pod(CRASHES))


# The table itself


def faults() -> list[Fault]:
    given = [one for one, _ in (TO_BLAME | NOT_TO_BLAME).values()]
    return [of(pod(one), now=ROLLED + 2 * LONG).fault for one in (*given, CREATING, INITIALIZING)]


@pytest.mark.parametrize("sign", SIGNS, ids=lambda sign: f"{sign.word} {sign.says}")
def test_no_row_can_be_left_out(sign: Sign, monkeypatch: pytest.MonkeyPatch) -> None:
    before = faults()
    rest = tuple(one for one in SIGNS if one != sign)
    monkeypatch.setattr("reroll.core.observe.diagnosis.SIGNS", rest)
    assert faults() != before


def test_every_condition_has_a_name_for_people() -> None:
    assert all(sign.named for sign in SIGNS if sign.where is Where.CONDITION)
    assert {sign.fault for sign in SIGNS} == {Fault.CONFIG, Fault.ELSEWHERE}
