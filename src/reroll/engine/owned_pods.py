"""The pods of a cluster, each with the workload that makes it and what it has of its sources."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from typing import NamedTuple

import msgspec

from reroll.core.model.key import Key
from reroll.core.model.metadata import Metadata
from reroll.core.model.podspec import PodSpec, given
from reroll.core.observe import staleness
from reroll.core.observe.pods import PodFacts
from reroll.core.observe.staleness import Finding, HeldSince, Known
from reroll.core.policy.references import uses
from reroll.kube import resources
from reroll.kube.objects import Pod, Stub, controller
from reroll.kube.view import View

MAKERS = (resources.REPLICA_SETS, resources.JOBS)
"""What stands between a pod and its workload."""


class AuditedPod(Pod, gc=False):
    """A pod with what it uses."""

    spec: PodSpec = msgspec.field(default_factory=PodSpec)


class OwnedPod(NamedTuple):
    key: Key
    workload: Key
    """What makes it; itself, if nothing does."""
    facts: PodFacts


async def owned_pods(
    view: View,
    selector: str | None,
    learn: Callable[[Collection[str]], Awaitable[Known]],
    *,
    mounts_are_live: bool = True,
) -> list[OwnedPod]:
    """The pods that have not ended, and what they have of the sources that are known.

    `learn` is asked for what is known in the namespaces of pods that use a source.
    """
    listed = await view.every(resources.PODS, AuditedPod, label_selector=selector)
    pods = [pod for pod in listed if pod.runs]
    makers = await makers_of(view) if pods else {}
    known = await learn({pod.metadata.namespace for pod in pods if any(uses(pod.spec))})
    return [
        OwnedPod(
            key := Key("Pod", pod.metadata.namespace, pod.metadata.name),
            owner(pod.metadata, key, makers),
            PodFacts(
                pod.metadata.name,
                pod.metadata.creation_timestamp,
                runs=pod.has_running_container,
                is_ready=pod.is_ready,
                findings=tuple(judge(pod, known, mounts_are_live=mounts_are_live)),
                trouble=pod.trouble,
            ),
        )
        for pod in pods
    ]


def judge(pod: AuditedPod, known: Known, *, mounts_are_live: bool = True) -> Iterator[Finding]:
    """Every use of a ConfigMap or Secret by what runs in a pod, in the order of its spec."""
    place, starts = pod.metadata.namespace, dict(_starts(pod))
    return staleness.judge(place, uses(pod.spec), starts, known, mounts_are_live=mounts_are_live)


def _starts(pod: AuditedPod) -> Iterator[tuple[str, HeldSince]]:
    status = pod.status
    for one in given(status.container_statuses):
        if one.state.running and one.state.running.started_at:
            yield one.name, HeldSince(one.state.running.started_at)
    for one in given(status.init_container_statuses):
        state = one.state
        if state.running and state.running.started_at:
            yield one.name, HeldSince(state.running.started_at)
        elif state.terminated and (since := state.terminated.started_at):
            yield one.name, HeldSince(since, ended=True)


async def makers_of(view: View) -> dict[Key, Key]:
    """The controllers of what makes pods."""
    lists = await asyncio.gather(*(view.every(maker, Stub) for maker in MAKERS))
    return {
        Key(maker.kind, stub.metadata.namespace, stub.metadata.name): above
        for maker, stubs in zip(MAKERS, lists, strict=True)
        for stub in stubs
        if (above := controller_of(stub.metadata))
    }


def owner(metadata: Metadata, pod: Key, makers: Mapping[Key, Key]) -> Key:
    """The workload of a pod: through its ReplicaSet or its Job to what makes those, if anything."""
    found = controller_of(metadata) or pod
    while (above := makers.get(found)) is not None:
        found = above
    return found


def controller_of(metadata: Metadata) -> Key | None:
    owner = controller(metadata)
    return Key(owner.kind, metadata.namespace, owner.name) if owner else None
