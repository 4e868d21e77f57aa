"""How far a rollout is, as the status of a workload tells."""

from typing import Annotated

import msgspec

from reroll.core.model.unreadable import UNREADABLE


class _Progress(msgspec.Struct, gc=False, rename="camel"):
    """A DaemonSet counts nodes, and an Argo Rollout writes its generation as text."""

    observed_generation: Annotated[str, msgspec.Meta(pattern="^[0-9]{1,18}$")] | int = 0
    replicas: int = 0
    updated_replicas: int = 0
    current_number_scheduled: int = 0
    updated_number_scheduled: int = 0


def is_observed(status: msgspec.Raw, generation: int) -> bool:
    """Whether its controller has seen what the workload says now; in doubt, no."""
    return 0 < generation <= int(_progress(status).observed_generation)


def is_complete(status: msgspec.Raw, generation: int) -> bool:
    """Whether all pods are of the template that the workload has now; in doubt, no."""
    progress = _progress(status)
    pods = progress.replicas, progress.current_number_scheduled
    of_now = progress.updated_replicas, progress.updated_number_scheduled
    return 0 < generation <= int(progress.observed_generation) and pods == of_now


def _progress(status: msgspec.Raw) -> _Progress:
    try:
        return msgspec.json.decode(status or b"{}", type=_Progress)
    except UNREADABLE:
        return _Progress()
