"""Whether pods are rewritten now: not believed but tried.

The API server is asked to make a pinned pod, as a dry run: everything that a real pod passes is
passed, and nothing is made.
"""

import asyncio
from dataclasses import replace
from typing import Any, NamedTuple

import msgspec

from reroll.core.revisions.pins import PINS, Pins, rewrites, write_pins
from reroll.kube import wire
from reroll.kube.client import Client
from reroll.kube.errors import ApiError

NAME = "reroll-probe"
PINNED: Pins = {("ConfigMap", NAME): f"{NAME}-0123456789"}
"""Neither has to be there: a pod can be made before what it names."""
TRIES = 50
BETWEEN = 0.2
"""Seconds between two tries: the API server learns of a policy a moment after it was applied."""


class Probe(NamedTuple):
    rewritten: bool
    problem: str = ""
    """Why that is not known: what the API server said instead."""


class _Pod(msgspec.Struct):
    spec: dict[str, Any]


async def probe(client: Client, namespace: str) -> Probe:
    """Whether a pod that is made in a namespace now gets the copies that its pins name."""
    request = wire.create(wire.PODS, namespace, _pod())
    dry = replace(request, query=(*request.query, ("dryRun", "All")))
    try:
        raw = await client.send(dry)
    except ApiError as error:
        return Probe(rewritten=False, problem=str(error))
    spec = msgspec.json.decode(raw, type=_Pod).spec
    return Probe(rewritten=not any(rewrites(spec, PINNED)))


async def confirm(client: Client, namespace: str) -> Probe:
    """Try until it is in force; the last try if that does not come to be."""
    found = await probe(client, namespace)
    for _ in range(TRIES):
        if found.rewritten:
            break
        await asyncio.sleep(BETWEEN)
        found = await probe(client, namespace)
    return found


def _pod() -> dict[str, Any]:
    """As the strictest pod security wants it."""
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
