"""The controller itself: its Deployment, the versions that run, and its Lease.

Pure: objects of the cluster in, findings out.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from reroll.answers.controllers import Lease
from reroll.answers.doctor.findings import Check, Finding
from reroll.answers.installations import Installation
from reroll.core.model.names import several

DEPLOYMENT = Check("Deployment")
VERSION = Check("version")
LEASE = Check("Lease")


def deployments(found: Sequence[Installation]) -> Iterator[Finding]:
    for one in found:
        if one.replicas == 0:
            yield DEPLOYMENT.problem(
                f"{one.key} is scaled to 0: nothing rolls", "scale it to 1 or more"
            )
        elif one.ready == 0:
            yield DEPLOYMENT.problem(
                f"none of {one.replicas} replicas of {one.key} is ready",
                f"see `kubectl describe` of its pods, and their logs: -n {one.key.namespace}",
            )
        elif one.ready < one.replicas:
            yield DEPLOYMENT.warning(
                f"{one.ready} of {one.replicas} replicas of {one.key} are ready",
                f"see `kubectl describe` of its pods: -n {one.key.namespace}",
            )
        else:
            yield DEPLOYMENT.ok(f"{one.key}: {one.ready} of {one.replicas} replicas are ready")


def beside(others: Sequence[str]) -> Iterator[Finding]:
    """Other installations of the cluster."""
    if others:
        yield DEPLOYMENT.note(
            f"there is another installation: {several(others)}"
            if len(others) == 1
            else f"there are {len(others)} other installations: {several(others)}",
            "each needs its own --lease and namespaces; look at one with --controller-namespace",
        )


def nowhere(home: str, others: Sequence[str], *, held: bool, is_blind: bool) -> Finding:
    """There is no Deployment of it in `home`; `is_blind`: others may be where nobody looked."""
    if held:
        return DEPLOYMENT.note("it runs without a Deployment, and renews its Lease")
    if others:
        return DEPLOYMENT.problem(
            f"there is no controller in namespace {home}; elsewhere there is {several(others)}",
            "say which one is meant with --controller-namespace",
        )
    if is_blind:
        return DEPLOYMENT.note(
            f"no controller was seen in namespace {home}, and Deployments of other namespaces may "
            "not be listed",
            "say where it runs with --controller-namespace",
        )
    return DEPLOYMENT.problem(
        "no controller was found: there is no Deployment, and nothing renews the Lease",
        "install the chart, or say where it is with --controller-namespace",
    )


def versions(running: Iterable[tuple[str, str]], ours: str) -> Iterator[Finding]:
    """What runs, as (where, version), against each other and this command."""
    known = [(where, version.removeprefix("v")) for where, version in running if version]
    for where, version in known:
        if version == ours:
            yield VERSION.ok(f"{where} has version {version}, as this command does")
        else:
            yield VERSION.warning(
                f"{where} has version {version}, and this command {ours}",
                "use the same, so that `plan` and `explain` decide as the controller does",
            )
    found = sorted({version for _, version in known})
    if len(found) > 1:
        yield VERSION.warning(
            f"several versions run at once: {', '.join(found)}",
            "see whether a rollout of the controller is stuck",
        )


def lease(
    now: datetime, found: Lease | None, before: Lease | None, where: str, *, wanted: bool
) -> Finding:
    """Whether somebody leads. `before`: the same a while ago, if it looked old then.

    Only that it changes proves that it is renewed: clocks may differ.
    """
    if found is None or not found.spec.holder_identity:
        what = "does not exist" if found is None else "is held by nobody"
        if not wanted:
            return LEASE.note(f"{where} {what}")
        return LEASE.problem(
            f"{where} {what}: no replica leads, so nothing rolls",
            "see the log of the controller; --lease and --controller-namespace say which Lease",
        )
    holder = found.spec.holder_identity
    if found.is_held(now):
        return LEASE.ok(f"{where} is held by {holder}, which renews it")
    if before is not None and before.spec.renew_time != found.spec.renew_time:
        return LEASE.warning(
            f"{where} is renewed by {holder}, whose clock differs from that of this machine",
            "let both follow a time server: times in `explain` and `history` are wrong till then",
        )
    return LEASE.problem(
        f"{where} is held by {holder}, which has not renewed it since "
        f"{_second(found.spec.renew_time)}",
        "see the log of that replica; another takes over when one is ready",
    )


def _second(at: datetime | None) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%SZ}" if at else "it took it"
