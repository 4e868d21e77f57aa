"""Shapes that real charts and manifests have, and that were once refused or rendered wrong."""

from typing import Any

import pytest
from tests.manifests.manifests import checksum, configmap, deployment, env_from, rendered, stream

from reroll.manifests.model import BadInputError

APP = env_from("ConfigMap", "app")


# Null is absent

NULLS = """\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web, namespace: {null}, annotations: {{reroll.dev/names: {null}}}}}
spec:
  template:
    metadata: {{annotations: {{a: {null}}}}}
    spec:
      containers:
      - name: web
        env:
        - {{name: EMPTY, value: {null}}}
        - {null}
        envFrom: [{{configMapRef: {{name: {null}}}}}]
        volumeMounts:
        - {{name: v, mountPath: /etc/app, subPath: {null}, subPathExpr: {null}}}
      - {null}
      volumes:
      - {{name: v, configMap: {{name: app, items: [{{key: a, path: {null}}}]}}}}
      - {{name: s, secret: {{secretName: {null}}}}}
      - {{name: c, csi: {{driver: x, volumeAttributes: {{k: {null}}}}}}}
"""


@pytest.mark.parametrize("null", ["", "null", "~", "Null", "NULL"])
def test_null_is_read_as_absent(null: str) -> None:
    text = NULLS.format(null=null) + "---\n" + stream(configmap(namespace=None))
    plain = deployment(
        pod={
            "containers": [{"name": "web", "volumeMounts": [{"name": "v"}]}],
            "volumes": [{"name": "v", "configMap": {"name": "app", "items": [{"key": "a"}]}}],
        }
    )
    assert checksum(rendered(text)) == checksum(rendered(stream(configmap(), plain)))


def test_text_in_quotes_is_not_null() -> None:
    named = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "null"}\ndata: {a: "1"}\n---\n'
    text = named + stream(deployment("web", env_from("ConfigMap", "null")))
    assert checksum(rendered(text, strict=True))


def test_a_template_that_is_none_is_refused_at_its_field() -> None:
    pod: dict[str, Any] = {"containers": [{"name": "web", "env": [{"name": "A", "value": 1}]}]}
    with pytest.raises(BadInputError) as refused:
        rendered(stream(deployment(pod=pod)))
    (problem,) = refused.value.problems
    assert problem.startswith("1.yaml:12:18: `spec.template` of Deployment web is not")
