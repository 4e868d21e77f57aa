"""The application of the demo, and the rights of its controller."""

import base64
from typing import Any

from reroll.core.tables import rights
from reroll.core.tables.kinds import KINDS
from reroll.settings.table import Settings
from reroll_dev.api import Api

NAMESPACE = "wave-demo"
DEPLOYMENT = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/nginx"
CONFIG = f"/api/v1/namespaces/{NAMESPACE}/configmaps/application-config"
SECRET = f"/api/v1/namespaces/{NAMESPACE}/secrets/tls-password"


def manifests() -> list[dict[str, Any]]:
    """The example of the article that explains Wave, with one more key and a Secret."""
    labels = {"app": "nginx"}
    mount = {
        "name": "cfg", "subPath": "index.html", "mountPath": "/usr/share/nginx/html/index.html",
    }  # fmt: skip
    password = {"secretKeyRef": {"name": "tls-password", "key": "password"}}
    container = {
        "name": "nginx",
        "image": "nginx:latest",
        "volumeMounts": [mount],
        "env": [{"name": "TLS_PASSWORD", "valueFrom": password}],
    }
    volume = {"name": "cfg", "configMap": {"name": "application-config"}}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "nginx", "annotations": {"reroll.dev/enabled": "true"}},
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [container], "volumes": [volume]},
            },
        },
    }
    config = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "application-config"},
        "data": {"index.html": "Hello world", "notes.txt": "not mounted anywhere"},
    }
    return [config, deployment]


def prepare(api: Api) -> None:
    """The application, and the rights of the controller: those it needs and no others."""
    for name in (NAMESPACE, "reroll"):
        api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "tls-password"},
        "data": {"password": encoded("tr0ub4dor")},
    }
    for manifest in [secret, *manifests()]:
        api.create(manifest, namespace=NAMESPACE)
    defaults = Settings()
    for rules, namespace in (
        (rights.cluster(KINDS), None),
        (rights.own(defaults.digest_key, defaults.lease), "reroll"),
    ):
        who = rights.user("reroll")
        for manifest in rights.grant("reroll", rules, who, everywhere=namespace is None):
            api.create(manifest, namespace=namespace)


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
