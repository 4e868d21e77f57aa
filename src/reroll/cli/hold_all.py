"""`reroll hold --all` and `reroll release --all`: everything that an installation looks at.

It is a ConfigMap beside the controller, see `engine.cluster_hold`.
"""

from typing import Any, NamedTuple

from reroll.cli.command import Context
from reroll.cli.errors import CommandError, Exit
from reroll.cli.show import Answer, Table, show
from reroll.core.model.key import Key
from reroll.core.tables.annotations import HOLD
from reroll.engine.cluster_hold import place_of
from reroll.kube import api
from reroll.kube.errors import AlreadyExists, NotFound
from reroll.kube.objects import Stub
from reroll.kube.resources import CONFIG_MAPS
from reroll.kube.view import View


class Done(NamedTuple):
    place: Key
    before: str
    after: str


async def change_all(view: View, context: Context, value: str | None, *, dry_run: bool) -> int:
    """Hold everything, or release it: in each installation that is meant."""
    places = await _places(view, context)
    done = [await _change(view, place, value, dry_run=dry_run) for place in places]
    rows = [(str(one.place), _word(one, dry_run=dry_run), one.after) for one in done]
    document: dict[str, Any] = {
        "installations": [
            {"namespace": one.place.namespace, "name": one.place.name,
             "before": one.before, "hold": one.after}
            for one in done
        ],
        "dryRun": dry_run,
    }  # fmt: skip
    columns = ("EVERYTHING, BY", "RESULT", "HOLD")
    shown = Table(columns if value else columns[:2], [row if value else row[:2] for row in rows])
    names = [f"configmap/{one.place.name}" for one in done]
    show(context.output, Answer(document=document, text=[shown], names=names, warnings=[]))
    return Exit.OK


async def _places(view: View, context: Context) -> list[Key]:
    from reroll.answers.finder import find

    search = await find(view, context.choice, None)
    if search.candidates:
        found = [place_of(s.namespace, s.lease) for s in (c.settings for c in search.candidates)]
        return list(dict.fromkeys(found))
    if context.settings.namespace:
        return [place_of(context.settings.namespace, context.settings.lease)]
    raise CommandError(
        "no controller was found whose workloads could be held; say where it runs with "
        "--controller-namespace"
    )


async def _change(view: View, place: Key, value: str | None, *, dry_run: bool) -> Done:
    where = view.client, CONFIG_MAPS, place.namespace, place.name
    try:
        stub = await api.get(*where, Stub)
    except NotFound:
        before = ""
    else:
        before = (stub.metadata.annotations or {}).get(HOLD, "")
    if dry_run or before == (value or ""):
        return Done(place, before, value or "")
    if value is None:
        await api.delete(*where)
    else:
        await _write(view, place, value)
    return Done(place, before, value or "")


async def _write(view: View, place: Key, value: str) -> None:
    annotated = {"metadata": {"name": place.name, "annotations": {HOLD: value}}}
    body = {"apiVersion": "v1", "kind": place.kind, **annotated}
    try:
        await api.create(view.client, CONFIG_MAPS, place.namespace, body, Stub)
    except AlreadyExists:
        await api.merge(view.client, CONFIG_MAPS, place.namespace, place.name, annotated, Stub)


def _word(one: Done, *, dry_run: bool) -> str:
    if not one.after and not one.before:
        return "was not held"
    word = "held" if one.after else "released"
    return f"would be {word}" if dry_run else word
