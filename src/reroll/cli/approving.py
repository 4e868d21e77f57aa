"""What `reroll approve` and `reroll reject` share: the content of a source, and who says so."""

from typing import Any

from reroll.cli.command import Context
from reroll.cli.errors import CommandError, Exit
from reroll.cli.show import Answer, Place, Table, target
from reroll.core.model.approval import Ruling
from reroll.core.model.key import Key
from reroll.core.tables.source_kinds import SourceKind, Watched
from reroll.engine.approval_guard import UNGUARDED, is_guarded
from reroll.kube.view import View
from reroll.pipeline.approve import Said, content_of, whoami, write
from reroll.settings.table import Settings


def source_target(text: str, context: Context) -> tuple[SourceKind, str]:
    """Of `configmap/app`."""
    word, _, name = text.partition("/")
    row = context.tables.source_kind(word)
    if row is None or not name or row.watched is Watched.STATUSES:
        rows = [row for row in context.tables.sources if row.watched is not Watched.STATUSES]
        known = " or ".join(f"{row.aliases[0]}/NAME" for row in rows)
        raise CommandError(
            f"{text!r} names no source that can be approved; write {known}", Exit.USAGE
        )
    return row, name


async def say(view: View, context: Context, why: str | None) -> Answer:
    """Approve the sources of the arguments, or reject them if there is a `why`."""
    args = context.args

    async def learn() -> Settings:
        await context.learn(view)
        return context.settings

    targets = [source_target(text, context) for text in args.sources]
    me = await whoami(view)
    said = []
    for row, name in targets:
        source = Key(row.name, view.namespace or view.home, name)
        found = await content_of(view, learn, row, source, args.content)
        said.append(Said(source, Ruling(found, me, why or "")))
    if not args.dry_run:
        for (row, _), one in zip(targets, said, strict=True):
            await write(view, row, one)
    return _answer(said, rejects=why is not None, dry_run=args.dry_run, notes=await _notes(view))


async def _notes(view: View) -> list[str]:
    return [UNGUARDED] if await is_guarded(view.client) is False else []


def _answer(said: list[Said], *, rejects: bool, dry_run: bool, notes: list[str]) -> Answer:
    word = "rejected" if rejects else "approved"
    result = f"would be {word}" if dry_run else word
    place = Place.of((one.source for one in said), "SOURCE")
    rows = [(*place.cells(one.source), result, one.ruling.content, one.ruling.by) for one in said]
    return Answer(
        document={"sources": [_facts(one, result) for one in said], "dryRun": dry_run},
        text=[Table((*place.columns, "RESULT", "CONTENT", "BY"), rows)],
        names=[target(one.source) for one in said],
        warnings=notes,
    )


def _facts(said: Said, result: str) -> dict[str, Any]:
    ruling = said.ruling
    return {
        **said.source._asdict(),
        "result": result,
        "content": ruling.content,
        "by": ruling.by,
        "reason": ruling.why,
    }
