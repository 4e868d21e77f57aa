"""What the scenarios of pins share: an installation of the test's own, and the content of pods."""

import base64
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.scenarios.stage import Stage, Web
from tests.support.build import Object
from tests.support.command import Finished, reroll

from reroll.core.revisions.pins import PINS
from reroll.core.tables import rights
from reroll.core.tables.fields import PINNED_FIELDS
from reroll.core.tables.kinds import EACH, KINDS
from reroll.engine.admission_objects import NAME
from reroll.settings.table import Settings
from reroll_dev.api import ApiError, path_to

TOKENS = ("ConfigMap", "kube-root-ca.crt")
"""What Kubernetes itself has each pod mount."""


class Installation:
    """`reroll pins` for one namespace: tests that run at the same time do not see each other's."""

    def __init__(self, kubeconfig: Path, namespace: str) -> None:
        self.name = f"pins-{namespace}"
        self.selector = f"kubernetes.io/metadata.name={namespace}"
        self._namespace = namespace
        self.url = ""
        """Where the webhook listens, if one does."""
        self.webs: list[Web] = []
        """Of every controller that serves one: they keep their ports."""
        self._cluster = ("--kubeconfig", kubeconfig)
        self.instead: Callable[[], tuple[str, ...]] | None = None
        """On an API server without policies: has a webhook served, and says how to install it."""

    def install(self, *more: str) -> Finished:
        """In force when it ends, in the namespace of the controller too: a test has but one."""
        only = ("--namespace-selector", self.selector, "--controller-namespace", self._namespace)
        if self.instead and "--mode" not in more:
            more = (*self.instead(), *more)
        return self.run("install", "--name", self.name, *only, "--exclude-namespaces=", *more)

    def uninstall(self, *more: str) -> Finished:
        return reroll("pins", "uninstall", "--name", self.name, *self._cluster, *more)

    def run(self, *args: str) -> Finished:
        return reroll("pins", *args, *self._cluster, "-n", self._namespace)


def webhook_flags(installation: Installation) -> tuple[str, ...]:
    """A controller with these serves the webhook here, and `installation` knows where."""
    web = Web()
    installation.webs.append(web)
    address = web.address
    installation.url = f"https://{address}/pins"
    names = ("--webhook-names", "127.0.0.1", "--webhook-configuration", installation.name)
    return ("--webhook", address, *names)


def webhook_rules(installation: Installation) -> list[Object]:
    """The rights of the controller, for a configuration of another name than the usual."""
    defaults, features = Settings(), rights.EVERYTHING
    everywhere = rights.cluster(KINDS, features=features)
    for rule in everywhere:
        if rule.get("resourceNames") == [NAME]:
            rule["resourceNames"] = [installation.name]
    return [*everywhere, *rights.own(defaults.digest_key, defaults.lease, features=features)]


def pod(spec: Object, pins: str = "", name: str = "pod") -> Object:
    annotations = {"annotations": {PINS: pins}} if pins else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, **annotations},
        "spec": spec,
    }


def sources_of(spec: Object) -> set[tuple[str, str]]:
    """Kind and name of each source that a pod names where pins count."""
    return {(field.source, name) for field in PINNED_FIELDS for name in _texts(spec, field.path)}


def _texts(here: Any, path: tuple[str, ...]) -> Iterator[str]:
    if not path:
        yield here
    elif path[0] == EACH:
        for item in here or ():
            yield from _texts(item, path[1:])
    elif path[0] in (here or {}):
        yield from _texts(here[path[0]], path[1:])


def content(stage: Stage, one: Object) -> dict[str, str | None]:
    """What a pod starts with: the data of what it names, by key; `None` if something is missing."""
    found: dict[str, str | None] = {}
    for kind, name in sorted(sources_of(one["spec"]) - {TOKENS}):
        data = _data(stage, kind, name)
        found |= {f"{kind}/{name}": None} if data is None else data
    return found


def _data(stage: Stage, kind: str, name: str) -> dict[str, str] | None:
    try:
        data: dict[str, str] = stage.api.get(path_to(kind, name, stage.namespace)).get("data", {})
    except ApiError as error:
        if error.status != 404:
            raise
        return None
    if kind == "Secret":
        return {key: base64.b64decode(text).decode() for key, text in data.items()}
    return data
