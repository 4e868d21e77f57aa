"""Every reason that a decision can have, with the sentence that people read.

A reason is spelt here and nowhere else: the same word stands in the log line, the Event, the metric
label and `explain`.
"""

from enum import Enum


class Reason(Enum):
    def __init__(self, word: str, sentence: str) -> None:
        self.word = word
        self.sentence = sentence

    def __str__(self) -> str:
        return self.word

    # What was done
    CONFIG_CHANGED = "ConfigChanged", "configuration that the workload uses has changed"
    RESTARTED = "Restarted", "somebody asked for a restart"
    ADOPTED = "Adopted", "seen for the first time: its configuration is recorded, nothing is rolled"
    RECORDED = "Recorded", "its references have changed: they are recorded, nothing is rolled"
    ROLLED_ELSEWHERE = (
        "RolledElsewhere",
        "its template changed after its configuration, so its new pods have that already",
    )
    UNDONE = (
        "Undone",
        "somebody went back to an earlier revision: the current configuration is declined",
    )
    KEY_ROTATED = (
        "KeyRotated",
        "its record is rewritten with the current digest key, nothing is rolled",
    )
    KEY_LOST = (
        "KeyLost",
        "the digest key of its record is gone: Secrets are recorded anew, nothing is rolled",
    )
    PINNED = (
        "Pinned",
        "its pods use copies of its sources from now on, those of their own revision",
    )
    UNPINNED = "Unpinned", "revisions are off for it: its pods use its sources themselves again"
    RELEASED = (
        "Released",
        "somebody ended that it is held at a revision: it rolls with the current configuration",
    )
    COPY_RESTORED = (
        "CopyRestored",
        "a copy that its pods use was deleted or replaced: it is there again",
    )
    REPAIRED = (
        "Repaired",
        "another tool had kept its pods from starting, and no longer looks after it: undone",
    )
    RESUMED = "Resumed", "the pause in which changes are gathered is over: it rolls now"
    CONTINUED = "Continued", "work that an earlier roll left unfinished goes on"
    FINISHED = "Finished", "every pod has the current configuration"

    # What stands in the way
    HELD_AT = (
        "HeldAt",
        (
            "somebody went back to another revision: it stays there until a source changes again, "
            "or until `reroll release`"
        ),
    )
    REVISION_MISSING = (
        "RevisionMissing",
        (
            "a copy that its pods use is gone, and its source holds something else by now; undo to "
            "another revision, `reroll release` it, or restore the copy"
        ),
    )
    PINS_REMOVED = (
        "PinsRemoved",
        (
            "somebody takes its pins out of its template again, so they are put back only every "
            "few minutes; have that tool leave them alone, or use the mode `admission`"
        ),
    )
    COPY_REFUSED = (
        "CopyRefused",
        "a copy of a source cannot be made, so nothing is rolled; it is tried again",
    )
    SOURCE_MISSING = "SourceMissing", "a source that its pods cannot start without does not exist"
    HELD = "Held", "a hold keeps it from rolling; `reroll release` lets it go"
    PAUSED = "Paused", "the workload is paused or suspended; it rolls when that ends"
    RESTING = (
        "Resting",
        "it rolled a short while ago; further changes are gathered until its pause is over",
    )
    DEBOUNCING = "Debouncing", "its configuration changed just now; waiting for quiet"
    TOO_MANY_SOURCES = (
        "TooManySources",
        "its sources are more than Kubernetes has room for in one annotation, so it never rolls",
    )
    SOURCE_FORBIDDEN = "SourceForbidden", "a source may not be read; grant `get` on it"
    WAITING = "Waiting", "the content of its sources is being read"
    EVICTION_REFUSED = (
        "EvictionRefused",
        "a pod may not be evicted now; it is tried again",
    )
    RELOAD_REFUSED = (
        "ReloadRefused",
        "a pod did not take the request to read its configuration again; it is tried again",
    )
    LOOKING_BACK = (
        "LookingBack",
        "its revisions are being read to see what happened while nobody watched",
    )

    # What becomes of an Injection
    INJECTED = "Injected", "the value is in the field that the Injection names"
    DRY_RUN = "DryRun", "nothing is written, because the Injection is a dry run"
    REMOVED = "Removed", "the Injection is gone, and its value was removed from the field"
    CLAIMED = "Claimed", "another Injection, which was there first, writes to the same field"
    TAKEN_BACK = (
        "TakenBack",
        "somebody else took the field back again and again; it is left to them for now",
    )
    NOT_ALLOWED = (
        "NotAllowed",
        "an object does not let the namespace of the Injection use it; annotate it",
    )
    TARGET_MISSING = "TargetMissing", "the object to write to does not exist, or its kind does not"
    INVALID_INJECTION = "InvalidInjection", "the Injection says what cannot be done"
    INVALID_VALUE = "InvalidValue", "no value could be made from the sources of the Injection"
    LOOP = "Loop", "the Injection would write into what it is made from"

    # Why there is nothing to do
    UP_TO_DATE = "UpToDate", "its pods were made with the current configuration"
    NOT_ENABLED = "NotEnabled", "the workload did not opt in"
    OPTED_OUT = "OptedOut", "the workload opted out"
    ENDED = "Ended", "the workload has finished or is being deleted"

    # What went wrong
    INVALID_ANNOTATION = "InvalidAnnotation", "an annotation has a value that cannot be used"
    PODS_NOT_REWRITTEN = (
        "PodsNotRewritten",
        (
            "nothing rewrites pods in its namespace when they are made, so they use its sources "
            "themselves; run `reroll pins install`, or use the mode `template`"
        ),
    )
    OTHER_CONTROLLER = (
        "OtherController",
        "another controller rolls the workload for the same annotations",
    )
    REJECTED = "Rejected", "the API server refused the change"
    FORBIDDEN = (
        "Forbidden",
        "the change is not allowed: a right is missing, or admission refuses it",
    )
    FAILED = "Failed", "the change could not be made yet; it is tried again"
    FEATURE_OFF = "FeatureOff", "a feature lacks a right or an API; the others work"
