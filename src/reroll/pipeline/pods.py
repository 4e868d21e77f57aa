"""What is wrong with the pods of a workload that is in trouble."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from reroll.core.model.metadata import Manifest, text_at
from reroll.core.observe.workload import Workload
from reroll.core.tables.kinds import Kind
from reroll.kube import api, resources
from reroll.kube.client import Client
from reroll.kube.errors import ApiError
from reroll.kube.objects import Pod, Revision, is_owned_by

MOST_NAMED = 3
CRASHES = 3
"""So many restarts of a container are a crash loop; on a node that takes about half a minute."""
_UPDATED = (("status", "updateRevision"), ("status", "currentPodHash"))
"""Where a status has the label of pods of the present template."""


class Runner(NamedTuple):
    """What runs pods: a workload, as it is now."""

    kind: Kind
    workload: Workload
    manifest: Manifest


def made_since(pods: Iterable[Pod], moment: datetime) -> list[Pod]:
    """Where pods are replaced without a change of the template, the new ones."""
    second = moment.replace(microsecond=0)
    return [pod for pod in pods if (pod.metadata.creation_timestamp or moment) >= second]


async def present(client: Client, runner: Runner, pods: Sequence[Pod]) -> list[Pod]:
    """Those of its present template: the ones of before may be as ill as they like."""
    if len({pod.template_hash for pod in pods}) <= 1:
        return list(pods)
    label = await _label(client, runner) or pods[0].template_hash  # The newest, in doubt.
    return [pod for pod in pods if pod.template_hash == label]


async def _label(client: Client, runner: Runner) -> str:
    """The label that pods of the present template have; empty if that cannot be known."""
    manifest, resource = runner.manifest, resources.REVISIONS.get(runner.kind.revisions)
    if told := next(filter(None, (text_at(manifest, path) for path in _UPDATED)), ""):
        return told
    if resource is None:
        return ""
    labels, namespace = api.selector(runner.workload.selector), manifest.metadata.namespace
    try:
        every = await api.every(client, resource, namespace, Revision, label_selector=labels)
    except ApiError:
        return ""
    own = [one for one in every if is_owned_by(one.metadata, manifest.metadata.uid)]
    newest = max(own, key=lambda one: one.number, default=None)
    return Pod(newest.metadata).template_hash if newest else ""


def trouble(pods: Iterable[Pod]) -> tuple[str, bool]:
    """What is wrong with pods that are not ready, and whether any will not start by itself."""
    unready = [pod for pod in pods if not pod.is_ready]
    return _listed(unready), any(pod.trouble for pod in unready)


def crash_loop(pods: Iterable[Pod]) -> str:
    """Which pods end again and again; nothing if none does."""
    ill = [pod for pod in pods if not pod.is_ready and pod.crashes >= CRASHES]
    worst = max((pod.crashes for pod in ill), default=0)
    return f"{_listed(ill)}, restarted {worst} times" if ill else ""


def _listed(pods: Sequence[Pod]) -> str:
    lines = [f"pod {pod.metadata.name}: {pod.trouble or 'not ready'}" for pod in pods]
    more = f" and {len(lines) - MOST_NAMED} more" if len(lines) > MOST_NAMED else ""
    return ", ".join(lines[:MOST_NAMED]) + more
