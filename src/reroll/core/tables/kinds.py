"""The table of workload kinds.

Watches, RBAC, decoders, patches, help and test parameters all come from these rows. A difference
between kinds is a column, never an `if`.
"""

from collections.abc import Mapping
from enum import StrEnum

import msgspec

INJECTION = "Injection"
"""The kind of our own: no workload, but it uses sources as one does."""


class Strategy(StrEnum):
    """How a workload gets its new configuration."""

    STAMP = "stamp"
    ENV = "env"
    RESTART = "restart"
    EVICT = "evict"
    RELOAD = "reload"
    TRIGGER = "trigger"
    RECREATE = "recreate"
    NOTIFY = "notify"
    NEXT_RUN = "next-run"


class Canary(StrEnum):
    """How a few pods of a workload try a content before the others get it."""

    BESIDE = "beside"
    """In an object of the same kind, beside the workload."""
    PARTITION = "partition"
    """In the workload itself: its partition keeps the other pods as they are."""
    NONE = ""


class Revisions(StrEnum):
    """What Kubernetes keeps of a workload's earlier templates."""

    REPLICA_SETS = "replicasets"
    CONTROLLER_REVISIONS = "controllerrevisions"
    NONE = ""


_REVISION_NUMBERS = ("deployment.kubernetes.io/revision", "rollout.argoproj.io/revision")


def revision_number(annotations: Mapping[str, str] | None, field: int) -> int:
    """The number of a revision, which a ReplicaSet has in an annotation and others in a field.

    One that was gone back to has a new number and is an old object.
    """
    texts = ((annotations or {}).get(name, "") for name in _REVISION_NUMBERS)
    return max([field, *(int(text) for text in texts if text.isdecimal())])


def first_number(annotations: Mapping[str, str] | None, field: int) -> int:
    """The number that a revision had first, as far as that is written down: on a ReplicaSet."""
    texts = ((annotations or {}).get(f"{name}-history", "") for name in _REVISION_NUMBERS)
    numbers = [int(one) for text in texts for one in text.split(",") if one.isdecimal()]
    return min([*numbers, revision_number(annotations, field)])


Path = tuple[str, ...]

ROLLS = (
    Strategy.STAMP,
    Strategy.ENV,
    Strategy.RESTART,
    Strategy.EVICT,
    Strategy.RELOAD,
    Strategy.NOTIFY,
)
_TEMPLATE = ("spec", "template")
_REPLICAS = ("spec", "replicas")
_UPDATE_STRATEGY = ("spec", "updateStrategy", "type")


class Counts(msgspec.Struct, frozen=True):
    """Fields of a status that count pods."""

    there: Path
    updated: Path
    """Those of the newest template."""
    available: Path
    phase: Path = ()
    """A word for all of it, see `core.health`."""
    lent: Path = ()
    """The generation of another workload's template that it runs."""
    partition: Path = ()
    """How many pods keep the old template, because somebody wants it so."""


EACH = "*"
"""A step of a path that stands for each item of a list."""


class Naming(msgspec.Struct, frozen=True):
    """A field of a workload, outside of its pod template, that names a source."""

    source: str
    """The row of the table of source kinds."""
    path: Path
    """To a name, or to an object with a name; `EACH` may be one of its steps."""
    optional: bool = False
    """Its pods start without the source too."""


HASH, TIME = "hash", "time"


class Stamp(msgspec.Struct, frozen=True):
    """Where a roll writes its mark, if not among the annotations of a pod template."""

    path: Path
    """To a map of annotations."""
    name: str = ""
    """Empty: the usual one."""
    value: str = HASH
    """`HASH`: a digest of what it uses; `TIME`: when; anything else: this very text."""

    @property
    def restarts(self) -> bool:
        """Whether it replaces pods though nothing changed."""
        return self.value != HASH


class Members(msgspec.Struct, frozen=True):
    """Which pods are a workload's, where its own controller does not own them."""

    selector: Path = ()
    """To a map of labels."""
    label: str = ""
    """A label that has the name of the workload as its value."""


class Condition(msgspec.Struct, frozen=True):
    """A condition in a status that tells that a workload is well."""

    type: str
    status: str = "True"


_COUNTS = Counts(
    ("status", "replicas"), ("status", "updatedReplicas"), ("status", "availableReplicas")
)


def api_kind(name: str) -> str:
    """The kind as the API spells it, of the name of a row: two groups may have the same kind."""
    return name.partition(".")[0]


class Kind(msgspec.Struct, frozen=True):
    """One kind of workload."""

    name: str
    """What it is called here: its kind, with the group behind it if it is no row of ours."""
    group: str
    version: str
    plural: str
    template: Path
    strategies: tuple[Strategy, ...]
    """Those it can do; the first is the default."""
    revisions: Revisions = Revisions.NONE
    copies_record: bool = False
    """Its annotations are copied to its revisions and come back with an undo."""
    still: Path = ()
    """A boolean that says: do not start anything now (`paused`, `suspend`)."""
    keeps_back: bool = False
    """While that is so, a changed template replaces no pods."""
    replaces_pods: bool = True
    """A changed template replaces its pods, rather than being for those of the next run."""
    update_strategy: Path = ()
    """Where `OnDelete` says that a changed template replaces no pod."""
    replicas: Path = ()
    """How many pods it should have."""
    counts: Counts | None = None
    """Where its status tells how far a rollout is; `None`: there is nothing to wait for."""
    gives_up: bool = False
    """Its controller tells when a rollout makes no progress (`progressDeadlineSeconds`)."""
    sticks: bool = False
    """It never replaces a pod that was not ready yet (kubernetes/kubernetes#67250)."""
    restarted_at: Path = ()
    """Where its status tells that `restart_at` was done."""
    restart_at: Path = ()
    """A field that restarts pods, where it is not an annotation on the template."""
    makes_jobs: bool = False
    """Its template is that of the Jobs that it makes."""
    fixed: bool = False
    """Its template cannot be changed: it is made anew instead."""
    loose: bool = False
    """Its controller writes its template anew, with empty fields taken out or put in."""
    borrows_template: bool = False
    """`spec.workloadRef` may name a Deployment whose template it runs."""
    names: tuple[Naming, ...] = ()
    """Fields that name sources, besides those of its pod template."""
    stamp: Stamp | None = None
    """Where a roll writes, if not into its pod template."""
    members: Members | None = None
    """Its pods, if they are not just those that it owns."""
    well: Condition | None = None
    """What its status has to say before a rollout is over."""
    observes: bool = False
    """Its status tells the generation that its controller has seen."""
    canary: Canary = Canary.NONE
    no_canary: str = "only Deployments and StatefulSets have canaries"
    """Why, where there can be none."""

    @property
    def default_strategy(self) -> Strategy:
        return self.strategies[0]

    @property
    def kind(self) -> str:
        return api_kind(self.name)

    @property
    def reads_status(self) -> bool:
        """Whether its status names sources."""
        return any(field.path[:1] == ("status",) for field in self.names)

    @property
    def annotations(self) -> Path:
        """Where marks are written that are annotations."""
        return self.stamp.path if self.stamp else (*self.template, "metadata", "annotations")


KINDS: tuple[Kind, ...] = (
    Kind(
        "Deployment", "apps", "v1", "deployments", _TEMPLATE, ROLLS,
        revisions=Revisions.REPLICA_SETS, copies_record=True, still=("spec", "paused"),
        keeps_back=True, replicas=_REPLICAS, counts=_COUNTS, gives_up=True, observes=True,
        canary=Canary.BESIDE,
    ),
    Kind(
        "StatefulSet", "apps", "v1", "statefulsets", _TEMPLATE, ROLLS,
        revisions=Revisions.CONTROLLER_REVISIONS, update_strategy=_UPDATE_STRATEGY,
        replicas=_REPLICAS, sticks=True, observes=True, counts=msgspec.structs.replace(
            _COUNTS, partition=("spec", "updateStrategy", "rollingUpdate", "partition")
        ),
        canary=Canary.PARTITION,
    ),
    Kind(
        "DaemonSet", "apps", "v1", "daemonsets", _TEMPLATE, ROLLS,
        revisions=Revisions.CONTROLLER_REVISIONS, update_strategy=_UPDATE_STRATEGY,
        replicas=("status", "desiredNumberScheduled"), observes=True,
        counts=Counts(
            ("status", "currentNumberScheduled"), ("status", "updatedNumberScheduled"),
            ("status", "numberAvailable"),
        ),
    ),
    Kind(
        "CronJob", "batch", "v1", "cronjobs", ("spec", "jobTemplate", "spec", "template"),
        (Strategy.NEXT_RUN, Strategy.TRIGGER, Strategy.NOTIFY), still=("spec", "suspend"),
        replaces_pods=False, makes_jobs=True,
    ),
    Kind(
        "Job", "batch", "v1", "jobs", _TEMPLATE,
        (Strategy.NEXT_RUN, Strategy.RECREATE, Strategy.NOTIFY), still=("spec", "suspend"),
        fixed=True,
    ),
    Kind(
        "Rollout", "argoproj.io", "v1alpha1", "rollouts", _TEMPLATE, ROLLS,
        revisions=Revisions.REPLICA_SETS, still=("spec", "paused"), replicas=_REPLICAS,
        counts=msgspec.structs.replace(
            _COUNTS, phase=("status", "phase"), lent=("status", "workloadObservedGeneration")
        ),
        restart_at=("spec", "restartAt"), restarted_at=("status", "restartedAt"), loose=True,
        borrows_template=True, gives_up=True, observes=True,
        no_canary="a Rollout has canaries of its own, in spec.strategy",
    ),
)  # fmt: skip
