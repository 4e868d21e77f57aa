"""The Secret with the digest keys: whether it is one. Pure; no key is ever told, only ids."""

from collections.abc import Mapping

from reroll.answers.doctor.findings import Check, Finding

KEY = Check("digest key")


def judge(where: str, ring: Mapping[str, bytes], current: str | None) -> Finding:
    """`current`: what the annotation says."""
    if current not in ring:
        return KEY.warning(
            f"{where} does not say which of its keys is in use; {max(ring)} is taken",
            "make another one with `reroll key rotate`",
        )
    if len(ring) > 1:
        return KEY.note(
            f"{where} holds {len(ring)} keys, {current} is in use",
            "`reroll key status` tells which ones can go",
        )
    return KEY.ok(f"{where} holds the key {current}")


def missing(where: str) -> Finding:
    return KEY.problem(
        f"{where} does not exist, so no controller has started with it yet",
        "see the log of the controller; if it was deleted, Secrets are recorded anew",
    )
