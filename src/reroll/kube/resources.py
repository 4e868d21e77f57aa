"""The table of API resources: each kind that Reroll reads or writes stands here once.

Rows of the tables in core (workload kinds, source kinds) become resources with `of`.
"""

from typing import Protocol

from reroll.core.tables.kinds import Revisions
from reroll.kube import wire
from reroll.kube.wire import Resource

PODS = wire.PODS
CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap")
SECRETS = Resource("", "v1", "secrets", "Secret")
SERVICES = Resource("", "v1", "services", "Service")
SERVICE_ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount")
REPLICATION_CONTROLLERS = Resource("", "v1", "replicationcontrollers", "ReplicationController")
EVENTS = Resource("", "v1", "events", "Event")
NAMESPACES = Resource("", "v1", "namespaces", "Namespace", namespaced=False)

DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment")
REPLICA_SETS = Resource("apps", "v1", "replicasets", "ReplicaSet")
CONTROLLER_REVISIONS = Resource("apps", "v1", "controllerrevisions", "ControllerRevision")
JOBS = Resource("batch", "v1", "jobs", "Job")
INGRESSES = Resource("networking.k8s.io", "v1", "ingresses", "Ingress")
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease")
INJECTIONS = Resource("reroll.dev", "v1alpha1", "injections", "Injection")
"""As in `core.model.injection`, which a controller without Injections does not load."""

ANALYSIS_RUNS = Resource("argoproj.io", "v1alpha1", "analysisruns", "AnalysisRun")
ANALYSIS_TEMPLATES = Resource("argoproj.io", "v1alpha1", "analysistemplates", "AnalysisTemplate")
CLUSTER_ANALYSIS_TEMPLATES = Resource(
    "argoproj.io", "v1alpha1", "clusteranalysistemplates", "ClusterAnalysisTemplate", False
)

ADMISSION_GROUP = "admissionregistration.k8s.io"
WEBHOOKS = Resource(
    ADMISSION_GROUP, "v1", "mutatingwebhookconfigurations", "MutatingWebhookConfiguration", False
)

VALIDATING_POLICIES = Resource(
    ADMISSION_GROUP, "v1", "validatingadmissionpolicies", "ValidatingAdmissionPolicy", False
)
VALIDATING_POLICY_BINDINGS = Resource(
    ADMISSION_GROUP,
    "v1",
    "validatingadmissionpolicybindings",
    "ValidatingAdmissionPolicyBinding",
    False,
)

SELF_REVIEWS = Resource(
    "authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview", False
)
SELF_ACCESS_REVIEWS = Resource(
    "authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", False
)
ACCESS_REVIEWS = Resource(
    "authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", False
)

CONFIGS = {one.kind: one for one in (CONFIG_MAPS, SECRETS)}
REVISIONS = {
    Revisions.REPLICA_SETS: REPLICA_SETS,
    Revisions.CONTROLLER_REVISIONS: CONTROLLER_REVISIONS,
}
"""What Kubernetes keeps the earlier templates of a workload in."""


class Row(Protocol):
    """A row of a table of kinds."""

    @property
    def kind(self) -> str: ...
    @property
    def group(self) -> str: ...
    @property
    def version(self) -> str: ...
    @property
    def plural(self) -> str: ...


class WatchedRow(Row, Protocol):
    """A row whose objects may be followed by watching another resource."""

    @property
    def plural_to_watch(self) -> str: ...


def of(row: Row) -> Resource:
    """The resource of a row of one of the tables."""
    return Resource(row.group, row.version, row.plural, row.kind)


def custom(group: str, version: str, plural: str, kind: str = "") -> Resource:
    """A resource that is in no table; without a kind it goes by its plural."""
    return Resource(group, version, plural, kind or plural)


def to_watch(row: WatchedRow) -> Resource:
    """The resource whose watch follows the objects of a row."""
    return Resource(row.group, row.version, row.plural_to_watch, row.kind)


def admission_policies(version: str) -> Resource:
    kind = "MutatingAdmissionPolicy"
    return Resource(ADMISSION_GROUP, version, "mutatingadmissionpolicies", kind, False)


def admission_policy_bindings(version: str) -> Resource:
    kind = "MutatingAdmissionPolicyBinding"
    return Resource(ADMISSION_GROUP, version, "mutatingadmissionpolicybindings", kind, False)
