"""The names of the annotations and labels that Reroll reads and writes itself."""

DOMAIN = "reroll.dev/"


STATE = DOMAIN + "state"


RECORDS = DOMAIN + "records"
"""The label of the ConfigMaps that hold the records of workloads a second time."""


STAMP = DOMAIN + "config-hash"


ENABLED = DOMAIN + "enabled"


IGNORE = DOMAIN + "ignore"


ALLOW_FROM = DOMAIN + "allow-from"
"""On a source: the namespaces whose workloads may name it."""


INJECTION_READERS = DOMAIN + "injection-readers"
"""On a source: the namespaces whose Injections may read its values."""


INJECTION_WRITERS = DOMAIN + "injection-writers"
"""On a target: the namespaces whose Injections may write to it."""


HOLD = DOMAIN + "hold"


DELETING = DOMAIN + "deleting"
"""On a Job that is about to be deleted and created again: the uid of what it is written down in."""


PIN_MODES = ("auto", "admission", "template")


STAMP_ENV = "REROLL_CONFIG_HASH"
