"""The API server: how old it is, and what it serves of what Reroll can use.

Pure: its answers in, findings out.
"""

from collections.abc import Collection, Iterator
from typing import NamedTuple

from reroll.answers.doctor.findings import Check, Finding
from reroll.core.tables.catalog import TABLES
from reroll.engine.admission_objects import OLDEST_MINOR, VERSIONS
from reroll.kube import resources, wire
from reroll.kube.discovery import Version

OLDEST = 28
"""The oldest minor version of Kubernetes 1 that everything but the newest parts works with."""
API = Check("API server")


class OptionalApi(NamedTuple):
    """An API that need not be there, and what it is good for."""

    resource: wire.Resource
    there: str
    absent: str
    """With what to do, where somebody may want to."""


OPTIONAL: tuple[OptionalApi, ...] = (
    OptionalApi(
        resources.of(TABLES.by_name["Rollout"]),
        "Argo Rollouts is served: Rollouts roll too",
        "Argo Rollouts is not served; Rollouts count as soon as it is",
    ),
    OptionalApi(
        resources.to_watch(TABLES.sources_by_name["SecretProviderClass"]),
        "the Secrets Store CSI driver is served: what it mounts can roll workloads",
        "the Secrets Store CSI driver is not served; its classes count as soon as it is",
    ),
    OptionalApi(
        resources.INJECTIONS,
        "Injections are served: values can be put into other objects",
        "Injections are not served; `reroll crds` prints what to apply for them",
    ),
)
MUTATING_POLICIES: tuple[wire.Resource, ...] = tuple(map(resources.admission_policies, VERSIONS))


class Served(NamedTuple):
    version: Version
    apis: Collection[wire.Resource]
    """Of `OPTIONAL` and `MUTATING_POLICIES`, those that are there."""
    streams: bool | None
    """Whether a watch can begin with all there is; `None`: it could not be tried."""


def judge(served: Served) -> Iterator[Finding]:
    yield _age(served.version)
    if served.streams:
        yield API.ok("it has streaming lists, so a start costs it little")
    elif served.streams is False:
        yield API.note(
            "it has no streaming lists: what there is comes by pages, which takes longer"
        )
    for row in OPTIONAL:
        there = row.resource in served.apis
        yield API.ok(row.there) if there else API.note(row.absent)
    yield _policies(served)


def stores(elsewhere: Collection[str]) -> Finding:
    """`elsewhere`: the kinds that are in another store than Deployments."""
    if not elsewhere:
        return API.ok("all kinds are in one store, so their versions show which change was first")
    return API.warning(
        f"{', '.join(elsewhere)} are in another store than Deployments, so only times show whether "
        "a template or its configuration changed first; in doubt it rolls",
        "expect a restart too many now and then, or keep these kinds in one etcd",
    )


def configured(name: str, *, served: bool, compared: bool) -> Finding:
    """A kind that the config file adds; `compared`: its row with the schema of what is served."""
    if served and compared:
        return API.ok(f"{name}, of the config file, is served")
    if served:
        return API.note(
            f"{name}, of the config file, is served, but the API server publishes no schema of it"
            " yet: whether the paths of its row fit was not checked"
        )
    return API.warning(
        f"{name}, of the config file, is not served; it counts as soon as it is",
        "install its CRD, or correct group, version and plural of its row",
    )


def misfit(name: str, problem: str) -> Finding:
    """A row of the config file that does not fit what is served."""
    return API.warning(f"{name}, of the config file: {problem}", "correct its row")


def _age(version: Version) -> Finding:
    if version.minor is None:
        return API.note(f"its version is {version.git_version or 'not told'}, which says little")
    if version.minor < OLDEST:
        return API.problem(
            f"Kubernetes is {version.git_version}, and the oldest that is supported is 1.{OLDEST}",
            "upgrade the cluster",
        )
    return API.ok(f"Kubernetes is {version.git_version}")


def _policies(served: Served) -> Finding:
    policies = [one.version for one in MUTATING_POLICIES if one in served.apis]
    if not policies:
        return API.note(
            "MutatingAdmissionPolicy is not served: a webhook can rewrite pods of pinned workloads"
        )
    is_served = f"MutatingAdmissionPolicy {policies[0]} is served"
    if (served.version.minor or OLDEST_MINOR) < OLDEST_MINOR:
        return API.note(
            f"{is_served}, but its expressions cannot rewrite pods before 1.{OLDEST_MINOR}: "
            "a webhook can"
        )
    heeded = "" if policies[0] == VERSIONS[0] else ", if its feature gate of that name is on"
    return API.ok(f"{is_served}: the API server can rewrite pods{heeded}")
