"""Whether pods of one namespace are rewritten, as it was tried, beside what is installed for it."""

from typing import Any, NamedTuple

from reroll.clock import SystemClock
from reroll.engine.admission_objects import Mode
from reroll.engine.content import Stub
from reroll.engine.engine import NAMESPACES
from reroll.engine.rewriters import Installed
from reroll.features.admission.probe import Probe, confirm
from reroll.kube.view import View


class Tried(NamedTuple):
    """What came of a try in one namespace."""

    namespace: str
    probe: Probe | None
    """`None`: it was not tried."""
    mode: Mode = Mode.TEMPLATE
    """Which is installed for that namespace."""

    @property
    def rewritten(self) -> bool:
        return self.probe is not None and self.probe.rewritten

    @property
    def problem(self) -> str:
        return self.probe.problem if self.probe else ""

    @property
    def facts(self) -> dict[str, Any]:
        return {
            "namespace": self.namespace,
            "mode": self.mode,
            "rewritten": self.rewritten if self.probe else None,
            "problem": self.problem,
        }


async def confirmed(view: View) -> Tried:
    """Wait until what was installed is in force, where it should be."""
    namespace = view.namespace or view.home
    mode = await mode_of(view, namespace)
    probed = None if mode is Mode.TEMPLATE else await confirm(view.client, namespace)
    return Tried(namespace, probed, mode)


async def mode_of(view: View, namespace: str) -> Mode:
    installed = Installed(view.client, SystemClock())
    await installed.refresh()
    found = await view.get(NAMESPACES, None, namespace, Stub, metadata_only=True)
    return installed.mode(namespace, found.metadata.labels if found else None)
