"""What an answer raises when it cannot be given: a sentence that says why, for people."""

from collections.abc import Iterable

from reroll.core.model.key import Key


class AnswerError(Exception):
    """What went wrong, where, and what to do; the command line prints it as it is."""


def missing_sentence(
    kind: str, name: str, known: Iterable[Key], namespace: str | None = None
) -> str:
    """A name that is not there, with names that may be meant; `None`: in no namespace.

    Those of the same kind come first, then the same name of another kind.
    """
    from difflib import get_close_matches  # Only who misspells something waits for it.

    keys = list(known)
    alike = get_close_matches(name, [key.name for key in keys if key.kind == kind], 3)
    near = [f"{kind.lower()}/{each}" for each in dict.fromkeys(alike)]
    near += [f"{key.kind.lower()}/{name}" for key in keys if key.name == name and key.kind != kind]
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    where = f"in namespace {namespace}" if namespace else "in any namespace"
    return f"there is no {kind} {name} {where}{hint}"
