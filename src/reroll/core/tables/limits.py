"""The table of limits: how much of what people write is worked on, and what becomes of the rest.

Whatever one object holds, it costs a bounded amount of work and memory. What is beyond a limit is
never dropped in silence: a row names its reason, or says why nothing is lost.
"""

from typing import NamedTuple

from reroll.core.tables.reasons import Reason


class Limit(NamedTuple):
    number: int
    what: str
    """What is counted, and in what."""
    beyond: str
    """What happens with the rest."""
    reason: Reason | None = None
    """The reason that is given; `None`: nothing is lost, or another limit gives it."""


# fmt: off
# ruff: noqa: E501  the table reads best one row a line
PATTERNS = Limit(200, "items in one list of an annotation", "the first ones count, and the workload is neither rolled for the others nor do they exclude anything", Reason.TOO_MANY_PATTERNS)
GLOBS = Limit(20, "globs in one list of an annotation, and regular expressions of one workload", "the first ones count, the others mean no source", Reason.TOO_MANY_PATTERNS)
REGEX_LENGTH = Limit(1000, "characters of one regular expression", "the regular expression does not count", Reason.INVALID_ANNOTATION)
REGEX_COST = Limit(1000, "instructions that the regular expressions of one workload compile to", "those that still fit count, the others mean no source", Reason.TOO_MANY_PATTERNS)
SOURCES = Limit(1000, "sources of one workload", "the workload does not roll until it has fewer", Reason.TOO_MANY_SOURCES)
USES = Limit(2000, "places in one pod template that name a source", "the workload does not roll until it has fewer", Reason.TOO_MANY_SOURCES)
NAMESPACE_SOURCES = Limit(100_000, "sources that the workloads of one namespace use and places that name them, each counted for every workload; 256 characters of its annotations count for one", "a workload that has no room does not roll until others have fewer, or are gone", Reason.TOO_MANY_SOURCES)
NAMESPACE_GLOBS = Limit(1000, "different globs of the workloads of one namespace; a regular expression counts for 2 or more, one for each 10 instructions", "a workload that has no room does not roll until others have fewer, or are gone", Reason.TOO_MANY_SOURCES)
NAMESPACE_CHANGES = Limit(20_000, "workloads that changes of the sources of one namespace concern in a second, each counted for every change", "what changes meanwhile is noticed later, as it is by then; nothing is lost")
NAMESPACE_WRITES = Limit(20_000, "places that name a source in the workloads of one namespace that are written in a second, each counted for every write; 256 characters of a spec count for one, and a write that comes to less than 200 for none", "what changes meanwhile is noticed later, as it is by then; nothing is lost")
KEYS = Limit(256, "keys of one source", "the source is digested as a whole, and single keys of it only where a workload names them: no change is lost, a change of an ignored key counts, and records and Events do not say which key changed", Reason.TOO_MANY_KEYS)
PROBLEMS = Limit(10, "problems that are listed of the annotations of one workload, and of its sources", "the others are counted, and listed when these are solved", Reason.TOO_MANY_PROBLEMS)
INJECTIONS = Limit(100, "Injections of one namespace for one object", "the oldest are carried out, the others wait until one of them is gone", Reason.TOO_MANY_INJECTIONS)
NAMESPACE_TARGETS = Limit(20, "watches of targets, a kind in a namespace each, for the Injections of one namespace", "the target is written to, and looked at every minute", Reason.TOO_MANY_TARGETS)
TARGETS = Limit(200, "watches of targets for all Injections together", "the target is written to, and looked at every minute", Reason.TOO_MANY_TARGETS)
EVENTS = Limit(2000, "Events that wait to be written", "the namespace with most of them loses its oldest one; `reroll_events_dropped_total` counts it")
NAMESPACE_EVENTS = Limit(200, "Events of one namespace that wait to be written", "its oldest one is dropped; `reroll_events_dropped_total` counts it")
REGEX_CACHE = Limit(512, "compiled regular expressions that are cached, of the whole cluster", "the one that was not used for longest is compiled again when it is needed")
GATES = Limit(64, "gates of the config file, and gates of one workload", "a file with more is refused, and an annotation with more does not count", Reason.INVALID_ANNOTATION)
GATE_ANSWER = Limit(1024 * 1024, "bytes of the answer of a gate", "the gate is unknown: nothing that waits for it begins", Reason.GATE_UNKNOWN)
# fmt: on

LIMITS: tuple[Limit, ...] = (
    PATTERNS,
    GLOBS,
    REGEX_LENGTH,
    REGEX_COST,
    SOURCES,
    USES,
    NAMESPACE_SOURCES,
    NAMESPACE_GLOBS,
    NAMESPACE_CHANGES,
    NAMESPACE_WRITES,
    KEYS,
    PROBLEMS,
    INJECTIONS,
    NAMESPACE_TARGETS,
    TARGETS,
    EVENTS,
    NAMESPACE_EVENTS,
    REGEX_CACHE,
    GATES,
    GATE_ANSWER,
)
