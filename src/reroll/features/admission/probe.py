"""Tests whether the API server rewrites new pods of a namespace.

It is asked to create a pinned pod, as a dry run: all of admission takes part, and nothing is
created.
"""

import asyncio
from typing import Any, NamedTuple

from reroll.clock import Clock
from reroll.core.revisions.pins import PINS, Pins, rewrites, write_pins
from reroll.engine.admission_objects import Mode
from reroll.engine.rewriters import Installed
from reroll.kube import api, wire
from reroll.kube.client import Client
from reroll.kube.errors import ApiError
from reroll.kube.objects import Stub
from reroll.kube.resources import NAMESPACES, PODS
from reroll.kube.view import View

NAME = "reroll-probe"
PINNED: Pins = {("ConfigMap", NAME): f"{NAME}-0123456789"}
"""Neither has to exist: a pod can be created before what it names."""
TRIES = 50
BETWEEN = 0.2
"""Seconds between two tries: the API server learns of a policy a moment after it was applied."""


class Probe(NamedTuple):
    """A test in one namespace, beside what is installed for it."""

    namespace: str
    mode: Mode = Mode.TEMPLATE
    """Which is installed for that namespace."""
    rewritten: bool | None = None
    """`None`: it was not tested."""
    problem: str = ""
    """Why that is not known: what the API server said instead."""


class _Pod(Stub, gc=False):
    spec: dict[str, Any]


async def probe(view: View, clock: Clock) -> Probe:
    """Whether a new pod in the namespace of the view gets the copies that its pins name."""
    namespace = view.namespace or view.home
    return await _probe(view.client, namespace, await _mode(view, clock, namespace))


async def confirm(view: View, clock: Clock) -> Probe:
    """Test until what is installed for the namespace is in force; the last test if that fails."""
    namespace = view.namespace or view.home
    mode = await _mode(view, clock, namespace)
    if mode is Mode.TEMPLATE:
        return Probe(namespace)
    result = await _probe(view.client, namespace, mode)
    for _ in range(TRIES):
        if result.rewritten:
            break
        await asyncio.sleep(BETWEEN)
        result = await _probe(view.client, namespace, mode)
    return result


async def _probe(client: Client, namespace: str, mode: Mode) -> Probe:
    request = wire.create(PODS, namespace, _pod(), dry_run=True)
    try:
        pod = await api.send(client, request, _Pod)
    except ApiError as error:
        return Probe(namespace, mode, rewritten=False, problem=str(error))
    return Probe(namespace, mode, rewritten=not any(rewrites(pod.spec, PINNED)))


async def _mode(view: View, clock: Clock, namespace: str) -> Mode:
    installed = Installed(view.client, clock)
    await installed.refresh()
    stub = await view.get(NAMESPACES, None, namespace, Stub)
    return installed.mode(namespace, stub.metadata.labels if stub else None)


def _pod() -> dict[str, Any]:
    """One that the strictest pod security admits."""
    container = {
        "name": "probe",
        "image": "reroll.dev/probe",
        "envFrom": [{"configMapRef": {"name": NAME, "optional": True}}],
        "resources": {"requests": {"cpu": "1m", "memory": "1Mi"}, "limits": {"memory": "1Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "runAsNonRoot": True,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"generateName": f"{NAME}-", "annotations": {PINS: write_pins(PINNED)}},
        "spec": {"containers": [container], "automountServiceAccountToken": False},
    }
