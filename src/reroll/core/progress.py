"""How far a rollout is, as the status of a workload tells."""

from typing import Annotated

import msgspec


class _Progress(msgspec.Struct, gc=False, rename="camel"):
    """A DaemonSet counts nodes, and an Argo Rollout writes its generation as text."""

    observed_generation: Annotated[str, msgspec.Meta(pattern="^[0-9]{1,18}$")] | int = 0
    replicas: int = 0
    updated_replicas: int = 0
    current_number_scheduled: int = 0
    updated_number_scheduled: int = 0


def is_complete(status: msgspec.Raw, generation: int) -> bool:
    """Whether all pods are of the template that the workload has now; in doubt, no."""
    try:
        progress = msgspec.json.decode(status or b"{}", type=_Progress)
    except (msgspec.DecodeError, RecursionError):
        return False
    pods = progress.replicas, progress.current_number_scheduled
    of_now = progress.updated_replicas, progress.updated_number_scheduled
    return 0 < generation <= int(progress.observed_generation) and pods == of_now
