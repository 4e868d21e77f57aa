"""The minor versions of Kubernetes that a cluster can be of, what each offers, and its programs.

The newest is that of the control plane's own module. An older one has a module with the three
programs that make a version; all else of a cluster is shared.
"""

from dataclasses import dataclass
from typing import NamedTuple

from reroll.engine.admission_objects import OLDEST_MINOR
from reroll_dev import programs
from reroll_dev.errors import DevClusterError
from reroll_dev.gomod import Module, Version
from reroll_dev.programs import Binary

POLICIES = "MutatingAdmissionPolicy"
_STREAMS = "WatchList"
_ADMISSION = "admissionregistration.k8s.io"


class Switches(NamedTuple):
    """What the API server is told to do otherwise than it comes, as its flags have it."""

    feature_gates: str = ""
    runtime_config: str = ""

    @property
    def flags(self) -> tuple[str, ...]:
        given = zip(("feature-gates", "runtime-config"), self, strict=True)
        return tuple(f"--{name}={value}" for name, value in given if value)


AS_IT_COMES = Switches()


@dataclass(frozen=True, slots=True)
class Minor:
    name: str
    module: Module
    streams: bool
    """Whether there are streaming lists, unless it is told otherwise."""
    served: str
    """The version of MutatingAdmissionPolicies that it has; empty where there is none."""

    @property
    def version(self) -> Version:
        return self.module.version_of(programs.KUBERNETES)

    @property
    def is_newest(self) -> bool:
        return self.module == programs.CORE_MODULE

    @property
    def policies(self) -> str:
        """The version of MutatingAdmissionPolicies that can rewrite pods; empty: none."""
        return self.served if int(self.name.partition(".")[2]) >= OLDEST_MINOR else ""

    @property
    def has_policies(self) -> bool:
        """Whether policies are in force unless it is told otherwise: a beta has to be asked for."""
        return self.policies == "v1"

    @property
    def programs(self) -> tuple[Binary, ...]:
        return programs.of_kubernetes(self.module)

    @property
    def switched(self) -> Switches:
        """The other way round: streaming lists on or off, and policies of a beta on."""
        gates, served = {_STREAMS: not self.streams}, ""
        if self.served and not self.has_policies:
            gates[POLICIES] = True
            served = f"{_ADMISSION}/{self.served}=true"
        return Switches(",".join(f"{name}={str(on).lower()}" for name, on in gates.items()), served)


def _older(name: str, *, streams: bool, served: str) -> Minor:
    return Minor(name, programs.module_of(name), streams, served)


MINORS: tuple[Minor, ...] = (
    _older("1.33", streams=False, served=""),
    _older("1.34", streams=True, served="v1beta1"),
    _older("1.35", streams=True, served="v1beta1"),
    Minor("1.36", programs.CORE_MODULE, streams=True, served="v1"),
)
"""The oldest first."""
NAMES = tuple(row.name for row in MINORS)
OLDEST, NEWEST = MINORS[0], MINORS[-1]


def named(name: str) -> Minor:
    for row in MINORS:
        if row.name == name:
            return row
    raise DevClusterError(f"there is no Kubernetes {name} here; there is {', '.join(NAMES)}")
