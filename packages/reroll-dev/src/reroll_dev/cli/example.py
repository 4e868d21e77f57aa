"""The application of the demo, and the rights of its controller."""

import base64
from typing import Any

from reroll.core.tables import rights
from reroll.core.tables.kinds import KINDS
from reroll.settings.table import Settings
from reroll_dev.api import Api
from reroll_dev.images.made import name_of

NAMESPACE = "wave-demo"
DEPLOYMENT = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/nginx"
CONFIG = f"/api/v1/namespaces/{NAMESPACE}/configmaps/application-config"
SECRET = f"/api/v1/namespaces/{NAMESPACE}/secrets/tls-password"
WEB = "web"
"""The image of a small web server, for pods that run."""
PORT = 30080
"""Of the node, where the page is."""


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


def served() -> list[dict[str, Any]]:
    """The same example with pods that run: another server in nginx's place, and a Service."""
    config, deployment = manifests()
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    probe = {"httpGet": {"path": "/healthz", "port": 8080}, "periodSeconds": 1}
    container |= {"image": name_of(WEB), "readinessProbe": probe}
    [mount] = container["volumeMounts"]
    mount["mountPath"] = "/www/index.html"
    # A pod that ends serves on until every node has heard of it.
    container["env"].append({"name": "WEB_DRAIN", "value": "5s"})
    port = {"port": 80, "targetPort": 8080, "nodePort": PORT}
    spec = {"type": "NodePort", "selector": {"app": "nginx"}, "ports": [port]}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "nginx"}, "spec": spec}
    return [config, deployment, service]


def prepare(api: Api, *, real: bool = False) -> None:
    """The application, and the rights of the controller."""
    api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}})
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "tls-password"},
        "data": {"password": encoded("tr0ub4dor")},
    }
    for manifest in [secret, *(served() if real else manifests())]:
        api.create(manifest, namespace=NAMESPACE)
    grant(api)


def grant(api: Api) -> None:
    """The namespace of the controller and its rights: those it needs and no others."""
    api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "reroll"}})
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
