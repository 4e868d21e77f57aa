"""`reroll migrate check`: what Reloader and Wave do in a cluster, and what Reroll will do."""

import argparse
from collections.abc import Iterable, Iterator
from typing import Any

from reroll.answers.migration.check import Findings
from reroll.answers.migration.controllers import ConfiguredController
from reroll.answers.migration.rows import Fate
from reroll.answers.migration.survey import check
from reroll.answers.migration.translate import Line
from reroll.cli.command import Context
from reroll.cli.flags import add_flags
from reroll.cli.show import PROGRAMS, Answer, Table, add_output_flag, target
from reroll.kube.view import View

DESCRIPTION = """\
List what Reloader and Wave do in this cluster, and what will be different with Reroll.

Read-only. What you may not read is named, and the rest is shown.

  reroll migrate check -A
  reroll migrate check -n shop -o json"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_flags(parser)
    add_output_flag(parser)


def run(args: argparse.Namespace) -> int:
    context = Context(args)

    async def ask(view: View) -> Answer:
        found = await check(view)
        warnings = () if context.output in PROGRAMS else [*_rivals(found), *view.gaps]
        names = [target(member.key) for member in found.members]
        return Answer({**document(found), "gaps": view.gaps}, [*_text(found)], names, warnings)

    return context.answer(ask)


def document(found: Findings) -> dict[str, Any]:
    """The findings for programs."""
    return {
        "controllers": [_controller(each) for each in found.controllers],
        "workloads": [
            {
                "workload": str(member.key),
                "dialects": member.dialects,
                "because": member.because,
                "changes": member.changes,
                "problems": member.problems,
                "adopted": member.adopted,
            }
            for member in found.members
        ],
        "stuck": [{"workload": str(each.key), "why": each.why} for each in found.stuck],
        "rivals": [str(each.key) for each in found.rivals],
    }


def _controller(controller: ConfiguredController) -> dict[str, Any]:
    translation = controller.translation
    return {
        "tool": controller.title,
        "object": str(controller.key),
        "active": controller.is_active,
        "settings": translation.settings if translation else {},
        "flags": translation.flags if translation else [],
        "lines": list(map(line_document, translation.lines)) if translation else [],
    }


def line_document(line: Line) -> dict[str, str]:
    return {"given": line.given, "fate": line.fate, "setting": line.setting, "word": line.word}


def _text(found: Findings) -> Iterator[Table | str]:
    """The findings for people."""
    yield from _controllers(found.controllers)
    rows = [
        (",".join(member.dialects) or "-", str(member.key), "; ".join(member.because) or "-")
        for member in found.members
    ]
    yield ""
    if not rows:
        yield "No workload here is opted in."
    yield Table(("DIALECT", "WORKLOAD", "BECAUSE"), rows)
    changes = [f"{member.key}: {each}" for member in found.members for each in member.changes]
    yield from _section("What will be different", changes)
    yield from _section("Stuck", (f"{each.key}: {each.why}" for each in found.stuck))
    yield from _section("Wrong, whoever reads it", found.problems)
    yield ""
    yield "Moving rolls nothing: Reroll records what it finds, and rolls when that changes."


def _controllers(controllers: Iterable[ConfiguredController]) -> Iterator[Table | str]:
    rows = [(each.title, str(each.key), "yes" if each.is_active else "no") for each in controllers]
    if not rows:
        yield "There is no Deployment of Reloader, Wave or Reroll here."
    yield Table(("CONTROLLER", "FOUND AS", "ACTIVE"), rows)
    for each in controllers:
        if each.translation:
            title = f"The settings of {each.title} ({each.key})"
            yield from _section(title, map(_line, each.translation.lines))


def _line(line: Line) -> str:
    """One thing of another tool's configuration, and what becomes of it."""
    becomes = f"becomes {line.setting}" if line.fate is Fate.SETTING else line.fate.value
    return f"{line.given}: {becomes}{'; ' if line.word else ''}{line.word}"


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    listed = [f"  {line}" for line in lines]
    yield from ("", f"{title}:", *listed) if listed else ()


def _rivals(found: Findings) -> Iterator[str]:
    if found.rivals:
        names = ", ".join(f"{each.title} ({each.key})" for each in found.rivals)
        then = "scale the other one to 0 before Reroll reads its annotations"
        yield f"{names} and Reroll are active at once; {then}"
