"""Approval of what a source holds: who has to give it, and who gave or refused it.

A ruling names one content, by its digest; of a Secret that is made with the key of the controller,
so it tells nothing of what the Secret holds.
"""

from datetime import timedelta

import msgspec


class Ruling(msgspec.Struct, frozen=True, gc=False):
    """What a person said of one content."""

    content: str
    by: str
    why: str = ""


class Approval(msgspec.Struct, frozen=True, gc=False):
    """What annotations and settings say of it."""

    required: bool = False
    timeout: timedelta | None = None
    """After so long a wait people are told again; nothing rolls for that."""
    approved: Ruling | None = None
    """On a source only, as is `rejected`."""
    rejected: Ruling | None = None
