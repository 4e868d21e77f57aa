"""When something last changed, ordered across kinds by resource version."""

from datetime import datetime

import msgspec


class Moment(msgspec.Struct, frozen=True, gc=False):
    """When something last changed, as well as it is known.

    Resource versions are revisions of one store, so they order writes across kinds. Where the
    change itself was watched, `after` is one less than `by`; where the object was only found in a
    list, nothing but `by` is known. `at` is the time that the object itself tells, in whole
    seconds.
    """

    after: int = 0
    by: int = 0
    at: datetime | None = None

    def is_later_than(self, other: "Moment") -> bool | None:
        """Whether this came after `other`; `None` where neither versions nor times can tell."""
        if self.by and other.by:
            if self.after >= other.by:
                return True
            if self.by <= other.after:
                return False
        if self.at and other.at and self.at != other.at:
            return self.at > other.at
        return None
