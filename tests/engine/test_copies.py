"""The index of copies: who is woken, what is looked at, and what is never touched."""

from typing import Any

import pytest

from reroll.core.model.key import Key
from reroll.core.model.metadata import Metadata, Owner
from reroll.core.revisions.content_names import COPY_OF
from reroll.engine.copies import Copies
from reroll.engine.wants import CopyContent, Want

WEB = Key("Deployment", "shop", "web")
APP = Key("ConfigMap", "shop", "app")
COPY = Key("ConfigMap", "shop", "app-1")


def metadata(version: int = 5, uid: str = "u1", *, ours: bool = True, **more: Any) -> Metadata:
    labels = {COPY_OF: "app"} if ours else {}
    return Metadata(COPY.name, "shop", uid, str(version), labels=labels, **more)


class Seen:
    def __init__(self) -> None:
        self.woken: list[Key] = []
        self.read: list[Want] = []
        self.copies = Copies(self.woken.append, self.read.append)


@pytest.fixture
def seen() -> Seen:
    one = Seen()
    one.copies.use(WEB, {}, {COPY: APP})
    return one


def test_a_copy_is_missing_only_once_all_were_listed(seen: Seen) -> None:
    assert not seen.copies.missing([COPY])
    seen.copies.listed("ConfigMap", None)
    assert seen.copies.missing([COPY]) == {COPY}
    assert seen.woken == [WEB]
    seen.copies.made(COPY, metadata())
    assert not seen.copies.missing([COPY])


def test_one_that_is_there_is_nobodys_news(seen: Seen) -> None:
    seen.copies.observe(COPY, metadata())
    seen.copies.listed("ConfigMap", "shop")
    seen.copies.observe(COPY, metadata(6))
    assert (seen.woken, seen.read) == ([], [])
    assert not seen.copies.missing([COPY])


def test_one_that_is_deleted_wakes_and_one_in_its_place_is_looked_at_first(seen: Seen) -> None:
    seen.copies.observe(COPY, metadata())
    seen.copies.gone(COPY)
    assert (seen.woken, seen.copies.missing([COPY])) == ([WEB], {COPY})

    seen.copies.observe(COPY, metadata(9, "u2"))
    assert seen.read == [CopyContent(COPY)]
    assert seen.copies.missing([COPY]) == {COPY}
    assert seen.copies.in_doubt(COPY) == APP
    seen.copies.judged(COPY, metadata(9, "u2"), is_right=False)
    assert seen.copies.missing([COPY]) == {COPY}
    seen.copies.judged(COPY, metadata(9, "u2"), is_right=True)
    assert not seen.copies.missing([COPY])


def test_an_old_answer_brings_nothing_back(seen: Seen) -> None:
    seen.copies.observe(COPY, metadata(9, owner_references=[Owner("ReplicaSet", "web-1", "r1")]))
    seen.copies.observe(COPY, metadata(5))
    assert seen.copies.owned_by("r1") == {COPY}
    seen.copies.observe(COPY, metadata(10))
    assert seen.copies.owned_by("r1") == frozenset()


def test_what_only_has_the_name_of_a_copy_belongs_to_nobody_here(seen: Seen) -> None:
    owner = [Owner("Deployment", "web", "d1")]
    seen.copies.observe(COPY, metadata(ours=False, owner_references=owner))
    known = seen.copies.get(COPY)
    assert known is not None
    assert known.is_ours is False
    assert seen.copies.owned_by("d1") == frozenset()
    seen.copies.judged(COPY, metadata(ours=False, owner_references=owner), is_right=True)
    seen.copies.observe(COPY, metadata(7, ours=False, owner_references=owner))
    assert seen.copies.owned_by("d1") == {COPY}
    assert not seen.copies.missing([COPY])


def test_one_that_is_named_only_now_is_looked_for(seen: Seen) -> None:
    seen.copies.listed("ConfigMap", None)
    later = Key("ConfigMap", "shop", "app-2")
    seen.copies.use(WEB, {COPY: APP}, {later: APP})
    assert seen.read == [CopyContent(later)]
    assert seen.copies.missing([later]) == {later}
    seen.copies.judged(later, metadata(ours=False), is_right=True)
    assert not seen.copies.missing([later])


def test_nothing_is_kept_of_what_is_no_copy_and_nobody_names(seen: Seen) -> None:
    other = Key("ConfigMap", "shop", "other")
    seen.copies.observe(other, metadata(ours=False))
    assert seen.copies.get(other) is None
    seen.copies.use(WEB, {COPY: APP}, {})
    seen.copies.gone(COPY)
    assert seen.woken == []
