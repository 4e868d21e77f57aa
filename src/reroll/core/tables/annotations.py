"""The names of the annotations and labels that Reroll reads and writes itself."""

from collections.abc import Iterable

DOMAIN = "reroll.dev/"


def concern_us(names: Iterable[str]) -> bool:
    """Whether any of these annotations is of our domain; most objects have none."""
    return any(name.startswith(DOMAIN) for name in names)


STATE = DOMAIN + "state"


RECORDS = DOMAIN + "records"
"""The label of the ConfigMaps that hold the records of workloads a second time."""


NOTICES = DOMAIN + "notices"
"""The label of the ConfigMap that holds what was told to whom."""


STAMP = DOMAIN + "config-hash"


ENABLED = DOMAIN + "enabled"


IGNORE = DOMAIN + "ignore"


ALLOW_FROM = DOMAIN + "allow-from"
"""On a source: the namespaces whose workloads may name it."""


NAMES = DOMAIN + "names"
"""On a source: whether `reroll render` gives it a content name, whatever its flags say."""


INJECTION_READERS = DOMAIN + "injection-readers"
"""On a source: the namespaces whose Injections may read its values."""


INJECTION_WRITERS = DOMAIN + "injection-writers"
"""On a target: the namespaces whose Injections may write to it."""


HOLD = DOMAIN + "hold"


APPROVAL = DOMAIN + "approval"


APPROVED = DOMAIN + "approved"
"""On a source: the content that was approved, and by whom."""


REJECTED = DOMAIN + "rejected"
"""On a source: the content that was rejected, by whom and why."""


URGENT = DOMAIN + "urgent"
"""On a source: its content waits for no approval."""


CANARY = DOMAIN + "canary"
"""The annotation that asks for one; on a canary and its pods, a label with the uid of its workload,
by which the canary selects them."""


CANARY_OF = DOMAIN + "canary-of"
"""On a canary: what it tries, a digest of contents and template."""


GATE = DOMAIN + "gate"
"""On an AnalysisRun: a label with the gate that it is for."""


GATE_ROLL = DOMAIN + "gate-roll"
"""On an AnalysisRun: the number of the record of the workload that waits for it."""


DELETING = DOMAIN + "deleting"
"""On a Job that is about to be deleted and created again: the uid of what it is written down in."""


PIN_MODES = ("auto", "admission", "template")


STAMP_ENV = "REROLL_CONFIG_HASH"
