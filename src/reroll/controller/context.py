"""What every part of one controller process is wired with."""

import msgspec

from reroll.clock import Clock
from reroll.controller.bus import Bus
from reroll.controller.metrics import Metrics
from reroll.kube.client import Client
from reroll.settings.table import Settings


class Context(msgspec.Struct, frozen=True):
    client: Client
    clock: Clock
    settings: Settings
    metrics: Metrics
    bus: Bus
    namespace: str
    """Where its own objects are: Lease, digest key, certificates."""
    identity: str
    """Of this process, among the replicas."""
