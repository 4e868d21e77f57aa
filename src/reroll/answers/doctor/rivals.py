"""Other controllers that answer to the same annotations, and annotations of no use. Pure."""

from collections.abc import Collection, Iterator

from reroll.answers.controllers import OURS, Survey, rivals
from reroll.answers.doctor.findings import Check, Finding
from reroll.core.model.names import counted

OTHERS = Check("other controllers")
ANNOTATIONS = Check("annotations")
SHOWN = 10


def others(found: Survey, read: Collection[str]) -> Iterator[Finding]:
    """`read` are the dialects whose annotations this installation reads."""
    foreign = [one for one in found.controllers if one.title != OURS and one.is_active]
    for one in foreign:
        both = one in rivals(found.controllers)
        beside = f"{one.title} ({one.key}) is active{' beside Reroll' if both else ''}"
        if one.title.lower() not in read:
            yield OTHERS.note(f"{beside}, and its annotations are left to it")
            continue
        level = OTHERS.warning if both else OTHERS.note
        yield level(
            f"{beside}, and answers to the same annotations: a change may roll twice",
            "scale it to 0 once `reroll migrate check` has shown what will be different",
        )
    if not foreign:
        yield OTHERS.ok("no Reloader and no Wave is active")
    for stuck in found.stuck:
        yield OTHERS.warning(f"{stuck.key}: {stuck.why}", "see docs/guides/from-wave.md")


def annotations(found: Survey) -> Iterator[Finding]:
    problems = found.problems
    for problem in problems[:SHOWN]:
        yield ANNOTATIONS.warning(problem, "correct it; its other annotations count")
    if len(problems) > SHOWN:
        yield ANNOTATIONS.warning(
            f"{len(problems) - SHOWN} more annotations cannot be used", "see `reroll migrate check`"
        )
    if not problems:
        yield ANNOTATIONS.ok(
            f"{counted(found.opted_in, 'workload')} opted in, and all annotations are valid"
        )
    active = {one.title for one in found.controllers if one.is_active}
    yield from (_unread(title, count, title in active) for title, count in found.unread)


def _unread(title: str, count: int, is_active: bool) -> Finding:
    """Annotations of a tool that this installation does not read."""
    have = (
        f"{counted(count, 'workload')} with annotations of {title} {'is' if count == 1 else 'are'}"
    )
    if is_active:
        return ANNOTATIONS.note(f"{have} left to {title}: this installation does not read them")
    name = title.lower()
    return ANNOTATIONS.warning(
        f"{have} rolled by nothing: {title} is not active, and this installation does not read "
        "them",
        f"set `dialects.{name}: true` in the chart, or --dialects reroll,{name}",
    )
