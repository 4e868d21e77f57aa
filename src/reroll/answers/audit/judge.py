"""What a running pod has of its sources: the evidence of `core.observe.staleness`, pod by pod."""

from collections.abc import Iterator

import msgspec

from reroll.core.model.podspec import PodSpec, given
from reroll.core.observe import staleness
from reroll.core.observe.staleness import Finding, HeldSince, Known
from reroll.core.policy.references import uses
from reroll.kube.objects import Pod


class AuditedPod(Pod, gc=False):
    """A pod with what it uses."""

    spec: PodSpec = msgspec.field(default_factory=PodSpec)


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
