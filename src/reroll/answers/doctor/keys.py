"""The Secret with the digest keys: whether it is one. Pure; no key is ever told, only ids."""

from collections.abc import Iterator, Mapping

from reroll.answers.doctor.findings import Check, Finding
from reroll.core.model.names import counted

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
            "`reroll key status` shows which ones can go",
        )
    return KEY.ok(f"{where} holds the key {current}")


def unknown(key_ids: Mapping[str, int], where: str) -> Iterator[Finding]:
    """`key_ids`: keys that records have and the Secret has not, with how many have each."""
    for key_id, count in sorted(key_ids.items()):
        yield KEY.warning(
            f"{counted(count, 'record')} made with the digest key {key_id}, which {where} does not "
            "hold: it was lost, or another installation manages the same workloads",
            "have each installation select namespaces of its own; see `reroll key status`",
        )


def missing(where: str, *, is_installed: bool) -> Finding:
    """`is_installed`: there is a controller that should have made it."""
    if not is_installed:
        return KEY.note(f"{where} does not exist: the controller creates it when it starts")
    return KEY.problem(
        f"{where} does not exist, so no controller has started with it yet",
        "see the log of the controller; if the Secret was deleted, restart the controller, which "
        "makes another one and records Secrets with it",
    )


def unusable(why: str, deployment: str) -> Finding:
    """`why` says how to repair it; the controller reads its keys when it starts."""
    what = deployment or "of its Deployment"
    return KEY.problem(why, f"then restart the controller: `kubectl rollout restart` {what}")
