"""The table of reasons: one row for each, with its word, its sentence and what is true of it.

A reason is spelt here and nowhere else: the same word stands in the log line, the Event, the metric
label and `explain`. What a caller has to know of a reason is a column, never a set of its own.
"""

from enum import Enum
from typing import Literal

Severity = Literal["Normal", "Warning"]

WARNING, EVENT, HOLDS, DELIBERATE, LASTING, QUIET, OUT, POLLED, MET, PROVES, PODS = (
    1 << n for n in range(11)
)
"""The columns of a row; `Reason` says what each means."""


class Reason(Enum):
    def __init__(self, word: str, columns: int, sentence: str, condition: str = "") -> None:
        self.word = word
        self.sentence = sentence
        self.severity: Severity = "Warning" if columns & WARNING else "Normal"
        """Of its log line and of its Event."""
        self.event = bool(columns & EVENT)
        """Worth an Event and a log line even though nothing was rolled."""
        self.held = bool(columns & HOLDS)
        """Something stands in the way; the workload is looked at again."""
        self.deliberate = bool(columns & DELIBERATE)
        """A person asked for it to wait: it is no failure."""
        self.lasting = bool(columns & LASTING)
        """A problem that stays, though the next look may not show it."""
        self.quiet = bool(columns & QUIET)
        """Nothing to do, and not worth a line in a list of plans."""
        self.out = bool(columns & OUT)
        """The workload is not managed."""
        self.polled = bool(columns & POLLED)
        """It may end without a change of anything that an Injection watches."""
        self.met = bool(columns & MET)
        """Met while a plan is carried out: no decision tells it, only its Event does."""
        self.proves = bool(columns & PROVES)
        """A record with it says what the pods of its rollout have."""
        self.of_pods = bool(columns & PODS)
        """Pods stand in the way, and come and go by themselves: it is worth waiting for."""
        self.condition = condition
        """The condition of an Injection that is true with it."""

    def __str__(self) -> str:
        return self.word

    # fmt: off
    # What was done
    CONFIG_CHANGED = "ConfigChanged", PROVES, "configuration that the workload uses has changed"
    RESTARTED = "Restarted", PROVES, "a restart was requested"
    ADOPTED = "Adopted", 0, "seen for the first time: its configuration is recorded, nothing is rolled"
    RECORDED = "Recorded", 0, "its references changed: they are recorded, nothing is rolled"
    ROLLED_ELSEWHERE = "RolledElsewhere", PROVES, "its template changed after its configuration, so its new pods already have that configuration"
    UNDONE = "Undone", WARNING | EVENT, "it was taken back to an earlier revision: the current configuration is declined"
    RECORD_RESTORED = "RecordRestored", EVENT, "another writer removed, spoilt or set back its record: the record is restored, nothing is rolled"
    KEY_ROTATED = "KeyRotated", 0, "its record is rewritten with the current digest key, nothing is rolled"
    KEY_LOST = "KeyLost", WARNING | EVENT, "the digest key of its record is not known here, so it was lost or is that of another installation: its Secrets are recorded with the current key, nothing is rolled"
    PINNED = "Pinned", PROVES, "its pods now use copies of its sources, each revision its own"
    UNPINNED = "Unpinned", PROVES, "revisions are off for it: its pods use its sources themselves again"
    RELEASED = "Released", PROVES, "it was released from the revision it was held at: it rolls with the current configuration"
    COPY_RESTORED = "CopyRestored", EVENT, "a copy that its pods use was deleted or replaced: the copy is restored"
    REPAIRED = "Repaired", EVENT, "a tool that no longer manages it had kept its pods from starting: that change is undone"
    RESUMED = "Resumed", EVENT, "its pause for gathering changes is over: it rolls now"
    CONTINUED = "Continued", 0, "work that an earlier roll left unfinished continues"
    FINISHED = "Finished", 0, "every pod has the current configuration"

    # What stands in the way
    HELD_AT = "HeldAt", WARNING | EVENT | HOLDS | DELIBERATE, "it was taken back to another revision: it stays there until a source changes again, or until `reroll release`"
    REVISION_MISSING = "RevisionMissing", WARNING | EVENT | HOLDS, "a copy that its pods use is gone, and its source has changed since; undo to another revision, `reroll release` it, or restore the copy"
    PINS_REMOVED = "PinsRemoved", WARNING | EVENT | HOLDS, "another tool keeps removing the pins from its template, so they are put back only every few minutes; configure that tool to leave them alone, or use the mode `admission`"
    RECORD_REMOVED = "RecordRemoved", WARNING | EVENT | HOLDS, "another writer keeps removing its record, so the record is put back only every few minutes; nothing is lost; configure that writer to leave the annotation `reroll.dev/state` alone"
    COPY_REFUSED = "CopyRefused", WARNING | EVENT | HOLDS | MET, "a copy of a source cannot be made, so nothing is rolled; it is tried again"
    SOURCE_MISSING = "SourceMissing", WARNING | EVENT | HOLDS, "a source that its pods cannot start without does not exist", "SourceMissing"
    OUT_OF_REACH = "OutOfReach", WARNING | EVENT | HOLDS, "no running process can reload what is in its environment or in a file by subPath, so nothing is done; mount it without subPath, or use another strategy"
    HELD = "Held", WARNING | EVENT | HOLDS | DELIBERATE, "a hold keeps it from rolling; `reroll release` lets it go"
    PAUSED = "Paused", WARNING | EVENT | HOLDS | DELIBERATE, "the workload is paused or suspended; it rolls when that ends"
    RESTING = "Resting", WARNING | EVENT | HOLDS | DELIBERATE, "it rolled recently; further changes are gathered until its pause is over"
    DEBOUNCING = "Debouncing", HOLDS, "its configuration has just changed; waiting until changes stop"
    PACED = "Paced", HOLDS, "many workloads are written at once; it waits for its turn at the configured rate"
    TOO_MANY_SOURCES = "TooManySources", WARNING | EVENT | HOLDS, "it has more sources than one workload may have, so it does not roll"
    SOURCE_FORBIDDEN = "SourceForbidden", WARNING | EVENT | POLLED | MET, "a source may not be read; grant `get` on it", "Forbidden"
    WAITING = "Waiting", HOLDS, "the content of its sources is being read"
    EVICTION_REFUSED = "EvictionRefused", WARNING | EVENT | HOLDS | MET | PODS, "a pod cannot be evicted now; the eviction is tried again"
    RELOAD_REFUSED = "ReloadRefused", WARNING | EVENT | HOLDS | MET | PODS, "a pod did not accept the request to reload its configuration; the request is tried again"
    JOB_RUNNING = "JobRunning", WARNING | EVENT | HOLDS | DELIBERATE | MET, "its CronJob forbids two Jobs at once (concurrencyPolicy), and one is running; the next one is started when that has ended"
    LOOKING_BACK = "LookingBack", HOLDS, "its revisions are being read to see what happened while no controller was watching"

    # What becomes of an Injection
    INJECTED = "Injected", EVENT, "the value is in the field that the Injection names", "Ready"
    DRY_RUN = "DryRun", WARNING | EVENT, "nothing is written, because the Injection is a dry run"
    REMOVED = "Removed", EVENT, "the Injection is gone, and its value was removed from the field"
    CLAIMED = "Claimed", WARNING | EVENT, "an Injection that was there first writes to the same field", "Conflict"
    TOO_MANY_INJECTIONS = "TooManyInjections", WARNING | EVENT, "its namespace has more Injections for one object than are carried out; delete some", "Conflict"
    TOO_MANY_TARGETS = "TooManyTargets", WARNING | EVENT, "the Injections of its namespace watch as many kinds of targets as they may: changes of this target are noticed later"
    TAKEN_BACK = "TakenBack", WARNING | EVENT, "another writer keeps taking the field back; the field is left to that writer for now", "Conflict"
    NOT_ALLOWED = "NotAllowed", WARNING | EVENT | POLLED, "an object does not allow the namespace of the Injection to use it; annotate it", "Forbidden"
    TARGET_MISSING = "TargetMissing", WARNING | EVENT | POLLED, "the object to write to does not exist, or its kind does not"
    INVALID_INJECTION = "InvalidInjection", WARNING | EVENT, "the Injection asks for something that cannot be done"
    INVALID_VALUE = "InvalidValue", WARNING | EVENT, "no value could be made from the sources of the Injection"
    LOOP = "Loop", WARNING | EVENT, "the Injection would write into what it reads from"

    # How a change propagates
    AFTER_OTHERS = "AfterOthers", HOLDS | DELIBERATE, "it comes after workloads of a lower wave, which have to be healthy first"
    CROWDED = "Crowded", HOLDS | DELIBERATE, "as many workloads are under way as may be at once; it waits for its turn"
    COOLING_DOWN = "CoolingDown", HOLDS | DELIBERATE, "it rolled recently, and its cooldown is not over"
    STOPPED = "Stopped", WARNING | EVENT | HOLDS, "a workload failed with this configuration, so no other gets it until it changes again"
    FLAPPING = "Flapping", WARNING | EVENT | HOLDS, "its configuration keeps changing: it rolled as often as it may, and rolls once when the configuration is quiet"
    UNAPPROVED = "Unapproved", EVENT | HOLDS | DELIBERATE, "its new configuration waits for approval"
    APPROVAL_OVERDUE = "ApprovalOverdue", WARNING | EVENT | HOLDS, "its new configuration has waited for approval for longer than its approval timeout; nothing rolls until somebody approves or rejects it"
    ON_CANARY = "OnCanary", EVENT | HOLDS | DELIBERATE, "its canary tries the new configuration first"
    GATE_ASKED = "GateAsked", HOLDS | DELIBERATE, "a gate is being asked whether it may roll"
    GATE_CLOSED = "GateClosed", WARNING | EVENT | HOLDS | DELIBERATE, "a gate is closed; it goes on when the gate opens"
    GATE_UNKNOWN = "GateUnknown", WARNING | EVENT | HOLDS, "a gate gave no answer, so it waits"
    SOAKING = "Soaking", QUIET, "its rollout is complete; it counts as healthy when it has stayed so for its soak time"
    HEALTHY = "Healthy", EVENT, "its rollout with the current configuration is complete and healthy"
    COMPLETE = "Complete", QUIET, "its rollout is complete"
    FAILING = "Failing", WARNING | EVENT, "its rollout with the current configuration failed"
    STUCK = "Stuck", WARNING | EVENT, "its rollout makes no progress, which is not the fault of its configuration"
    UNJUDGED = "Unjudged", QUIET, "its rollout says nothing about its configuration"
    SUPERSEDED = "Superseded", EVENT, "its configuration changed again before the rollout could be judged"
    ROLLED_BACK = "RolledBack", WARNING | EVENT, "it was taken back to the configuration that it was last healthy with, and stays there until its configuration changes again"
    ROLLBACK_FAILED = "RollbackFailed", WARNING | EVENT, "it was taken back, and is not healthy with that either; nothing more is tried"

    # When it may roll
    WINDOW_CLOSED = "WindowClosed", EVENT | HOLDS | DELIBERATE, "none of its windows is open; it rolls when one opens"
    FROZEN = "Frozen", EVENT | HOLDS | DELIBERATE, "a freeze keeps rolls from beginning; it rolls when that is over"

    # Why there is nothing to do
    UP_TO_DATE = "UpToDate", QUIET, "nothing has changed since it was recorded"
    PODS_OLDER = "PodsOlder", 0, "some of its pods are older than the configuration that they use"
    DECLINED = "Declined", WARNING, "it was taken back from what its sources hold, and they still hold it: pods that start from now on read it; change it back, or use revisions"
    NOT_ENABLED = "NotEnabled", QUIET | OUT, "the workload did not opt in"
    OPTED_OUT = "OptedOut", QUIET | OUT, "the workload opted out"
    ENDED = "Ended", QUIET, "the workload has finished or is being deleted"

    # What went wrong
    INVALID_ANNOTATION = "InvalidAnnotation", WARNING, "an annotation has a value that cannot be used"
    TOO_MANY_PATTERNS = "TooManyPatterns", WARNING, "an annotation names more than is read of it: the first items count, the others do not"
    TOO_MANY_KEYS = "TooManyKeys", WARNING, "a source has so many keys that it counts as a whole, the ignored ones too"
    TOO_MANY_PROBLEMS = "TooManyProblems", WARNING, "more is wrong with the workload than is listed; correct what is listed, and the rest follows"
    PODS_NOT_REWRITTEN = "PodsNotRewritten", WARNING | LASTING, "nothing rewrites pods in its namespace when they are created, so they use its sources themselves; run `reroll pins install`, or use the mode `template`"
    OTHER_CONTROLLER = "OtherController", WARNING | LASTING, "another controller rolls the workload for the same annotations"
    OTHER_INSTALLATION = "OtherInstallation", WARNING | LASTING, "another installation of Reroll manages workloads of the same namespace"
    REJECTED = "Rejected", WARNING | EVENT | POLLED | MET, "the API server refused the change"
    FORBIDDEN = "Forbidden", WARNING | EVENT | POLLED | MET, "the change is not allowed: a right is missing, or admission refuses it", "Forbidden"
    FAILED = "Failed", WARNING | EVENT | POLLED | MET, "the change could not be made yet; it is tried again"
    FEATURE_OFF = "FeatureOff", WARNING | EVENT | HOLDS, "a feature is off, or lacks a right or an API; the others work"
    # fmt: on
