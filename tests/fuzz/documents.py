"""Valid documents of everything that the controller reads, to be mutated."""

import base64
from random import Random
from typing import Any

from tests.fuzz import seeded as st
from tests.fuzz.mutate import ODD, encode, mutated_by
from tests.fuzz.seeded import Gen

from reroll.core.dialects.rows import Options
from reroll.core.dialects.table import DIALECTS
from reroll.core.revisions.pins import PINS
from reroll.core.tables.annotations import STATE
from reroll.core.tables.kinds import Kind

HOME = "shop"
NAMES = st.sampled_from(["web", "app", "a", "x" * 253, "odd.name-0"])
VERSIONS = st.integers(1, 10**6).map(str)
TIMES = st.sampled_from(["2026-01-01T00:00:00Z", "2026-05-05T05:05:05Z", "1970-01-01T00:00:00Z"])
DIGEST = "0123456789abcdef0123456789abcdef"
WORDS = [word.key for row in DIALECTS for word in row.words(Options()) if "/" in word.key]
TEXTS = st.sampled_from(
    [
        *("true", "false", "auto", "env", "evict", "reload", "recreate", "trigger", "5s", "0"),
        *("1h30m", "999999999d", "configmap/app", "configmap/*", "secret/db#password", "app,db"),
        *(
            "secret/other/db",
            "8080",
            "/reload",
            "frozen",
            "live",
            "template",
            "[A-Z]+=.*",
            "^(a)*$",
        ),
        *("2026-01-01T00:00:00Z", "until 2026-01-01T00:00:00Z"),
    ]
)

ENTRIES = st.sampled_from(["configmap/app", "secret/db", "secret/db#password", "odd", ""])

records: Gen[dict[str, Any]] = st.fields(
    {
        "n": st.integers(0, 2**53),
        "at": TIMES,
        "why": st.sampled_from(["Adopted", "ConfigChanged"]),
        "s": st.dictionaries(
            st.sampled_from(["configmap/app", "secret/db", "secret/db#password"]),
            st.sampled_from([DIGEST, "absent", "awaited", "", "x"]),
            most=3,
        ),
    },
    {
        "v": st.sampled_from([1, 1, 2]),
        "k": st.sampled_from(["k1", "k2", ""]),
        "rolled": TIMES,
        "by": st.lists(st.just("configmap/app"), most=2),
        "keys": st.lists(st.just("key"), most=2),
        "todo": st.fields({"do": st.sampled_from(["evict", "reload"]), "since": TIMES}),
        "pins": st.sampled_from(["", "configmap/app=app-0123456789"]),
        "named": st.booleans(),
        "held": TIMES,
        "rv": st.integers(0, 2**53),
        "how": st.sampled_from(["stamp", "evict", "reload", "recreate", "odd"]),
        "declined": st.lists(ENTRIES, most=2),
        "failed": st.booleans(),
        "trial": st.fields(
            {"of": st.lists(ENTRIES, most=2)},
            {
                "sick": st.booleans(),
                "v": st.sampled_from(["healthy", "failed", "stuck", "odd"]),
                "at": TIMES,
                "why": st.just("CrashLoopBackOff (exit 1)"),
                "back": TIMES,
                "b": st.sampled_from(["by hand", "healthy", "failed", "odd"]),
                "past": st.lists(ENTRIES, most=2),
                "ok": st.lists(ENTRIES, most=2),
                "was": st.sampled_from(["unknown", "failed"]),
            },
        ),
        "good": st.sampled_from(["", "configmap/app=app-0123456789", "odd"]),
        "mark": st.just(DIGEST),
        "burst": st.fields({"n": st.integers(-1, 2**40), "since": TIMES}),
        "canary": st.fields(
            {
                "of": st.just(DIGEST),
                "v": st.sampled_from(["", "failed", "aborted", "promoted", "odd"]),
                "at": TIMES,
            },
            {
                "why": st.just("x"),
                "within": st.fields(
                    {
                        "was": st.sampled_from([0, -1, 2**40]),
                        "to": st.sampled_from([0, -1, 2]),
                        "template": st.just(DIGEST),
                    },
                    {
                        "old": st.sampled_from(["", "configmap/app=app-0123456789", "odd"]),
                        "new": st.sampled_from(["", "configmap/app=app-0123456789", "odd"]),
                    },
                ),
            },
        ),
        "expires": TIMES,
    },
)
record_texts: Gen[str] = (records | mutated_by(records)).map(
    lambda one: encode(one).decode("latin-1")
)
odd_texts = st.sampled_from([one for one in ODD if isinstance(one, str)])


def annotations() -> Gen[dict[str, Any]]:
    """Those of every dialect, the record and pins among them, with good and odd values."""
    words = st.dictionaries(st.sampled_from(WORDS), TEXTS | odd_texts, most=6)
    more = st.fields({}, {STATE: record_texts, PINS: TEXTS, "other": odd_texts})
    return Gen(lambda random: {**words.make(random), **more.make(random)})


def metadata(name: Gen[str] = NAMES) -> Gen[dict[str, Any]]:
    return st.fields(
        {
            "name": name,
            "namespace": st.just(HOME),
            "uid": st.sampled_from(["uid-1", "uid-2"]),
            "resourceVersion": VERSIONS,
            "generation": st.integers(1, 5),
            "annotations": annotations().map(lambda a: {**a, "reroll.dev/enabled": "true"}),
            "creationTimestamp": TIMES,
        },
        {
            "labels": st.just({"app": "web"}),
            "deletionTimestamp": TIMES,
            "finalizers": st.just(["reroll.dev/injection"]),
            "ownerReferences": st.just(
                [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "d", "controller": True}]
            ),
            "managedFields": st.just(
                [
                    {
                        "manager": "kubectl",
                        "time": "2026-01-01T00:00:00Z",
                        "fieldsV1": {"f:data": {"f:key": {}}, "f:metadata": {"f:labels": {}}},
                    }
                ]
            ),
        },
    )


REF = {"name": "app", "key": "key"}
POD: dict[str, Any] = {
    "containers": [
        {
            "name": "web",
            "image": "web:1",
            "env": [
                {"name": "A", "value": None},
                {"name": "B", "valueFrom": {"configMapKeyRef": {**REF, "optional": True}}},
                {"name": "C", "valueFrom": {"secretKeyRef": {"name": "db", "key": "password"}}},
                {"name": "STAKATER_APP_CONFIGMAP", "value": "0123"},
            ],
            "envFrom": [{"configMapRef": {"name": "app"}}, {"secretRef": {"name": "db"}}],
            "volumeMounts": [{"name": "v", "mountPath": "/v", "subPath": "x"}],
        }
    ],
    "initContainers": [{"name": "init", "envFrom": [{"secretRef": {"name": "db"}}]}],
    "volumes": [
        {"name": "v", "configMap": {"name": "app", "items": [{"key": "key", "path": "p"}]}},
        {"name": "s", "secret": {"secretName": "db"}},
        {
            "name": "p",
            "projected": {
                "sources": [{"configMap": {"name": "app"}}, {"secret": {"name": "db"}}],
            },
        },
        {
            "name": "c",
            "csi": {
                "driver": "secrets-store.csi.k8s.io",
                "volumeAttributes": {"secretProviderClass": "vault"},
            },
        },
    ],
}
TEMPLATES: Gen[dict[str, Any]] = st.fields(
    {
        "metadata": st.fields({"labels": st.just({"app": "web"})}, {"annotations": annotations()}),
        "spec": st.just(POD),
    }
)
STATUSES: Gen[dict[str, Any]] = st.fields(
    {},
    {
        "observedGeneration": st.integers(0, 5),
        "replicas": st.integers(0, 3),
        "updatedReplicas": st.integers(0, 3),
        "availableReplicas": st.integers(0, 3),
        "phase": st.sampled_from(["Healthy", "Paused", "Degraded"]),
        "message": st.just("a message"),
        "conditions": st.lists(
            st.fields(
                {
                    "type": st.sampled_from(["Progressing", "Complete", "Failed", "Suspended"]),
                    "status": st.sampled_from(["True", "False"]),
                    "message": st.just("why"),
                }
            ),
            most=2,
        ),
    },
)


def workloads(kind: Kind) -> Gen[dict[str, Any]]:
    return Gen(lambda random: _workload(random, kind))


def _workload(random: Random, kind: Kind) -> dict[str, Any]:
    spec: dict[str, Any] = {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}}
    here = spec
    for step in kind.template[1:-1]:
        here = here.setdefault(step, {})
    if kind.template:
        here[kind.template[-1]] = TEMPLATES.make(random)
    for path in {naming.path for naming in kind.names}:
        here = spec
        for step in path[1:-1]:
            here = here.setdefault(step, {}) if isinstance(here, dict) else {}
        here[path[-1]] = "app"
    return {"metadata": metadata().make(random), "spec": spec, "status": STATUSES.make(random)}


VALUES = st.sampled_from(["", "1", "new", "smørbrød"])
configmaps: Gen[dict[str, Any]] = st.fields(
    {
        "metadata": metadata(st.sampled_from(["app", "other"])),
        "data": st.dictionaries(st.sampled_from(["key", "a", "-._"]), VALUES, most=3),
    },
    {
        "binaryData": st.just({"blob": "AAE="}),
        "immutable": st.booleans(),
    },
)
secrets: Gen[dict[str, Any]] = st.fields(
    {
        "metadata": metadata(st.sampled_from(["db", "other"])),
        "type": st.sampled_from(["Opaque", "kubernetes.io/tls"]),
        "data": st.dictionaries(
            st.sampled_from(["password", "tls.crt", "tls.key"]),
            st.sampled_from(["cGFzc3dvcmQ=", "", "not base64", "====", "\xff"]),
            most=3,
        ),
    }
)
namespaces: Gen[dict[str, Any]] = st.fields(
    {"metadata": metadata(st.sampled_from([HOME, "other"]))}
)
mount_reports: Gen[dict[str, Any]] = st.fields(
    {
        "metadata": metadata(),
        "status": st.fields(
            {
                "podName": st.just("web-1"),
                "mounted": st.booleans(),
                "secretProviderClassName": st.sampled_from(["vault", "other"]),
                "objects": st.lists(
                    st.fields(
                        {"id": st.sampled_from(["a", "b"]), "version": st.sampled_from(["1", "2"])}
                    ),
                    most=3,
                ),
            }
        ),
    }
)
injections: Gen[dict[str, Any]] = st.fields(
    {
        "metadata": metadata(),
        "spec": st.fields(
            {
                "from": st.lists(
                    st.fields(
                        {
                            "name": st.sampled_from(["db", "app"]),
                            "key": st.sampled_from(["password", "key"]),
                        },
                        {
                            "kind": st.sampled_from(["Secret", "ConfigMap"]),
                            "namespace": st.just("other"),
                            "variable": st.just("v"),
                        },
                    ),
                    least=1,
                    most=2,
                ),
                "to": st.fields(
                    {
                        "apiVersion": st.sampled_from(["v1", "example.com/v1", "a/b/c"]),
                        "kind": st.sampled_from(["Target", "Secret", "Injection"]),
                        "name": st.just("t"),
                        "path": st.sampled_from(
                            [".spec.a", ".spec.list[0].x", ".data.key", '.spec[?(@.n=="x")].v', ""]
                        ),
                    }
                ),
            },
            {
                "template": st.sampled_from(["{{ password }}", "{{", "{% if x %}", "{{ 1/0 }}"]),
                "encoding": st.sampled_from(["string", "base64", "json", "odd"]),
                "dryRun": st.booleans(),
                "deletionPolicy": st.sampled_from(["Keep", "Remove"]),
            },
        ),
    },
    {
        "status": st.just(
            {
                "observedGeneration": 1,
                "conditions": [{"type": "Ready", "status": "True", "reason": "Injected"}],
                "target": {
                    "apiVersion": "example.com/v1",
                    "kind": "Target",
                    "name": "t",
                    "path": ".spec.a",
                    "uid": "u",
                },
                "digest": "k1:abc",
                "takenBack": 1,
            }
        )
    },
)
jobs: Gen[dict[str, Any]] = st.fields(
    {
        "apiVersion": st.just("batch/v1"),
        "kind": st.just("Job"),
        "metadata": st.fields({"name": NAMES, "labels": st.just({"a": "b"})}),
        "spec": st.fields({"template": TEMPLATES}),
    }
)
pending_jobs: Gen[dict[str, Any]] = st.fields(
    {
        "metadata": metadata(st.just("web-reroll-job")),
        "revision": st.just(1),
        "data": st.fields({"uid": st.sampled_from(["uid-1", "gone"]), "job": jobs}),
    }
)
key_secrets: Gen[dict[str, Any]] = st.fields(
    {
        "metadata": st.just(
            {"name": "keys", "namespace": "reroll", "annotations": {"reroll.dev/current": "k1"}}
        ),
        "data": st.dictionaries(
            st.sampled_from(["k1", "k2", ""]),
            st.sampled_from([base64.b64encode(b"x" * 32).decode(), "", "%", "\xe9"]),
            most=2,
        ),
    }
)
leases: Gen[dict[str, Any]] = st.fields(
    {
        "metadata": st.fields({"resourceVersion": VERSIONS}),
        "spec": st.fields(
            {},
            {
                "holderIdentity": st.sampled_from(["me", "other", ""]),
                "leaseDurationSeconds": st.sampled_from([1, 15, 2**31 - 1]),
                "acquireTime": TIMES,
                "renewTime": TIMES,
                "leaseTransitions": st.integers(0, 5),
            },
        ),
    }
)
reviews: Gen[dict[str, Any]] = st.fields(
    {
        "apiVersion": st.just("admission.k8s.io/v1"),
        "kind": st.just("AdmissionReview"),
        "request": st.fields(
            {
                "uid": st.just("review-1"),
                "operation": st.just("CREATE"),
                "object": st.fields(
                    {
                        "metadata": st.fields(
                            {
                                "annotations": st.fields(
                                    {
                                        PINS: st.sampled_from(
                                            ["configmap/app=app-0123456789", "secret/db=db-1", ""]
                                        )
                                    }
                                )
                            }
                        ),
                        "spec": st.just(POD),
                    }
                ),
            }
        ),
    }
)
SCHEMA = "example.com.v1.Machine"
openapi: Gen[dict[str, Any]] = st.just(
    {
        "components": {
            "schemas": {
                SCHEMA: {
                    "type": "object",
                    "properties": {
                        "spec": {
                            "allOf": [{"$ref": "#/components/schemas/Spec"}],
                        },
                        "status": {
                            "type": "object",
                            "additionalProperties": {"type": "integer"},
                        },
                    },
                    "x-kubernetes-group-version-kind": [
                        {"group": "example.com", "version": "v1", "kind": "Machine"}
                    ],
                },
                "Spec": {
                    "type": "object",
                    "properties": {
                        "template": {"$ref": "#/components/schemas/Spec"},
                        "size": {"type": "integer"},
                        "logins": {
                            "type": "array",
                            "items": {"properties": {"secretName": {"type": "string"}}},
                        },
                        "any": {"x-kubernetes-preserve-unknown-fields": True},
                    },
                },
            }
        }
    }
)
discovery_lists: Gen[dict[str, Any]] = st.just(
    {
        "groupVersion": "example.com/v1",
        "resources": [
            {"name": "machines", "kind": "Machine", "namespaced": True},
            {"name": "machines/status", "kind": "Machine", "namespaced": True},
        ],
        "versions": [{"groupVersion": "example.com/v1", "version": "v1"}],
    }
)

STATES = st.fields(
    {},
    {
        "waiting": st.fields({"reason": st.sampled_from(["CrashLoopBackOff", "ErrImagePull", ""])}),
        "terminated": st.fields({"exitCode": st.sampled_from([0, 1, -1, 2**40])}),
        "running": st.fields({"startedAt": TIMES}),
    },
)
pods: Gen[dict[str, Any]] = st.fields(
    {
        "metadata": metadata(),
        "status": st.fields(
            {"phase": st.sampled_from(["Running", "Failed", "Pending", "odd"])},
            {
                "podIP": st.sampled_from(["10.0.0.1", "::1", "odd", ""]),
                "reason": st.just("Evicted"),
                "conditions": st.lists(
                    st.fields(
                        {"type": st.sampled_from(["Ready", "PodScheduled"])},
                        {"status": st.sampled_from(["True", "False", ""]), "reason": TEXTS},
                    ),
                    most=2,
                ),
                "containerStatuses": st.lists(
                    st.fields(
                        {"name": NAMES, "state": STATES},
                        {"lastState": STATES, "ready": st.booleans(), "restartCount": st.just(7)},
                    ),
                    most=2,
                ),
            },
        ),
    }
)
METRICS = st.lists(
    st.fields(
        {"name": NAMES},
        {"interval": st.just("1s"), "count": st.sampled_from([0, "0", 3]), "provider": st.just({})},
    ),
    most=2,
)
analysis_templates: Gen[dict[str, Any]] = st.fields(
    {
        "metadata": metadata(),
        "spec": st.fields(
            {"metrics": METRICS},
            {
                "args": st.lists(
                    st.fields({"name": st.just("service")}, {"value": TEXTS, "valueFrom": TEXTS}),
                    most=2,
                ),
                "dryRun": METRICS,
                "templates": st.lists(
                    st.fields({"templateName": NAMES}, {"clusterScope": st.booleans()}), most=2
                ),
            },
        ),
    }
)
analysis_runs: Gen[dict[str, Any]] = st.fields(
    {
        "metadata": metadata(),
        "status": st.fields(
            {"phase": st.sampled_from(["Successful", "Failed", "Error", "Running", ""])},
            {"completedAt": TIMES, "metricResults": METRICS},
        ),
    },
    {"spec": st.fields({"terminate": st.booleans()})},
)
SAMPLES = st.fields(
    {
        "value": st.just([1.5, "3"]),
        "metric": st.dictionaries(st.just("alertname"), TEXTS, most=1),
    }
)
prometheus_answers: Gen[dict[str, Any]] = st.fields(
    {
        "status": st.sampled_from(["success", "error"]),
        "data": st.fields(
            {
                "resultType": st.sampled_from(["vector", "scalar", "matrix"]),
                "result": st.lists(SAMPLES, most=2) | st.just([1.5, "NaN"]),
            }
        ),
    },
    {"error": TEXTS},
)
alerts: Gen[list[Any]] = st.lists(
    st.fields({"labels": st.dictionaries(st.just("alertname"), TEXTS, most=1)}), most=2
)
