"""Approvals and rejections: an annotation on a source, for one content, with the writer's own name.

The content is the one that was seen: where a source holds another one by now, nothing is written.
"""

import re
from collections.abc import Awaitable, Callable
from typing import NamedTuple

import msgspec

from reroll.core.model.approval import Ruling
from reroll.core.model.key import Key
from reroll.core.model.moment import Moment
from reroll.core.observe.approval import content_ids
from reroll.core.policy.approval import CONTENT, approved_text, rejected_text
from reroll.core.tables.annotations import APPROVED, REJECTED
from reroll.core.tables.source_kinds import SourceKind
from reroll.engine import keyring
from reroll.engine.content import Stub, content, model
from reroll.kube import api, resources
from reroll.kube.errors import Forbidden, NotFound
from reroll.kube.identity import own_name
from reroll.kube.view import View
from reroll.pipeline.refused import RefusedError
from reroll.settings.table import Settings

SHORTEST = 10
"""Characters of an id that people may write instead of all."""
Learn = Callable[[], Awaitable[Settings]]
"""The settings of the controller: they name the key that digests of Secrets are made with."""


class Said(NamedTuple):
    """A ruling that was written, or would be."""

    source: Key
    ruling: Ruling


async def whoami(view: View) -> str:
    me = await own_name(view.client)
    if not me:
        raise RefusedError("the API server does not say who you are, so nothing can be approved")
    return me


async def content_of(
    view: View, learn: Learn, row: SourceKind, source: Key, given: str | None
) -> str:
    """The id of the content that is meant: what the source holds now, unless one is given."""
    held, current = await _held(view, learn, row, source)
    if given is None:
        if current:
            return current
        raise RefusedError(
            f"the content of {source} is not known here, because the controller's digest key may "
            "not be read; name it with --content, as `Unapproved` shows it"
        )
    word = given.strip().lower()
    if not held and re.fullmatch(CONTENT, word):
        return word
    near = [one for one in sorted(held) if len(word) >= SHORTEST and one.startswith(word)]
    if near:
        return near[0]
    if held:
        raise RefusedError(
            f"{source} does not hold the content {given[:80]!r} now; it holds {current}"
        )
    raise RefusedError(
        f"--content: {given[:80]!r} is not the id of a content; it has 32 characters", is_usage=True
    )


async def _held(
    view: View, learn: Learn, row: SourceKind, source: Key
) -> tuple[frozenset[str], str]:
    """All ids of what a source holds, and the one to write; none where that cannot be told."""
    place = resources.of(row), source.namespace, source.name
    try:
        found = await api.get(view.client, *place, model(row))
    except NotFound:
        raise RefusedError(f"there is no {source}") from None
    except Forbidden:
        return frozenset(), ""
    ring, current = None, ""
    if row.keyed:
        keys = await _keys(view, await learn())
        if keys is None:
            return frozenset(), ""
        ring, current = keys[0], keys[1].current
    ids = content(found, ring, Moment(), row=row)
    every = content_ids(source, ids)
    one = msgspec.structs.replace(
        ids, digests={k: d for k, d in ids.digests.items() if k == current}
    )
    return every, next(iter(content_ids(source, one)), "")


async def _keys(view: View, settings: Settings) -> keyring.Keyring | None:
    try:
        return await keyring.find(view.keeper, settings.namespace or view.home, settings.digest_key)
    except Forbidden:
        return None


async def write(view: View, row: SourceKind, said: Said) -> None:
    """The other annotation goes: a content is approved or rejected, never both."""
    ruling = said.ruling
    texts: dict[str, str | None] = {APPROVED: approved_text(ruling), REJECTED: None}
    if ruling.why:
        texts = {APPROVED: None, REJECTED: rejected_text(ruling)}
    place = resources.of(row), said.source.namespace, said.source.name
    await api.merge(view.client, *place, {"metadata": {"annotations": texts}}, Stub)
