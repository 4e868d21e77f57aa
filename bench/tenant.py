"""A namespace that does everything a tenant can do to a controller."""

import asyncio
import socket
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from bench.load import Api, Json, all_of, bump, deployment, make_namespace
from reroll_dev.address import own_address

HOSTILE = "hostile"
ANNOTATION = 240 * 1024
"""Bytes that fit in the annotations of one object, beside a record."""


@dataclass(frozen=True)
class Hostility:
    """How much of each."""

    walls: int = 20
    wide: int = 13
    keys: int = 100_000
    flapping: int = 5_000
    mute: int = 400
    injections: int = 300

    def part(self, share: float) -> "Hostility":
        values = (self.walls, self.wide, self.keys, self.flapping, self.mute, self.injections)
        return Hostility(*(max(1, round(value * share)) for value in values))


def walls(number: int) -> dict[str, str]:
    """Annotations as long as they can be, of a different kind for each number."""
    names = [f"{i:x}" for i in range(ANNOTATION // 6)]
    kinds: tuple[Callable[[], dict[str, str]], ...] = (
        lambda: {"reroll.dev/sources": _filled(f"cm/b/{name}" for name in names)},
        lambda: {
            "reroll.dev/sources": _filled((f"cm/{name}" for name in names), ANNOTATION // 2),
            "reroll.dev/ignore": _filled((f"cm/x{name}" for name in names), ANNOTATION // 2),
        },
        lambda: {"reroll.dev/sources": _filled(f"cm/{name}" for name in names)},
        lambda: {"reroll.dev/sources": _filled(f"cm/{name}*" for name in names)},
        lambda: {"reroll.dev/sources": _filled(f"{name}/" for name in names)},
        lambda: {
            "configmap.reloader.stakater.com/reload": _filled(
                f"(?:(?:[a-z]?){{30}}){{30}}-{name}" for name in names
            )
        },
    )
    return {"reroll.dev/enabled": "true", **kinds[number % len(kinds)]()}


def _filled(items: Iterable[str], size: int = ANNOTATION) -> str:
    text = ",".join(items)[:size]
    return text[: text.rindex(",")]


@contextmanager
def silence() -> Iterator[tuple[str, int]]:
    """An address and a port of this machine where connections are taken and nobody answers."""
    with socket.create_server((own_address(), 0), backlog=1000) as server:
        address, port = server.getsockname()
        yield address, port


async def attack(api: Api, size: Hostility, silent: tuple[str, int]) -> None:
    """Everything that is there before the quiet namespace is measured.

    `silent`: where the pods are that never answer.
    """
    await make_namespace(api, HOSTILE)
    core, apps = f"/api/v1/namespaces/{HOSTILE}", f"/apis/apps/v1/namespaces/{HOSTILE}"

    async def workload(body: Json) -> None:
        await api.call("POST", f"{apps}/deployments", body)

    async def configmap(name: str, data: dict[str, str]) -> None:
        await api.call("POST", f"{core}/configmaps", {"metadata": {"name": name}, "data": data})

    for name in ("flap", "mute", "a" * 250, "wall"):
        await configmap(name, {"key": "0"})
    keys = {f"{i:x}": "" for i in range(size.keys)}
    await all_of((configmap(f"wide-{i}", keys) for i in range(size.wide)), 2)
    wide = deployment("wide", "wide-0", {"reroll.dev/enabled": "true"}, "configmaps")
    (container,) = wide["spec"]["template"]["spec"]["containers"]
    container["envFrom"] = [{"configMapRef": {"name": f"wide-{i}"}} for i in range(size.wide)]
    await workload(wide)
    await all_of(
        workload(deployment(f"wall-{i}", "wall", walls(i), "configmaps")) for i in range(size.walls)
    )
    flapping = {"reroll.dev/enabled": "true", "reroll.dev/debounce": "0s"}
    await all_of(
        workload(deployment(f"flap-{i}", "flap", flapping, "configmaps"))
        for i in range(size.flapping)
    )
    address, port = silent
    mute = flapping | {"reroll.dev/strategy": "reload", "reroll.dev/reload-port": str(port)}
    await all_of(workload(_running(f"mute-{i}", mute, address)) for i in range(size.mute))
    await all_of(_nowhere(api, i) for i in range(size.injections))


def _running(name: str, annotations: dict[str, str], address: str) -> Json:
    body = deployment(name, "mute", annotations, "configmaps")
    body["spec"]["replicas"] = 1
    body["spec"]["template"]["metadata"]["annotations"] = {"dev.reroll.dev/address": address}
    return body


async def _nowhere(api: Api, number: int) -> None:
    source = {"kind": "ConfigMap", "name": "mute", "key": "key"}
    target = {
        "apiVersion": "v1", "kind": "ConfigMap", "name": "x", "namespace": f"no-such-{number}",
        "path": ".data.x",
    }  # fmt: skip
    body = {
        "apiVersion": "reroll.dev/v1alpha1",
        "kind": "Injection",
        "metadata": {"name": f"nowhere-{number}"},
        "spec": {"from": [source], "to": target},
    }
    path = f"/apis/reroll.dev/v1alpha1/namespaces/{HOSTILE}/injections"
    await api.call("POST", path, body)


async def harass(api: Api) -> None:
    """What the hostile namespace does all the time: it changes what it uses."""
    turn = 0
    while True:
        await bump(api, HOSTILE, "flap")
        if turn % 10 == 0:
            for name in ("mute", "wide-0", "a" * 250):
                await bump(api, HOSTILE, name)
        turn += 1
        await asyncio.sleep(1)
