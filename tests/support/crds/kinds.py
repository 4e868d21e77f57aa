"""Definitions of the custom resources that the rows of `examples/kinds` are for.

Compact: the fields that matter have the places and types that they have in the real definitions,
as those were published; of the rest, whole branches are kept as they come. A DeploymentConfig is no
custom resource on OpenShift, which serves it from an API server of its own: the shape is the same.
"""

from typing import Any

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "integer"}
TRUTH: Schema = {"type": "boolean"}
ANY: Schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
TEXTS: Schema = {"type": "object", "additionalProperties": TEXT}
PART: Schema = {"x-kubernetes-int-or-string": True}


def fields(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties}


def each(item: Schema) -> Schema:
    return {"type": "array", "items": item}


CONDITIONS = each(
    fields(type=TEXT, status=TEXT, reason=TEXT, message=TEXT, observedGeneration=NUMBER)
)
SELECTOR = fields(matchLabels=TEXTS, matchExpressions=each(ANY))
ONE_KEY = fields(name=TEXT, key=TEXT, optional=TRUTH)
ENV = each(
    fields(name=TEXT, value=TEXT, valueFrom=fields(secretKeyRef=ONE_KEY, configMapKeyRef=ONE_KEY))
)
ENV_FROM = each(fields(secretRef=ONE_KEY, configMapRef=ONE_KEY))
ITEMS = each(fields(key=TEXT, path=TEXT))
VOLUMES = each(
    fields(
        name=TEXT,
        secret=fields(secretName=TEXT, items=ITEMS, optional=TRUTH),
        configMap=fields(name=TEXT, items=ITEMS, optional=TRUTH),
    )
)
COUNTED = dict.fromkeys(("replicas", "updatedReplicas", "availableReplicas"), NUMBER)


def definition(
    group: str,
    version: str,
    kind: str,
    plural: str,
    scope: str = "Namespaced",
    **properties: Schema,
) -> Schema:
    names = {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"}
    served = {
        "name": version,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": fields(**properties)},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {"group": group, "scope": scope, "names": names, "versions": [served]},
    }


def _monitoring(kind: str, plural: str, **more: Schema) -> Schema:
    spec = fields(
        replicas=NUMBER,
        paused=TRUTH,
        secrets=each(TEXT),
        configMaps=each(TEXT),
        volumes=VOLUMES,
        containers=each(fields(name=TEXT, env=ENV)),
        podMetadata=fields(annotations=TEXTS, labels=TEXTS, name=TEXT),
        **more,
    )
    status = fields(paused=TRUTH, conditions=CONDITIONS, **COUNTED)
    return definition("monitoring.coreos.com", "v1", kind, plural, spec=spec, status=status)


def _template(container: str) -> Schema:
    pod = fields(metadata=fields(labels=TEXTS, annotations=TEXTS), volumes=VOLUMES)
    return fields(pod=pod, **{container: fields(env=ENV)})


def _kafka(kind: str, plural: str, **spec: Schema) -> Schema:
    status = fields(observedGeneration=NUMBER, conditions=CONDITIONS)
    return definition(
        "kafka.strimzi.io", "v1beta2", kind, plural, spec=fields(**spec), status=status
    )


_UPDATE = fields(type=TEXT, partition=PART, paused=TRUTH)
_STATUS = fields(observedGeneration=NUMBER, conditions=CONDITIONS, **COUNTED)

DEFINITIONS: tuple[Schema, ...] = (
    definition(
        "apps.kruise.io", "v1alpha1", "CloneSet", "clonesets", status=_STATUS,
        spec=fields(replicas=NUMBER, selector=SELECTOR, template=ANY, updateStrategy=_UPDATE),
    ),
    definition(
        "apps.kruise.io", "v1beta1", "StatefulSet", "statefulsets", status=_STATUS,
        spec=fields(
            replicas=NUMBER, selector=SELECTOR, serviceName=TEXT, template=ANY,
            updateStrategy=fields(
                type=TEXT,
                rollingUpdate=fields(partition=PART, paused=TRUTH, podUpdatePolicy=TEXT),
            ),
        ),
    ),
    definition(
        "serving.knative.dev", "v1", "Service", "services",
        spec=fields(
            template=fields(
                metadata=fields(name=TEXT, annotations=TEXTS, labels=TEXTS), spec=ANY
            ),
            traffic=each(ANY),
        ),
        status=fields(observedGeneration=NUMBER, conditions=CONDITIONS, url=TEXT),
    ),
    definition(
        "apps.openshift.io", "v1", "DeploymentConfig", "deploymentconfigs", status=_STATUS,
        spec=fields(
            replicas=NUMBER, paused=TRUTH, selector=TEXTS, template=ANY, triggers=each(ANY)
        ),
    ),
    _monitoring("Prometheus", "prometheuses", thanos=fields(objectStorageConfig=ONE_KEY)),
    _monitoring("Alertmanager", "alertmanagers"),
    definition(
        "postgresql.cnpg.io", "v1", "Cluster", "clusters",
        spec=fields(
            instances=NUMBER, env=ENV, envFrom=ENV_FROM,
            projectedVolumeTemplate=fields(
                sources=each(
                    fields(
                        secret=fields(name=TEXT, items=ITEMS, optional=TRUTH),
                        configMap=fields(name=TEXT, items=ITEMS, optional=TRUTH),
                    )
                )
            ),
        ),
        status=fields(phase=TEXT, readyInstances=NUMBER, conditions=CONDITIONS),
    ),
    _kafka("Kafka", "kafkas", kafka=fields(version=TEXT, template=_template("kafkaContainer"))),
    _kafka(
        "KafkaConnect", "kafkaconnects",
        replicas=NUMBER, bootstrapServers=TEXT, template=_template("connectContainer"),
    ),
    definition(
        "core.strimzi.io", "v1beta2", "StrimziPodSet", "strimzipodsets",
        spec=fields(selector=SELECTOR, pods=each(ANY)),
        status=fields(
            observedGeneration=NUMBER, pods=NUMBER, readyPods=NUMBER, currentPods=NUMBER,
            conditions=CONDITIONS,
        ),
    ),
    # No product's: an operator that makes a Deployment, and a resource that holds settings.
    definition(
        "example.com", "v1", "Widget", "widgets",
        spec=fields(
            replicas=NUMBER, settings=TEXT, credentials=ONE_KEY, appConfig=TEXT,
            podAnnotations=TEXTS,
        ),
        status=fields(observedGeneration=NUMBER, conditions=CONDITIONS),
    ),
    definition(
        "example.com", "v1", "AppConfig", "appconfigs",
        spec=fields(level=TEXT, limits=ANY, comment=TEXT, servers=each(fields(host=TEXT))),
        status=fields(seen=NUMBER),
    ),
    definition(
        "example.com", "v1", "Vault", "vaults", spec=fields(token=TEXT), status=fields(seen=NUMBER)
    ),
    definition("example.com", "v1", "Planet", "planets", "Cluster", spec=fields(secret=TEXT)),
)  # fmt: skip
