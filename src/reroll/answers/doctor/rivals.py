"""Other controllers that answer to the same annotations, and annotations of no use. Pure."""

from collections.abc import Iterator

from reroll.answers.controllers import OURS, Survey, rivals
from reroll.answers.doctor.findings import Check, Finding, counted

OTHERS = Check("other controllers")
ANNOTATIONS = Check("annotations")
SHOWN = 10


def others(found: Survey) -> Iterator[Finding]:
    foreign = [one for one in found.controllers if one.title != OURS and one.is_active]
    for one in foreign:
        both = one in rivals(found.controllers)
        level = OTHERS.warning if both else OTHERS.note
        yield level(
            f"{one.title} ({one.key}) is active{' beside Reroll' if both else ''}, and answers to "
            "the same annotations",
            "scale it to 0 when `reroll migrate check` has told what will be different",
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
            f"{counted(found.opted_in, 'workload')} opted in, and no annotation is bad"
        )
