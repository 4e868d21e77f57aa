"""Reports of the CSI driver as a watch brings them, folded into a world."""

from itertools import count

from reroll.clock import SystemClock
from reroll.core.model.content import Content
from reroll.core.model.key import Key
from reroll.core.model.metadata import Metadata
from reroll.core.model.reference import Reference
from reroll.core.policy.policy import Policy
from reroll.core.tables.catalog import TABLES
from reroll.engine.content import MountedObject, MountReport, MountStatus
from reroll.engine.feeds import MountFeed
from reroll.engine.scope import Scope
from reroll.engine.world import World
from reroll.kube import watch

ROW = TABLES.sources_by_name["SecretProviderClass"]
CLASS = Key(ROW.name, "shop", "vault")


class Mounts:
    """A world in which one workload uses one class."""

    def __init__(self) -> None:
        keys = Key("Secret", "reroll", "keys")
        self.world = World(
            SystemClock(), Scope(Policy()), keys, wake=lambda *_: None, want=lambda _: None
        )
        self.feed = MountFeed(self.world, ROW, None, lambda error: None)
        self.world.sources.link(Key("Deployment", "shop", "web"), set(), {CLASS: Reference(CLASS)})
        self._versions = count(1)

    def report(self, pod: str, **versions: str) -> MountReport:
        objects = [MountedObject(name, version) for name, version in versions.items()]
        version = str(next(self._versions))
        metadata = Metadata(name=f"{pod}-vault", namespace="shop", resource_version=version)
        return MountReport(metadata, MountStatus(CLASS.name, objects))

    def watched(self, *reports: MountReport) -> None:
        for report in reports:
            self.feed(watch.Apply(report))

    def listed(self, *reports: MountReport) -> None:
        self.feed(watch.Init())
        for report in reports:
            self.feed(watch.InitApply(report))
        self.feed(watch.InitDone(str(next(self._versions))))

    def digests(self) -> dict[str, dict[str, bytes]]:
        """What is known of the class; empty if nothing is."""
        content = self.world.sources.content(CLASS)
        return content.digests if isinstance(content, Content) else {}
